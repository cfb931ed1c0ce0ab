"""What follows from a mistake is not said beside it; what does not follow is."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.tags import TAGS
from model.mistakes import MISTAKES
from model.mistakes.access import SAID, SECRETLESS, acl
from model.mistakes.base import INVENTORIES, LAB, VAULT, kafka, listeners, spoil
from model.mistakes.variable_names import WITHOUT_SHARED
from model.preflight import playbook
from model.said import check

_USERS = SECRETLESS["all"]["kafka_users"]
WITH_PASSWORD = {"all": {"kafka_users": [*_USERS[:2], {**_USERS[2], "password": "{{ vault.passwords.count_words }}"}]}}
MISNAMED = {"    zookeeper:\n": "    zk:\n", "    kafka:\n": "    brokers:\n", "    spark:\n": "    jobs:\n"}


@pytest.mark.parametrize("name", ["preflight", "site", "check", "rotate_certificates"])
@pytest.mark.parametrize("hosts", [MISNAMED, None])
def test_nothing_checked_is_no_success(name: str, hosts: dict[str, str] | None, tmp_path: Path) -> None:
    """Where no host has a function, any playbook ends with one error, whatever tags it is given."""
    inventory = spoil(tmp_path / "inventory", replace(LAB, hosts=hosts or {}))
    if hosts is None:
        (inventory / "hosts.yml").write_text("plugin: millrace.kafka.site\nall:\n  hosts:\n")
    done = playbook(name, inventory, "--tags", "model,untagged")
    assert done.returncode != 0, done.stdout
    said = f"in one of the groups {', '.join(functions())}"
    assert said in done.stdout or "has a function" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (("--tags", "modle,config"), ["--tags modle: no task"]),
        (("--skip-tags", "topics,hosts"), ["--skip-tags topics: no task"]),
        (("--skip-tags", "model,hosts"), ["--skip-tags model: the model is checked nevertheless"]),
        (("--tags", "model"), []),
    ],
)
def test_tags_that_nothing_has(options: tuple[str, str], warned: list[str], tmp_path: Path) -> None:
    """They are warned of, and the model is checked."""
    tags = set()
    for file in (INVENTORIES.parent / "playbooks").rglob("*.yml"):
        for found in re.findall(r"^ +tags: \[(.*)\]", file.read_text(encoding="utf-8"), re.MULTILINE):
            tags |= set(found.split(", "))
    assert tags == {"always", *TAGS} - {"model"}  # --tags model is what always runs
    wrong = replace(LAB, hosts={"198.18.2.22": "198.18.3.22"})
    done = playbook("preflight", spoil(tmp_path / "inventory", wrong), *options)
    assert "ADDRESS_OUTSIDE" in done.stdout
    said = [line for line in re.sub(r"\s+", " ", done.stdout).split("[WARNING]: ") if line.startswith("--")]
    assert len(said) == len(warned)
    for line, begin in zip(said, warned, strict=True):
        assert line.startswith(begin), line


def test_syntax_is_looked_at_without_an_inventory() -> None:
    done = playbook("site", None, "--syntax-check")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("hosts", "variables", "said"),
    [
        # Once, with all that stands on it.
        (WITHOUT_SHARED, kafka(kafka_log_dirs=["/data/kafka1"]), ["VARIABLE_MISSING group all/organization"]),
        # The mistake that does not follow stays.
        (
            {"    archives: ": "    folder: "},
            {"dc1-kafka2": {"memory": "lots"}},
            ["MEMORY_INVALID dc1-kafka2/memory", "VARIABLE_MISSING group all/archives"],
        ),
        (
            {"198.18.2.22": "198.18.1.99", "198.18.1.22": "198.18.2.99"},
            {},
            ["NETWORKS_SWAPPED dc1-kafka2"],
        ),
        ({}, kafka(kafka_replication_factor=2, kafka_min_insync_replicas=2),
         ["MIN_ISR_EQUAL group kafka/kafka_min_insync_replicas"]),
        # Where it is written, though other hosts cannot compute what they have of it.
        ({"client_address: 198.18.1.12": "client_address: '{{ zk2_ip }}'"}, {}, ["VARIABLE_MISSING dc1-zk2/zk2_ip"]),
        ({"layout: single": "layout: singel"}, {}, ["INPUT_REFUSED group all/layout"]),
        (
            {"client_address: 198.18.1.21": "client_address: 198.18.1.21/24"},
            {},
            ["ADDRESS_INVALID dc1-kafka1/client_address"],
        ),
        ({}, kafka(kafka_log_dirs=["/"]), ["LOG_DIRS_PATH group kafka/kafka_log_dirs"]),
        ({}, kafka(kafka_heap="{{ kafka_heap }}"), ["NOT_COMPUTED group kafka/kafka_heap"]),
        # The entry of a list in which something is wrong.
        (
            {},
            kafka(site_listeners=[{"name": "MORE", "address": "{{ client_address }}", "port": 9094}]),
            ["INPUT_REFUSED group kafka/site_listeners[MORE]"],
        ),
        ({}, acl({**SAID, "resource": "topics"}), ["INPUT_REFUSED group all/kafka_acls[User:lab]"]),
        # What nobody can reach, and not who is told of it.
        (
            {},
            kafka(kafka_listeners=listeners(address="0.0.0.0")),
            ["LISTENER_ADVERTISED group kafka/kafka_listeners[CLIENT]"],
        ),
        # Where a host is named that is none, and not where that is computed of it.
        (
            {},
            kafka(broker_zookeeper_hosts=["dc1-zk1", "dc1-zk2", "dc1-zk4"]),
            ["NOT_COMPUTED group kafka/broker_zookeeper_hosts"],
        ),
        # What is written twice, and not the job that cannot log in for it.
        ({}, WITH_PASSWORD, ["USER_CREDENTIAL group all/kafka_users[count_words].password"]),
        ({}, acl({**SAID, "principal": "Group:lab"}), ["ACL_PRINCIPAL group all/kafka_acls[Group:lab]"]),
    ],
)  # fmt: skip
def test_once(hosts: dict[str, str], variables: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    lines = check(spoil(tmp_path / "inventory", replace(LAB, hosts=hosts, variables=variables)))[1]
    found = [line.partition(": ")[0].partition(" = ")[0] for line in lines if not line.startswith("SECRET_CLEAR")]
    assert sorted(found) == said


def test_a_login_of_nobody_in_the_database(tmp_path: Path) -> None:
    """It is named with those whom there are, as one of kafka_users is."""
    login = "{{ postgresql_users | millrace.kafka.postgresql_login('order_owner') }}"
    job = {"name": "project_orders", "config": {}, "migrate": login}
    wrong = replace(LAB, inventory="lab_orders", variables={"spark_consumer": {"spark_job_jobs": [job]}})
    (line,) = check(spoil(tmp_path / "inventory", wrong))[1]
    place = "group spark_consumer/spark_job_jobs[project_orders].migrate"
    assert line.startswith(f"LOGIN_UNKNOWN {place} = order_owner: postgresql_users has no user"), line
    assert "orders_owner, project_orders" in line


def test_a_filter_without_the_name_of_its_collection(tmp_path: Path) -> None:
    """The whole name of the filter that was meant is in the advice."""
    client = "{{ kafka_client | combine(kafka_users | kafka_login('count_words')) }}"
    spoilt = replace(LAB, variables={"spark_consumer": {"kafka_client": client}})
    _, lines = check(spoil(tmp_path / "inventory", spoilt))
    (line,) = (line for line in lines if "kafka_login" in line)
    assert line.startswith("NOT_COMPUTED ") and line.endswith("; did you mean millrace.kafka.kafka_login?"), line


def test_a_number_in_the_vault(tmp_path: Path) -> None:
    """It is said, and not the job that cannot log in with it."""
    vault = {**VAULT, "passwords": {**VAULT["passwords"], "count_words": 8236450917}}
    assert [problem.code for problem in check(spoil(tmp_path / "inventory", LAB), {"vault": vault})[0]] == [
        "VAULT_NUMBER"
    ]


@pytest.mark.parametrize(
    "place",
    [
        "group_vars/zookeper.yml",
        "host_vars/dc1-kafk1.yml",
        "group_vars/al/vault.yml",
        "group_vars/all.txt",
        "groupvars/all.yml",
        "group-vars/all.yml",
    ],
)
def test_files_that_nobody_reads(place: str, tmp_path: Path) -> None:
    """And nothing of what they would have set."""
    without = replace(LAB, hosts={"    archives: ": "    folder: ", "    datacenter: dc1\n": ""})
    inventory = spoil(tmp_path / "inventory", without)
    (inventory / place).parent.mkdir(parents=True, exist_ok=True)
    (inventory / place).write_text(json.dumps({"archives": "/srv", "datacenter": "dc1"}, indent=0).replace('"', ""))
    (inventory / "group_vars" / ".hidden.yml").parent.mkdir(exist_ok=True)
    (inventory / "group_vars" / ".hidden.yml").write_text("a: 1\n")
    (inventory / "group_vars" / "README.md").write_text("# notes\n")
    assert [problem.code for problem in check(inventory)[0]] == ["FILE_UNREAD"]


def test_variables_for_all_are_no_mistake(tmp_path: Path) -> None:
    """A heap that is written for all hosts, another for the brokers, and one for a rack."""
    variables: dict[str, dict[str, Any]] = {
        "all": {"kafka_heap": "1g"},
        "kafka": {"kafka_heap": "2g"},
        "rack_a": {"kafka_limit_nofile": 20000},
    }
    assert check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1] == []


@pytest.mark.parametrize("word", ["prod", "Production", "PRODUCTION", "dev", ""])
def test_an_unknown_environment_switches_nothing_off(word: str, tmp_path: Path) -> None:
    plain = {"site_environment": word, "security_profile": "plaintext"}
    codes = {
        problem.code for problem in check(spoil(tmp_path / "inventory", replace(LAB, variables={"all": plain})))[0]
    }
    assert {"INPUT_REFUSED", "SECURITY_PLAINTEXT"} <= codes  # of which LISTENER_PLAINTEXT follows


@pytest.mark.parametrize(
    "word", ["", " ", "a,b", "a=b", "a+b", "a/b", 'a"b', "a'b", "a;b", "a\\b", "#a", "(a)", "a\nb"]
)
def test_organizations_that_break_a_subject(word: str, tmp_path: Path) -> None:
    variables = {"all": {"organization": word}}
    problems = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[0]
    assert [problem.code for problem in problems] == ["ORGANIZATION_INVALID"]


def test_a_host_of_both_functions(tmp_path: Path) -> None:
    """It can be had, and the text false does not allow it."""
    name = "        dc1-zk3: {zookeeper_id: 3, client_address: 198.18.1.13, replication_address: 198.18.2.13}\n"
    hosts = {name: "        dc1-kafka3: {zookeeper_id: 3}\n", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}"}
    for number, (value, said) in enumerate(((True, []), ("true", []), ("false", ["COLOCATED"]))):
        wrong = replace(LAB, hosts=hosts, variables={"all": {"allow_colocated": value}})
        found = check(spoil(tmp_path / str(number), wrong))[0]
        assert [problem.code for problem in found] == said, value


def test_a_page_without_the_plugin_says_what_preflight_says(tmp_path: Path) -> None:
    """Once, and of no variable that the plugin would have made."""
    done = playbook("check", spoil(tmp_path / "inventory", next(m for m in MISTAKES if m.code == "WIRING_MISSING")))
    said = " ".join(done.stdout.split())
    assert done.returncode != 0
    assert "WIRING_MISSING group all: no file of the inventory names the plugin" in said
    assert "undefined" not in said
    assert "Probe the host" not in said


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("{{ memory }}", "set it for the whole inventory or for a group, for example `memory: 64g` "
                         "(inventories/README.md: Memory of the host)"),
        ("{{ my_heapp }}", "set it, for the whole inventory or for a group, or write my_heap where it is used"),
        ("{{ unheard }}", "set it, for the whole inventory or for a group, or correct the name where it is used"),
    ],
)  # fmt: skip
def test_what_a_missing_variable_is_set_to(value: str, wanted: str, tmp_path: Path) -> None:
    variables = {**kafka(kafka_heap=value), "all": {"my_heap": "1g"}}
    (line,) = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1]
    assert line.startswith("VARIABLE_MISSING group kafka/"), line
    assert line.endswith(f"not set, but used by kafka_heap; {wanted}"), line
