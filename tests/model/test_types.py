"""Values of any type are mistakes to report, never the end of the check.

Each variable gets two of them, and all in the campaign.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, check_model, model_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import base
from ansible_collections.millrace.kafka.plugins.plugin_utils.refused_inputs import refusals
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words
from model.probes import lab

VALUES: tuple[Any, ...] = (
    None,
    "",
    "many",
    5,
    -1,
    True,
    [],
    [1],
    ["a"],
    [{"name": 1}],
    {},
    {"a": 1},
    {1: "x"},
    {1: [1, "b"]},
    {"a": None},
)


BECOMES: dict[str, Any] = {"int": int, "bool": bool, "dict": dict, "list": (list, str, int)}
BECOMES |= dict.fromkeys(("str", "path"), (str, int))
"""By the type of an option: the types of Python whose values are of it, or become it."""


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.campaign)], ids=["some", "all"])
def every(request: pytest.FixtureRequest) -> bool:
    """Whether all values are tried."""
    return bool(request.param)


def given(name: object, every: bool) -> Iterator[Any]:
    """Return what a variable or a key gets: two values, which its name chooses, or all."""
    first = zlib.crc32(str(name).encode()) % len(VALUES)
    yield from VALUES if every else (VALUES[first], VALUES[first - 7])


LISTENER = (
    "name",
    "address",
    "port",
    "protocol",
    "advertised_address",
    "advertised_port",
    "client_auth",
    "sasl_mechanisms",
    "principal_mapping_rules",
    "keystore",
    "truststore",
)
ENTRIES: dict[str, dict[str, Any]] = {
    "kafka_users": {
        "name": "a",
        "password": "x",
        "mechanism": "SCRAM-SHA-512",
        "iterations": 8192,
        "state": "present",
        "credential": True,
        "grants": [{"consume": ["t"], "group": "g"}],
        "quotas": {"producer_byte_rate": "1MiB"},
    },
    "kafka_topics": {
        "name": "t",
        "partitions": 6,
        "replication_factor": 3,
        "profile": "event_log",
        "config": {"retention.ms": "7d"},
        "state": "present",
        "manage": True,
        "allow_delete": True,
    },
    "kafka_quotas": {"user": "a", "client_id": "b", "state": "present", "request_percentage": 50},
    "kafka_acls": {
        "principal": "User:a",
        "operations": ["READ"],
        "resource": "topic",
        "name": "t",
        "pattern": "literal",
        "permission": "allow",
        "host": "*",
        "state": "present",
    },
    "pki_certificates": {
        "name": "broker",
        "subject": "CN=a",
        "authority": "infra",
        "names": ["a"],
        "path": "/etc/kafka/tls/keystore.pem",
    },
    "pki_truststores": {"path": "/etc/kafka/tls/ca.pem", "authorities": ["infra"]},
}
KAFKA = (
    "reserved.broker.max.id",
    "min.insync.replicas",
    "default.replication.factor",
    "log.dirs",
    "listeners",
    "zookeeper.session.timeout.ms",
    "log.retention.ms",
    "log.retention.hours",
    "replica.fetch.wait.max.ms",
    "authorizer.class.name",
    "super.users",
    "log.cleanup.policy",
    "inter.broker.protocol.version",
    "listener.name.replication.ssl.client.auth",
    "ssl.principal.mapping.rules",
    "ssl.endpoint.identification.algorithm",
    "sasl.mechanism.inter.broker.protocol",
    "nothing",
)
ZOOKEEPER = (
    "tickTime",
    "minSessionTimeout",
    "maxSessionTimeout",
    "group.1",
    "server.1",
    "weight.1",
    "dataDir",
    "reconfigEnabled",
    "admin.enableServer",
    "metricsProvider.className",
    "forceSync",
    "nothing",
)


@cache
def few() -> Model:
    """Return the model of a part of the lab: each function, and two brokers, which are compared."""
    found, kept = lab(), ("dc1-zk1", "dc1-kafka1", "dc1-kafka2", "dc1-spark1")
    groups, all_groups = (
        {group: [host for host in hosts if host in kept or host not in found.hosts] for group, hosts in given.items()}
        for given in (found.groups, found.all_groups)
    )
    return replace(found, hosts={host: found.hosts[host] for host in kept}, groups=groups, all_groups=all_groups)


def check(name: str, value: Any) -> None:
    """Check the model with one variable of every host changed."""
    check_model(replace(few(), hosts={host: {**values, name: value} for host, values in few().hosts.items()}))


def test_another_type_is_reported() -> None:
    """The argument specs or the model report each value that is not of the declared type and does not become of it."""
    roles = dict.fromkeys(role for function in functions().values() for role in function.roles)
    specs = {"site": site_words(), **{role: argument_spec(role) for role in roles}}
    role_of = {name: role for role, spec in specs.items() for name in spec}
    options = {name: specs[role][name] for name, role in role_of.items()}
    silent = []
    for value in VALUES[1:]:  # a variable that is null is not set
        other = [name for name in options if not isinstance(value, BECOMES[options[name].get("type", "str")])]
        hosts = {host: {**values, **dict.fromkeys(other, value)} for host, values in few().hosts.items()}
        known = few()
        model = model_of(
            hosts, known.groups, known.all_groups, known.names, options, known.prefixes, known.function_entries
        )
        reported = {base(problem.variable) for problem in check_model(model)}
        unreported = [name for name in other if name not in reported]
        silent += [(name, value) for name in unreported if not refusals(role_of[name], name, {name: value})]
    assert silent == []


@pytest.mark.parametrize("name", sorted(lab().known))
def test_no_value_ends_the_check(name: str, every: bool) -> None:
    for value in given(name, every):
        check(name, value)


@pytest.mark.parametrize(
    ("variable", "own", "others"),
    [
        ("kafka_config", KAFKA, ZOOKEEPER),
        ("kafka_config_overrides", KAFKA, ZOOKEEPER),
        ("zookeeper_config", ZOOKEEPER, KAFKA),
        ("kafka_client", KAFKA, ZOOKEEPER),
        ("kafka_client_properties", KAFKA, ZOOKEEPER),
    ],
)
def test_no_property_ends_the_check(variable: str, own: Sequence[str], others: Sequence[str], every: bool) -> None:
    for value in given(variable, every):
        check(variable, dict.fromkeys(others, value))  # names that nobody there knows
        for name in (*own, 7):
            check(variable, {name: value})


@pytest.mark.parametrize("key", LISTENER)
def test_no_listener_ends_the_check(key: str, every: bool) -> None:
    for value in given(key, every):
        for protocol in ("SASL_SSL", "SSL"):
            listener = {"name": "REPLICATION", "address": "198.18.1.21", "port": 9092, "protocol": protocol, key: value}
            check("kafka_listeners", [{**listener, "name": "CLIENT"}, listener])


@pytest.mark.parametrize("variable", ENTRIES)
def test_no_entry_ends_the_check(variable: str, every: bool) -> None:
    for key in ENTRIES[variable]:
        for value in given(key, every):
            check(variable, [{**ENTRIES[variable], key: value}, ENTRIES[variable]])


@pytest.mark.parametrize(
    "key", ["produce", "consume", "group", "transactional_id", "streams", "connect", "topics", "mirror_maker", "source",
            "groups", "exporter", "canary"],
)  # fmt: skip
def test_no_grant_ends_the_check(key: str, every: bool) -> None:
    for value in given(key, every):
        check("kafka_users", [{"name": "a", "grants": [{"mirror_maker": "target", key: value}, {key: value}]}])


@pytest.mark.parametrize(
    ("variable", "keys"),
    [
        ("kafka_prune", ["topics", "acls", "users", "max_deletes"]),
        ("kafka_topic_defaults", ["partitions", "replication_factor", "profile", "config"]),
    ],
)
def test_no_key_ends_the_check(variable: str, keys: list[str], every: bool) -> None:
    for key in keys:
        for value in given(key, every):
            check(variable, {key: value})


@pytest.mark.parametrize("name", ["retention.ms", "cleanup.policy", "min.insync.replicas", "nothing", 7])
def test_no_property_of_a_topic_ends_the_check(name: object, every: bool) -> None:
    for value in given(name, every):
        check("kafka_topics", [{"name": "t", "partitions": 1, "config": {name: value}}])


@pytest.mark.parametrize("key", ["name", "job", "state", "config"])
def test_no_job_ends_the_check(key: str, every: bool) -> None:
    for value in given(key, every):
        config = {"checkpoint": value, "kafka": value, "spark": value, "output_directory": value, "input_topic": value}
        check("spark_job_jobs", [{"name": "count_words", "config": config, key: value}])
        check("spark_job_jobs", [{"name": "a", "config": {"spark": {"spark.driver.memory": value, "a": value}}}] * 2)


@pytest.mark.parametrize("variable", ["kafka_unit_overrides", "zookeeper_unit_overrides", "spark_job_unit_overrides"])
def test_no_unit_ends_the_check(variable: str, every: bool) -> None:
    for value in given(variable, every):
        check(variable, {"Service": value})
        check(variable, {"Service": {"Environment": value, "ReadWritePaths": value, "AmbientCapabilities": value}})


def test_no_unit_of_a_job_ends_the_check(every: bool) -> None:
    for value in given("unit_overrides", every):
        sections = {"Environment": value, "ReadWritePaths": value}
        for overrides in (value, {"Service": value}, {"Service": sections}):
            check("spark_job_jobs", [{"name": "a", "config": {"checkpoint": "/c"}, "unit_overrides": overrides}])
