"""A message gives the reason that holds, and advice that mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import NEW, users
from model.mistakes.base import THERE, kafka, zookeeper
from model.mistakes.databases import settings
from model.mistakes.job_data import RELAY
from model.mistakes.jobs import job
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
        (
            {1: [1, 2, 3], 2: [4, 5, 6]},
            "add a group for its datacenter, for example 3: [7], or remove zookeeper_groups",
        ),
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
         [f"credential = false: {TAKEN}give the user a password, or a name that principal_mapping_rules of MTLS "
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


STRETCH2, STRETCH2_5 = "lab_stretch2", "lab_stretch2_5"


def replicas(factor: int, least: int, **more: Any) -> dict[str, Any]:
    """Return the replication of the cluster."""
    return kafka(kafka_replication_factor=factor, kafka_min_insync_replicas=least, **more)


def a_topic(factor: int, least: int) -> dict[str, Any]:
    """Return a topic with replication of its own."""
    entry = {"name": "x", "partitions": 3, "replication_factor": factor, "config": {"min.insync.replicas": least}}
    return {"all": {"kafka_topics": [*THERE, entry]}}


SESSION = "zookeeper.session.timeout.ms"
LOGIN = job(kafka="{{ kafka_client }}")
PLAIN = job(kafka="{{ kafka_client | combine({'sasl.mechanism': 'PLAIN'}) }}")
NO_LOGIN = "add a login: kafka_client | combine(kafka_users | millrace.kafka.kafka_login('count_words'))"


@pytest.mark.parametrize(
    ("inventory", "wrong", "begin", "advice", "followed"),
    [
        ("lab", replicas(2, 2), "MIN_ISR_EQUAL", "set kafka_replication_factor to 3", replicas(3, 2)),
        ("lab", replicas(2, 1), "MIN_ISR_ONE", "use 2, and set kafka_replication_factor to 3", replicas(3, 2)),
        ("lab", replicas(4, 4), "MIN_ISR_EQUAL", "use 2, and set kafka_replication_factor to 3", replicas(3, 2)),
        (STRETCH2, replicas(2, 2), "MIN_ISR_EQUAL", "use 3, and set kafka_replication_factor to 4", replicas(4, 3)),
        (STRETCH2, replicas(3, 3), "MIN_ISR_EQUAL", "set kafka_replication_factor to 4", replicas(4, 3)),
        (STRETCH2, replicas(3, 2), "MIN_ISR_TOO_LOW", "use 3 with a replication factor of 4", replicas(4, 3)),
        (STRETCH2_5, replicas(3, 2), "MIN_ISR_TOO_LOW", "use 3 with a replication factor of 4", replicas(4, 3)),
        ("lab_stretch3", replicas(4, 4), "MIN_ISR_EQUAL", "use 3, and set kafka_replication_factor to 5",
         replicas(5, 3)),
        ("lab", a_topic(2, 1), "TOPIC_MIN_ISR_ONE", "use 3 replicas, and set min.insync.replicas to 2", a_topic(3, 2)),
        (STRETCH2, a_topic(2, 2), "TOPIC_MIN_ISR_EQUAL", "use 4 replicas, and set min.insync.replicas to 3",
         a_topic(4, 3)),
        (STRETCH2, a_topic(3, 3), "TOPIC_MIN_ISR_EQUAL", "use 4 replicas", a_topic(4, 3)),
        (STRETCH2, a_topic(3, 2), "TOPIC_DATACENTER_LOSS",
         "set min.insync.replicas to at least 3, with 4 replicas", a_topic(4, 3)),
        ("lab", kafka(kafka_config={"transaction.state.log.min.isr": 3}), "INTERNAL_TOPICS_DIFFER",
         "remove transaction.state.log.min.isr: the role sets it", {}),
        ("lab", zookeeper(zookeeper_observers=[1, 2, 3]), "ZOOKEEPER_VOTERS_NONE", "remove it", {}),
        ("lab", zookeeper(zookeeper_observers=[1, 2]), "ZOOKEEPER_SINGLE",
         "remove it, or set allow_single_zookeeper: true for a test",
         zookeeper(zookeeper_observers=[1, 2], allow_single_zookeeper=True)),
        ("lab", zookeeper(zookeeper_observers=[1]), "ZOOKEEPER_EVEN", "remove it", {}),
        (STRETCH2, zookeeper(zookeeper_observers=[1, 2, 3]), "ZOOKEEPER_VOTERS_NONE",
         "remove it, or remove the ids of servers of dc1, so that an odd number of servers votes there", {}),
        (STRETCH2_5, zookeeper(zookeeper_observers=[7]), "ZOOKEEPER_VOTERS_NONE",
         "remove it, or remove the ids of servers of dc3, so that an odd number of servers votes there", {}),
        (STRETCH2, zookeeper(zookeeper_groups={1: [1, 2, 3, 3], 2: [4, 5, 6]}),
         "ZOOKEEPER_GROUP_TWICE group zookeeper/zookeeper_groups[1] = 3: the group contains this id 2 times",
         "keep the id once", zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4, 5, 6]})),
        ("lab", zookeeper(zookeeper_config={"minSessionTimeout": 50000}),
         "ZOOKEEPER_SESSION_RANGE group zookeeper/zookeeper_config[minSessionTimeout] = 50000",
         "remove it, or set it to at most 6000, the session that brokers request",
         zookeeper(zookeeper_config={"minSessionTimeout": 6000})),
        ("lab", zookeeper(zookeeper_config={"maxSessionTimeout": 3000}), "ZOOKEEPER_SESSION_RANGE",
         "remove it, or set it to at least 6000, the session that brokers request",
         zookeeper(zookeeper_config={"maxSessionTimeout": 6000})),
        ("lab", zookeeper(zookeeper_config={"minSessionTimeout": 40000}),
         "SESSION_TIMEOUT group zookeeper/zookeeper_config[minSessionTimeout] = 40000", "lower it to at most 6000, or "
         "remove it", zookeeper(zookeeper_config={"minSessionTimeout": 6000})),
        ("lab", {**zookeeper(zookeeper_config={"maxSessionTimeout": 10000}), **kafka(kafka_config={SESSION: 20000})},
         "SESSION_TIMEOUT group zookeeper/zookeeper_config[maxSessionTimeout] = 10000",
         "raise it to at least 20000, or remove it", kafka(kafka_config={SESSION: 20000})),
        ("lab", zookeeper(zookeeper_config={"tickTime": 20000}), f"SESSION_TIMEOUT group kafka/kafka_config[{SESSION}]",
         "set a value in that range, or a tickTime from 300 to 3000",
         zookeeper(zookeeper_config={"tickTime": 3000})),
        ("lab", {"dc1-kafka1": {"kafka_rack": ""}}, "RACK_MISSING dc1-kafka1/kafka_rack = ''",
         "remove it (default: from datacenter and rack)", {}),
        ("lab", {"rack_a": {"rack": ""}}, "RACK_MISSING group rack_a/rack = ''",
         "set it to the failure domain of the host, for example a", {"rack_a": {"rack": "a"}}),
        ("lab", kafka(standard_listeners=[]), "LISTENERS_NONE group kafka/standard_listeners",
         "remove it (default: CLIENT and REPLICATION), or declare at least one listener in it", {}),
        ("lab", LOGIN, "JOB_MECHANISM", NO_LOGIN, {}),
        ("lab", PLAIN, "JOB_MECHANISM", NO_LOGIN, {}),
        ("lab", kafka(kafka_config={"max.connections": 0}), "LIMIT_MEANT group kafka/kafka_config[max.connections] = 0",
         "remove it, or set at least 1", kafka(kafka_config={"max.connections": 1})),
        ("lab", kafka(kafka_config={"listener.name.client.max.connections": 0}), "LIMIT_MEANT",
         "remove it, or set at least 1", {}),
        ("lab", kafka(kafka_config={"log.retention.hours": 0}), "LIMIT_MEANT",
         "set at least 1, or -1 for unlimited", kafka(kafka_config={"log.retention.hours": 1})),
        ("lab", kafka(kafka_config={"offsets.retention.minutes": 0}), "KAFKA_PROPERTY_VALUE",
         "correct it, or remove it (default: 10080)", {}),
        ("lab", {"all": {"kafka_topics": [*THERE, {"name": "x", "partitions": 1, "config": {
            "cleanup.policy": ["compacted"], "retention.ms": "7d"}}]}},
         "TOPIC_PROPERTY_VALUE group all/kafka_topics[x].config[cleanup.policy] = [compacted]",
         "correct it, or remove it (default: delete)", {}),
        ("lab_orders", {"all": {"postgresql_sources": ["dc1-spark2"]}},
         "DATABASE_SOURCE group all/postgresql_sources = dc1-spark2: neither an address nor a subnet",
         "use an address, or a subnet such as 198.51.100.0/24", {"all": {"postgresql_sources": ["198.18.5.32"]}}),
        ("lab_orders", {"all": {"postgresql_sources": []}}, "DATABASE_SOURCE group all/postgresql_sources",
         "list addresses, or remove it (default: the Spark hosts)", {}),
        ("lab_orders", {"all": {"postgresql_sources": ["0.0.0.0/0"]}}, "DATABASE_SOURCE",
         "list the subnets of the clients", {}),
        ("lab_orders", settings(listen_adresses="0.0.0.0"), "DATABASE_SETTING_OWNED",
         "remove it, and use postgresql_address", {}),
        ("lab_orders", settings(max_connections=3), "DATABASE_CONTRADICTION",
         "remove it (default: 100), or set it to more than 3", {}),
        ("lab_orders", settings(wal_level="minimal", archive_mode="on", archive_command="cp %p /srv/%f"),
         "DATABASE_CONTRADICTION", "remove wal_level", settings(archive_mode="on", archive_command="cp %p /srv/%f")),
    ],
)  # fmt: skip
def test_advice_that_is_followed_is_enough(
    inventory: str, wrong: dict[str, Any], begin: str, advice: str, followed: dict[str, Any], tmp_path: Path
) -> None:
    """One mistake is one message, and who does what it advises reads of no other mistake."""
    rejected = [line for line in said(wrong, tmp_path, inventory) if not line.startswith("REPLICATION_TOO_HIGH")]
    assert len(rejected) == 1, rejected
    assert rejected[0].startswith(begin), rejected
    assert rejected[0].endswith(f"; {advice}"), rejected
    assert said(followed, tmp_path / "followed", inventory) == []
