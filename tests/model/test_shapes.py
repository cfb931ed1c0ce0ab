"""Values of another type than declared: said once, in words of the site, with nothing that merely follows."""

import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins import plugin_utils
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import SEPARATOR, ProblemKind, line, merged
from model.mistakes.access import TOPIC, users
from model.mistakes.base import LAB, VAULT, kafka, listeners, spoil
from model.said import check

LIST, MAPPING, NUMBER = "instead of a list", "instead of a mapping", "not a whole number"
USER, ORDERS = "group all/kafka_users[orders]", {"name": "orders", "password": "{{ vault.passwords.lab }}2"}
FIREWALL = "firewall_extra_sources"


@pytest.mark.parametrize(
    ("variables", "place", "wrong"),
    [
        ({"all": {FIREWALL: {"admin": "198.18.1.1"}}}, f"group all/{FIREWALL}.admin = 198.18.1.1", LIST),
        ({"all": {FIREWALL: ["198.18.1.1"]}}, f"group all/{FIREWALL}", MAPPING),
        (
            kafka(kafka_listeners=listeners(sasl_mechanisms="SCRAM-SHA-512")),
            "group kafka/kafka_listeners[CLIENT].sasl_mechanisms = SCRAM-SHA-512",
            LIST,
        ),
        (kafka(kafka_listeners=listeners(port="many")), "group kafka/kafka_listeners[CLIENT].port = many", NUMBER),
        (kafka(kafka_listeners={"name": "CLIENT"}), "group kafka/kafka_listeners", LIST),
        (kafka(kafka_log_dirs={"a": "/data/kafka1"}), "group kafka/kafka_log_dirs", LIST),
        (kafka(kafka_config=["min.insync.replicas=2"]), "group kafka/kafka_config", MAPPING),
        (kafka(kafka_config="min.insync.replicas=2"), "group kafka/kafka_config", MAPPING),
        (kafka(kafka_replication_factor="three"), "group kafka/kafka_replication_factor = three", NUMBER),
        ({"dc1-kafka2": {"kafka_broker_id": "two"}}, "dc1-kafka2/kafka_broker_id = two", NUMBER),
        (kafka(kafka_log_dirs_are_mounts="perhaps"), "group kafka/kafka_log_dirs_are_mounts = perhaps", "neither true"),
        ({"all": {"kafka_users": {"orders": "eeNg3ahthi4y"}}}, "group all/kafka_users", LIST),
        ({"all": {"kafka_users": ["orders"]}}, "group all/kafka_users[0]", MAPPING),
        (users({**ORDERS, "grants": {"produce": ["a"]}}), f"{USER}.grants", LIST),
        (users({**ORDERS, "grants": [{"produce": TOPIC}]}), f"{USER}.grants[0].produce = {TOPIC}", LIST),
        (users({**ORDERS, "quotas": ["20MiB"]}), f"{USER}.quotas", MAPPING),
        ({"all": {"kafka_topics": ["orders"]}}, "group all/kafka_topics[0]", MAPPING),
        (
            {"all": {"kafka_topics": [{"name": "orders", "partitions": "many"}]}},
            "group all/kafka_topics[orders].partitions = many",
            NUMBER,
        ),
        (
            {"all": {"kafka_topics": [{"name": "orders", "partitions": 6, "config": "retention.ms=7d"}]}},
            "group all/kafka_topics[orders].config",
            MAPPING,
        ),
        (
            {"all": {"kafka_topics": [{"name": "orders", "partitions": 6, "manage": "perhaps"}]}},
            "group all/kafka_topics[orders].manage = perhaps",
            "neither true",
        ),
        ({"all": {"kafka_topic_defaults": [6]}}, "group all/kafka_topic_defaults", MAPPING),
        ({"all": {"kafka_quotas": {"user": "a"}}}, "group all/kafka_quotas", LIST),
        ({"all": {"kafka_prune": {"topics": "a-*", "max_deletes": 1}}}, "group all/kafka_prune.topics = a-*", LIST),
        (
            {"all": {"kafka_prune": {"topics": ["a-*"], "max_deletes": "few"}}},
            "group all/kafka_prune.max_deletes = few",
            NUMBER,
        ),
        ({"all": {"organization": ["lab"]}}, "group all/organization", "instead of text"),
        ({"dc1-kafka2": {"rack": False}, "dc1-zk2": {"rack": False}}, "group rack_b/rack = false", "instead of text"),
        ({"spark": {"spark_job_jobs": {"name": "count_words"}}}, "group spark/spark_job_jobs", LIST),
    ],
)
def test_of_another_type(variables: dict[str, dict[str, Any]], place: str, wrong: str, tmp_path: Path) -> None:
    """No class of Python, no letter of a text, no password."""
    hosts = {"kafka_broker_id: 2, ": ""} if "dc1-kafka2" in variables and "rack" not in str(variables) else {}
    (line,) = check(spoil(tmp_path / "inventory", replace(LAB, hosts=hosts, variables=variables)))[1]
    assert line.partition(" ")[2].startswith(f"{place}: "), line
    assert wrong in line
    assert "eeNg3ahthi4y" not in line


EXTERNAL = {"name": "EXTERNAL", "address": "{{ client_address }}", "protocol": "SASL_SSL"}


