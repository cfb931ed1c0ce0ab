"""A message gives the reason that holds, and advice that mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import NEW, users
from model.mistakes.base import zookeeper
from model.mistakes.databases import settings
from model.mistakes.job_data import RELAY
from model.test_own_topics import TARGET as MIRROR
from model.test_reached import said
from model.test_said_in_place import MTLS

DATABASE = "warn DATABASE_UNSAFE group all/postgresql_config[synchronous_commit] = off: a crash of the server loses"


@pytest.mark.parametrize(("value", "told"), [("off", True), (False, True), ("local", False), ("on", False)])
def test_rows_that_are_acknowledged_too_early(value: Any, told: bool, tmp_path: Path) -> None:
    lines = said(settings(synchronous_commit=value, shared_buffers="32MB"), tmp_path, "lab_orders")
    assert len(lines) == told, lines
    assert all(line.startswith(DATABASE) and line.endswith("; remove it") for line in lines), lines


def test_weights_without_groups(tmp_path: Path) -> None:
    """ZooKeeper 3.8.6 reads a weight as the wish for groups, and ends with "Server 1 is not in a group"."""
    assert said(zookeeper(zookeeper_weights={5: 2}), tmp_path, "stretch3") == [
        "ZOOKEEPER_WEIGHTS_IDLE group zookeeper/zookeeper_weights: with weights, ZooKeeper requires a group for every "
        "voter: without zookeeper_groups, no server would start; remove it, or set zookeeper_groups"
    ]


@pytest.mark.parametrize(
    ("groups", "advice"),
    [
        ({1: [1, 2, 3], 2: [4, 5, 6]}, "add a group for its datacenter, as 3: [7], or remove zookeeper_groups"),
        ({1: [1, 2, 3], 2: [4, 5], 3: [7]}, "add its id to the group of its datacenter"),
    ],
)
def test_a_voter_in_no_group(groups: dict[int, list[int]], advice: str, tmp_path: Path) -> None:
    """What is advised can be done: its datacenter may have no group."""
    lines = said(zookeeper(zookeeper_groups=groups), tmp_path, "lab_stretch2_5")
    found = [line for line in lines if line.startswith("ZOOKEEPER_GROUP_NONE")]
    assert len(found) == 1, lines
    assert found[0].endswith(f"ZooKeeper would not start; {advice}"), lines


LARGE = {"name": "streams-plaintext-input", "partitions": 6}
SMALL = {"name": "streams-wordcount-output", "partitions": 6}
SIZE = {"max.message.bytes": 20971520}


@pytest.mark.parametrize(
    ("large", "small", "more", "begin"),
    [
        ({"profile": "large_messages"}, {}, {}, "JOB_MESSAGE"),
        ({"config": SIZE}, {}, {}, "JOB_MESSAGE"),
        ({}, {"config": {"max.message.bytes": 1048588}}, {"kafka_topic_defaults": {"config": SIZE}},
         "warn JOB_MESSAGE"),
        ({}, {"config": {"max.message.bytes": 500000}}, {}, "warn JOB_MESSAGE"),
    ],
)  # fmt: skip
def test_large_records_that_are_declared(
    large: dict[str, Any], small: dict[str, Any], more: dict[str, Any], begin: str, tmp_path: Path
) -> None:
    """Who declares that records are large sends them; of a default nobody knows."""
    variables = {
        "spark_consumer": {"spark_job_jobs": [RELAY]},
        "all": {"kafka_topics": [{**LARGE, **large}, {**SMALL, **small}], **more},
    }
    lines = [line for line in said(variables, tmp_path) if "JOB_MESSAGE" in line]
    assert len(lines) == 1 and lines[0].startswith(f"{begin} "), lines


LOWER = {**MTLS, "principal_mapping_rules": ["RULE:^CN=([^,]+),OU=clients,O={{ organization }}$/$1/L"]}
ADMINS = {"firewall_extra_sources": {"admin": ["192.0.2.0/24"]}}  # who may come to the brokers' own listener
TAKEN = "no client can log in as this user: no listener (CLIENT, MTLS, REPLICATION) derives this name from a "
TAKEN += "certificate or a token; "
RENAMED = "name = Reports: principal_mapping_rules of listener MTLS change this name to reports; did you mean reports?"


@pytest.mark.parametrize(
    ("name", "more", "wanted"),
    [
        ("Reports", {"site_listeners": [LOWER], **ADMINS},
         [RENAMED]),
        ("Reports", {"site_listeners": [LOWER]},
         [RENAMED]),
        ("reports", {"site_listeners": [LOWER], **ADMINS}, []),
        ("Reports", {"site_listeners": [MTLS], **ADMINS}, []),
        ("Reports", ADMINS, []),
        ("CN=reports,O=lab", {"site_listeners": [MTLS]},
         [f"credential = False: {TAKEN}give the user a password, or a name that principal_mapping_rules of MTLS "
          "derive"]),
    ],
)  # fmt: skip
def test_whom_a_rule_calls_otherwise(name: str, more: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    """Clients come to the listeners of clients, whatever the brokers' own would make of them."""
    lines = said({**users({"name": name, "credential": False}), "kafka": more}, tmp_path)
    found = [line for line in lines if "USER_NOBODY" in line]
    assert found == [f"warn USER_NOBODY group all/kafka_users[{name}].{text}" for text in wanted], lines


@pytest.mark.parametrize(
    ("settings_told", "warned", "ends"),
    [
        ({"log.cleaner.backoff.ms": None}, True, False),
        ({"log.cleaner.backoff.ms": None, "log.cleaner.threads": 2}, False, True),
    ],
)
def test_what_is_taken_back(settings_told: dict[str, Any], warned: bool, ends: bool, tmp_path: Path) -> None:
    """Where it was never set nothing happens, and no broker ends."""
    lines = said({"all": {"kafka_dynamic_config": settings_told}}, tmp_path)
    found = [line for line in lines if "BROKER_CONFIG_HEAP" in line]
    assert len(found) == 1, lines
    assert found[0].startswith("warn ") == warned, found
    told = (", so that the broker would stop" in found[0], ": if the cluster has this dynamic" in found[0])
    assert told == (ends, not ends), found


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("west.orders", ""),
        ("west.*", ""),
        ("west-orders", "did you mean west.orders? Otherwise declare it (manage: false if others create it)"),
        ("west_orders-*", "did you mean west.orders-*? Otherwise declare it (manage: false if others create it)"),
        ("western.orders", "declare it (manage: false if others create it), or correct the name"),
        ("east.orders", "declare it (manage: false if others create it), or correct the name"),
    ],
)
def test_topics_that_a_mirror_makes(name: str, advice: str, tmp_path: Path) -> None:
    """They begin with the alias of the other cluster and a dot, and nobody declares them."""
    mirror = {"name": "mm2", "password": "{{ vault.passwords.generate_orders }}", "grants": [MIRROR]}
    reader = {"consume": [name], "group": "orders"}
    variables = users(mirror, {**NEW, "grants": [reader]})
    variables["all"]["kafka_topics"] = [LARGE, SMALL]
    found = [line for line in said(variables, tmp_path) if "GRANT_TOPIC" in line]
    place = f"warn GRANT_TOPIC group all/kafka_users[orders].grants[consume].consume = {name}"
    assert found == ([f"{place}: kafka_topics does not declare this topic; {advice}"] if advice else []), found
