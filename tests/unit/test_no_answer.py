"""No controller, no quorum, no rights: what is the matter is said, within 15 s, and nothing is written."""

from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import acls, admin, quotas, topics, users
from ansible_collections.millrace.kafka.plugins.modules import (
    kafka_access,
    kafka_export,
    kafka_info,
    kafka_quotas,
    kafka_topics,
)

ORDERS: dict[str, Any] = {"name": "orders", "partitions": 3, "replication_factor": 3}
READ: dict[str, Any] = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "orders"}
LIMIT = admin.ASK + admin.FIRST + admin.REACH
"""Seconds until a question, and what is behind its silence, are given up."""
USER: dict[str, Any] = {"name": "a", "password": "Guoph0Eeshi7"}


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.topics = {"there": [[1, 2, 3]]}
    return cluster


def test_a_question_that_waits_for_zookeeper_is_given_up_in_time(run: Run, cluster: FakeCluster) -> None:
    """Brokers that lost the quorum answer what they know, and nothing else; this test waits for the timeout."""
    assert LIMIT < 15
    cluster.silent = {"describe_configs"}
    done = run(kafka_topics, topics=[ORDERS])
    words = "topics: brokers can be reached, but ZooKeeper does not answer them; nothing was written; "
    assert done["msg"].startswith(words) and cluster.written == []


SILENT: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("describe_client_quotas", kafka_quotas, {"quotas": [{"user": "a"}]}, quotas),
    ("describe_acls", kafka_access, {"login": {}, "acls": [READ]}, acls),
    (
        "describe_user_scram_credentials",
        kafka_access,
        {"login": {"security.protocol": "SASL_SSL"}, "users": [USER]},
        users,
    ),
    ("create_topics", kafka_topics, {"topics": [ORDERS]}, topics),
    ("describe_client_quotas", kafka_export, {}, quotas),
]


@pytest.mark.parametrize(("method", "module", "arguments", "facade"), SILENT)
@pytest.mark.parametrize("check_mode", [True, False])
def test_whoever_asks_is_told(
    run: Run,
    cluster: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    module: Any,
    arguments: dict[str, Any],
    facade: Any,
    check_mode: bool,
) -> None:
    """That nothing was answered is no refusal, neither when brokers only judge."""
    monkeypatch.setattr(facade, "ASK", 0.6)
    cluster.silent = {method}
    done = run(module, check_mode=check_mode, **arguments)
    assert "but ZooKeeper does not answer them" in done["msg"] and "refused" not in done["msg"]
    assert cluster.written == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_no_controller(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, check_mode: bool) -> None:
    """It is said once, before brokers are asked to judge."""
    monkeypatch.setattr(admin, "ELECTION", 0.5)
    cluster.controller = -1
    done = run(kafka_topics, check_mode=check_mode, topics=[ORDERS])
    assert done["msg"].startswith("topics: no controller among the 3 known brokers, for 0 s; nothing was")
    assert done["msg"].count("no controller") == 1 and cluster.written == []


def test_who_may_not_ask_is_told_so(run: Run, cluster: FakeCluster) -> None:
    """It looks like no brokers that do not say their racks."""
    cluster.denied = {"describe_configs"}
    for module, what, arguments in ((kafka_topics, "topics", {"topics": [ORDERS]}), (kafka_info, "info", {})):
        done = run(module, **arguments)
        assert done["msg"].startswith(f"{what}: authorization: ") and "CLUSTER_AUTHORIZATION_FAILED" in done["msg"]
    assert cluster.written == []
