"""Arguments that are none, given to modules directly: all of them said at once, nothing written, no traceback."""

from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.modules import (
    kafka_access,
    kafka_broker_config,
    kafka_groups,
    kafka_quotas,
    kafka_topics,
)

ORDERS: dict[str, Any] = {"name": "orders", "partitions": 3, "replication_factor": 3}
READ: dict[str, Any] = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "orders"}


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.topics = {"there": [[1, 2, 3]]}
    return cluster


TYPES: list[tuple[Any, dict[str, Any], str]] = [
    (
        kafka_topics,
        {"topics": [{**ORDERS, "partitions": True, "replication_factor": False}, {"name": ["a"]}]},
        "topics[orders].partitions: is true; write a number; topics[orders].replication_factor: is false; write a "
        "number; topics[['a']].name: is a list; write a string",
    ),
    (kafka_topics, {"topics": [{**ORDERS, "partitions": [3]}]}, "of type list found in 'topics'"),
    (kafka_topics, {"brokers": [{"id": True}]}, "brokers[0].id: is true; write a number"),
    (
        kafka_topics,
        {"prune": {"max_deletes": True}},
        "prune.max_deletes: is true; write a number",
    ),
    (kafka_topics, {"prune": {"topics": [["a"]]}}, "prune.topics[0]: is not a string; write a string"),
    (
        kafka_access,
        {"login": {}, "users": [{"name": "a", "password": True, "iterations": True}]},
        "users[a].password: is true; write a string; users[a].iterations: is true; write a number",
    ),
    (kafka_access, {"login": {}, "acls": [{**READ, "resource": "token"}]}, "value of resource must be one of: topic,"),
    (kafka_access, {"login": {}, "acls": [{**READ, "nam": "x"}]}, "acls.nam"),
    (kafka_broker_config, {"brokers": [{"id": True}]}, "brokers[0].id: is true; write a number"),
    (kafka_groups, {"groups": [{"name": "g", "shift": True}]}, "groups[g].shift: is true; write a number"),
    (kafka_quotas, {"quotas": [{"user": ["a"]}]}, "quotas[0].user: is a list; write a string"),
]


def test_another_type(run: Run, cluster: FakeCluster) -> None:
    found = [(said, run(module, **arguments)) for module, arguments, said in TYPES]
    assert [(said, done) for said, done in found if not done["failed"] or said not in done["msg"]] == []
    assert cluster.written == []


REFUSED: list[tuple[Any, dict[str, Any], list[str]]] = [
    (
        kafka_quotas,
        {
            "quotas": [
                {"user": "a", "values": {"producer_byte_rate": None, "consumer_byte_rate": "20MiB"}},
                {"user": "b", "values": {"producer_byte_rate": float("nan")}},
                {"values": {}},
            ]
        },
        [
            "quota of user a: producer_byte_rate null is not a number; ",
            'quota of user a: consumer_byte_rate "20MiB" is not a number; ',
            "quota of user b: producer_byte_rate NaN is not a number; ",
            "quota without an entity; ",
        ],
    ),
    (
        kafka_topics,
        {
            "topics": [
                {**ORDERS, "config": {"retention.ms": "7 days", "min.insync.replicas": [2]}},
                {"name": "there", "config": {"segment.bytes": None, "retention.ms": "many"}},
            ]
        },
        [
            "topic orders: retention.ms: 7 days is not an integer; ",
            "topic orders: min.insync.replicas: [2] is not a single value; ",
            "topic there: segment.bytes: null is not a single value; ",
            "topic there: retention.ms: many is not an integer; ",
        ],
    ),
    (
        kafka_access,
        {
            "login": {},
            "acls": [{**READ, "operations": ["REED"]}, {**READ, "resource": "group", "name": None}],
        },
        [
            "ACL of User:a: a topic has no operation REED; use one of ALL, ALTER, ",
            "ACL of User:a: the group has no name; set name, * is all",
        ],
    ),
]