@pytest.mark.parametrize(
    ("hosts", "variables"),
    [
        ({"kafka_broker_id: 2": "kafka_broker_id: '2'", "zookeeper_id: 3": "zookeeper_id: '3'"}, {}),
        ({}, kafka(kafka_replication_factor="3", kafka_log_dirs_are_mounts="no")),
        ({}, {"all": {"base_firewall": "false", "datacenter": 1}}),
        ({}, kafka(site_listeners=[{**EXTERNAL, "port": "9094"}])),
        ({}, {"all": {"site_firewall_rules": [{"port": "7000", "from": ["192.0.2.7"]}]}}),
        ({}, {"all": {"organization": "Müller & Söhne, Nord".replace(",", " -")}}),
    ],
)
def test_what_a_type_takes(hosts: dict[str, str], variables: dict[str, Any], tmp_path: Path) -> None:
    """Numbers and switches may be texts, as INI inventories give them."""
    assert check(spoil(tmp_path / "inventory", replace(LAB, hosts=hosts, variables=variables)))[1] == []


def test_a_quoted_id_is_the_same_id(tmp_path: Path) -> None:
    twice = replace(LAB, hosts={"kafka_broker_id: 2": "kafka_broker_id: '1'"})
    assert [problem.code for problem in check(spoil(tmp_path / "inventory", twice))[0]] == ["KAFKA_ID_DUPLICATE"]


@pytest.mark.parametrize(
    ("vault", "said"),
    [
        ("Ohg4ieXeipha", ["INPUT_REFUSED group all/vault"]),
        (["Ohg4ieXeipha"], ["INPUT_REFUSED group all/vault"]),
        ({**VAULT, "passwords": ["Ohg4ieXeipha"]}, ["INPUT_REFUSED group all/vault.passwords"]),
        ({**VAULT, "passwords": None}, ["VAULT_EMPTY group all/vault.passwords"]),
        ({"passwords": VAULT["passwords"]}, ["VARIABLE_MISSING group all/vault.pki_passphrase"]),
        (
            {**VAULT, "passwords": {"lab": "Ohg4ieXeipha"}},
            ["VARIABLE_MISSING group all/vault.passwords.count_words",
             "VARIABLE_MISSING group all/vault.passwords.publish_lines"],
        ),
    ],
)  # fmt: skip
def test_a_vault_of_another_shape(vault: Any, said: list[str], tmp_path: Path) -> None:
    """What is missing in it is named by its path, and its text is never shown."""
    lines = check(spoil(tmp_path / "inventory", LAB), {"vault": vault})[1]
    assert sorted(line.partition(":")[0] for line in lines) == said
    assert "Ohg4ieXeipha" not in "".join(lines)


def test_the_file_in_which_a_password_is_missing_is_named(tmp_path: Path) -> None:
    variables = {"all": {"vault": {"pki_passphrase": "Ohg4ieXeipha", "passwords": {"lab": "eeNg3ahthi4y"}}}}
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)), {})[1]
    missing = [line for line in lines if line.startswith("VARIABLE_MISSING")]
    assert len(missing) == 2
    assert all(f"to vault.passwords in {tmp_path}/inventory/group_vars/all/z.yml" in line for line in missing)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (["delete", "compact"], " = [delete, compact]"),
        ({"a": [1, True], "b": None, "c": {"d": ""}}, " = {a: [1, true], b: null, c: {d: ''}}"),
        (False, " = false"),
        ("", " = ''"),
        (" dc1", " = ' dc1'"),
        ("one\ntwo", ' = "one\\ntwo"'),
        ("a b", " = a b"),
        (0, " = 0"),
        (None, ""),
    ],
)
def test_a_value_is_printed_as_it_is_written(value: Any, printed: str) -> None:
    """On one line, as in YAML, also when problems of several hosts are one line."""
    kind = ProblemKind("TWO_WORDS", "wrong: {other}", "correct it")
    problem = kind.problem(("a",), "x", value, other=["b", value] if value else "")
    (one,) = merged([problem])
    assert (
        line(problem, {}).partition(": wrong")[0] == line(one, {}).partition(": wrong")[0] == f"TWO_WORDS a/x{printed}"
    )
    assert "True" not in line(one, {}) and "{'" not in line(one, {})


@pytest.mark.parametrize(("number", "text"), [(1, "1 replica and 1 other host"), (2, "2 replicas and 2 other hosts")])
def test_a_noun_fits_its_number(number: int, text: str) -> None:
    kind = ProblemKind("TWO_WORDS", "{n} replicas and {n} other hosts", "correct it")
    assert kind.problem((), "", n=number).message == text


def kinds_in(value: Any) -> Iterator[ProblemKind]:
    """Yield the kinds in a value of a module, also in tables of kinds."""
    if isinstance(value, ProblemKind):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from kinds_in(item)


def test_only_one_semicolon() -> None:
    """It is between the message and the advice, and in no template of any kind."""
    names = [module.name for module in pkgutil.walk_packages(plugin_utils.__path__, f"{plugin_utils.__name__}.")]
    kinds = {kind for name in names for value in vars(import_module(name)).values() for kind in kinds_in(value)}
    assert len(kinds) > 500
    texts = {text for kind in kinds for text in (kind.message, kind.advice)}
    assert [text for text in sorted(texts) if SEPARATOR in text] == []
