"""A cluster as the words of an inventory."""

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import export
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import Found
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.quotas import Entity


def test_topics() -> None:
    """What was set for each, in numbers; no throttles; the cluster's own are left out."""
    replicas: dict[str, list[tuple[int, ...]]] = {
        "b": [(1, 2, 3)] * 6,
        "a.b": [(1, 2), (2, 3)],
        "mixed": [(1,), (1, 2)],
        "_schemas": [(1,)],
    }
    settings: dict[str, dict[str, str]] = {
        "b": {
            "retention.ms": "-1",
            "cleanup.policy": "compact,delete",
            "min.cleanable.dirty.ratio": "0.1",
            "leader.replication.throttled.replicas": "*",
        }
    }
    assert export.topics(replicas, settings) == [
        {"name": "a.b", "partitions": 2, "replication_factor": 2},
        {
            "name": "b",
            "partitions": 6,
            "replication_factor": 3,
            "config": {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.1", "retention.ms": -1},
        },
        {"name": "mixed", "manage": False},
    ]


def test_what_moves_is_said_as_it_is_to_be() -> None:
    """On the way a partition has the replicas that it gets, too; nobody wants as many."""
    replicas: dict[str, list[tuple[int, ...]]] = {"t": [(1, 2, 3, 4), (1, 2)], "u": [(1, 2)]}
    found = export.topics(export.arrived(replicas, {("t", 0): (3, 4), ("gone", 0): (1,)}), {})
    assert [(one["name"], one["replication_factor"]) for one in found] == [("t", 2), ("u", 2)]


def test_users() -> None:
    """One entry for each mechanism; the password is one of the vault."""
    assert export.users({"b": {"SCRAM-SHA-512": 8192, "SCRAM-SHA-256": 4096}, "a": {"SCRAM-SHA-512": 16384}}) == [
        {"name": "a", "password": "{{ vault.passwords['a'] }}", "iterations": 16384},
        {"name": "b", "password": "{{ vault.passwords['b'] }}"},
        {
            "name": "b",
            "password": "{{ vault.passwords['b'] }}",
            "mechanism": "SCRAM-SHA-256",
            "iterations": 4096,
        },
    ]


def test_a_name_does_not_end_the_password_that_is_named_by_it() -> None:
    """A user chose it; the template is read by the control node."""
    (user,) = export.users({"a'] ~ lookup('pipe', 'id') ~ x['": {"SCRAM-SHA-512": 8192}})
    assert user["password"] == ("{{ vault.passwords['YSddIH4gbG9va3VwKCdwaXBlJywgJ2lkJykgfiB4Wyc=' | b64decode] }}")


def test_acls() -> None:
    """Operations on one thing stand together; what cannot be declared is said apart."""
    found = {
        Acl("User:a", "ALLOW", "WRITE", "TOPIC", "t", "LITERAL", "*"),
        Acl("User:a", "ALLOW", "READ", "TOPIC", "t", "LITERAL", "*"),
        Acl("User:a", "DENY", "READ", "GROUP", "g-", "PREFIXED", "198.51.100.1"),
        Acl("User:b", "ALLOW", "ALTER", "CLUSTER", "kafka-cluster", "LITERAL", "*"),
        Acl("User:b", "ALLOW", "DESCRIBE", "UNKNOWN", "x", "LITERAL", "*"),
    }
    assert export.acls(found) == (
        [
            {"principal": "User:a", "operations": ["READ", "WRITE"], "resource": "topic", "name": "t"},
            {
                "principal": "User:a",
                "operations": ["READ"],
                "resource": "group",
                "name": "g-",
                "pattern": "prefixed",
                "permission": "deny",
                "host": "198.51.100.1",
            },
            {"principal": "User:b", "operations": ["ALTER"], "resource": "cluster"},
        ],
        ["User:b from * may DESCRIBE unknown x (literal)"],
    )


def test_quotas() -> None:
    found = {
        Entity("a", None): {"producer_byte_rate": 1048576.0, "request_percentage": 12.5},
        Entity("", "batch"): {"controller_mutation_rate": 1.0},
    }
    assert export.quotas(found) == [
        {"user": "<default>", "client_id": "batch", "controller_mutation_rate": 1},
        {"user": "a", "producer_byte_rate": 1048576, "request_percentage": 12.5},
    ]


def test_settings_of_running_brokers() -> None:
    """Those of all are said; those of one, throttles and secrets are told apart."""
    throttle = {"leader.replication.throttled.rate": "5"}
    settings: dict[str, dict[str, str | None]] = {
        "": {"num.io.threads": "16", "ssl.key.password": None, **throttle},
        "1": {"log.cleaner.threads": "2"},
        "2": {},
    }
    assert export.broker_config(Found(settings, {})) == (
        {"num.io.threads": 16},
        [
            "all brokers: leader.replication.throttled.rate = 5",
            "all brokers: ssl.key.password",
            "broker 1: log.cleaner.threads = 2",
        ],
    )