USER: dict[str, Any] = {"name": "a", "password": "Guoph0Eeshi7", "verify": "generation"}
ODD: list[tuple[Any, dict[str, Any], str]] = [
    (kafka_topics, {"topics": [{**ORDERS, "name": ""}]}, "topic : not a valid name; "),
    (kafka_topics, {"topics": [{**ORDERS, "name": "a" * 250}]}, f"topic {'a' * 250}: not a valid name; "),
    (kafka_topics, {"topics": [{**ORDERS, "name": "ü"}]}, "topic ü: not a valid name; "),
    (kafka_topics, {"topics": [{**ORDERS, "name": ".."}]}, "topic ..: not a valid name; "),
    (
        kafka_topics,
        {"topics": [{"name": "there"}, {"name": "there", "state": "absent", "allow_delete": True}]},
        "topic there: declared 2 times; keep one entry",
    ),
    (kafka_topics, {"topics": [{**ORDERS, "partitions": 0}]}, "topic orders: partitions 0: not between 1 and 100000; "),
    (kafka_topics, {"topics": [{**ORDERS, "partitions": 10**6}]}, "topic orders: partitions 1000000: not between 1"),
    (kafka_topics, {"topics": [{**ORDERS, "replication_factor": -1}]}, "topic orders: replication_factor -1: not bet"),
    (kafka_topics, {"prune": {"topics": ["th*re"], "max_deletes": 9}}, "prune: topics: th*re matches nothing; "),
    (kafka_topics, {"prune": {"topics": [""], "max_deletes": 9}}, "prune: topics: an empty name matches nothing; "),
    (kafka_access, {"login": {}, "users": [{**USER, "name": ""}]}, "user '': the name is empty, or has an"),
    (kafka_access, {"login": {}, "users": [{**USER, "name": "a\x00"}]}, "user 'a\\x00': the name is empty, or has an"),
    (
        kafka_access,
        {"login": {}, "users": [USER, {**USER, "password": "Ieth3aiphool"}]},
        "user a: two entries declare its SCRAM-SHA-512 password; keep one of them",
    ),
    (
        kafka_access,
        {"login": {}, "users": [USER, {"name": "a", "state": "absent"}]},
        "user a: two entries declare its SCRAM-SHA-512 password; keep one of them",
    ),
    (
        kafka_access,
        {"login": {}, "acls": [{**READ, "principal": "User:"}]},
        "ACL of User:: the principal has no name; ",
    ),
    (kafka_access, {"login": {}, "acls": [{**READ, "operations": []}]}, "ACL of User:a: no operations, so nothing"),
    (kafka_access, {"login": {}, "acls": [{**READ, "name": "*", "pattern": "prefixed"}]}, "ACL of User:a: with patt"),
    (kafka_access, {"login": {}, "acls": [{**READ, "host": "client.example"}]}, "ACL of User:a: host client.example: "),
    (kafka_access, {"login": {}, "acls": [{**READ, "host": "10.0.0.0/8"}]}, "ACL of User:a: host 10.0.0.0/8: is not"),
    (
        kafka_access,
        {"login": {}, "acls": [{**READ, "resource": "cluster", "operations": ["ALTER"], "name": "mine"}]},
        "ACL of User:a: the cluster has no name, so name: mine would be ignored; remove it",
    ),
    (
        kafka_access,
        {"login": {}, "acls": [READ, {**READ, "operations": ["read"], "state": "absent"}]},
        "ACL User:a from * may READ topic orders (literal): declared present and absent; ",
    ),
    (kafka_quotas, {"quotas": [{"user": "<default>", "values": {"producer_byte_rate": 5}}]}, "quota of <default>: "),
    (kafka_quotas, {"quotas": [{"every_client": True, "state": "absent"}]}, "quota with every_client has no user; "),
]


def test_refused_values(run: Run, cluster: FakeCluster) -> None:
    """One line for each mistake; nothing is written."""
    wrong = []
    for module, arguments, said in [*REFUSED, *((*where, [line]) for *where, line in ODD)]:
        lines = [line[2:] for line in run(module, **arguments)["msg"].splitlines()[1:]]
        if len(lines) != len(said) or not all(map(str.startswith, lines, said)):
            wrong.append((said, lines))
    assert wrong == [] and cluster.written == []


@pytest.mark.parametrize("names", [[""], ["g", "g"]])
def test_groups_that_are_none(run: Run, names: list[str]) -> None:
    done = run(kafka_groups, groups=[{"name": name, "to": "latest"} for name in names])
    assert done["msg"].startswith("groups: ") and done["msg"].endswith(("; set its name", "; keep one entry"))
