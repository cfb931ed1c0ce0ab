"""The modules of topics, users, ACLs and quotas against brokers on loopback that speak Kafka's protocol; no JVM."""

import json
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run, brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins
from ansible_collections.millrace.kafka.plugins.modules import kafka_access, kafka_quotas, kafka_topics

ORDERS = {"name": "orders", "partitions": 3, "replication_factor": 3, "config": {"retention.ms": "604800000"}}
SASL = {"security.protocol": "SASL_SSL"}
READ = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "orders"}


def test_topics_converge(run: Run, cluster: FakeCluster) -> None:
    """What is predicted is what is done; the second run does nothing."""
    predicted = run(kafka_topics, check_mode=True, topics=[ORDERS])
    assert predicted["changed"] and cluster.written == []
    done = run(kafka_topics, topics=[ORDERS])
    assert {key: done[key] for key in ("plan", "diff", "changes")} == {
        key: predicted[key] for key in ("plan", "diff", "changes")
    }
    assert done["plan"] == {"create": ["orders"], "update": [], "delete": [], "unchanged": [], "unmanaged": []}
    assert done["cluster_id"] == "cluster-of-a-test"
    assert cluster.topics == {"orders": [[1, 2, 3], [2, 3, 1], [3, 1, 2]]}
    assert cluster.configs == {"orders": {"retention.ms": "604800000"}}
    again = run(kafka_topics, topics=[ORDERS])
    assert (again["changed"], again["plan"]["unchanged"], again["diff"]["after"]) == (False, ["orders"], "")
    assert cluster.written == ["create orders"]


def test_settings_one_by_one_and_more_partitions(run: Run, cluster: FakeCluster) -> None:
    cluster.topics = {"orders": [[1, 2, 3]]}
    throttle = {"follower.replication.throttled.replicas": "0:1"}
    cluster.configs = {"orders": {"segment.bytes": "1", **throttle}}
    topic = {**ORDERS, "partitions": 2, "allow_more_partitions": True, "allow_data_loss": True}
    assert run(kafka_topics, topics=[topic])["plan"]["update"] == ["orders"]
    assert cluster.topics == {"orders": [[1, 2, 3], [2, 1, 3]]}
    assert cluster.configs == {
        "orders": {"retention.ms": "604800000", "follower.replication.throttled.replicas": "0:1"}
    }
    again = run(kafka_topics, topics=[topic])
    assert (again["changed"], again["plan"]["unmanaged"]) == (
        False,
        ["orders: follower.replication.throttled.replicas"],
    )


def test_brokers_without_a_limit(run: Run, cluster: FakeCluster) -> None:
    """Their -1 is one of no hour either: a week deletes what they keep, and no limit deletes nothing."""
    cluster.brokers["log.retention.hours"] = "-1"
    cluster.topics = {"orders": [[1, 2, 3]] * 3}
    done = run(kafka_topics, topics=[ORDERS])
    assert "retention.ms: -1 (no limit) would become 604800000 (7 d)" in done["msg"] and cluster.written == []
    cluster.configs = {"orders": {"retention.ms": "604800000"}}
    (change,) = run(kafka_topics, topics=[{**ORDERS, "config": {}}])["changes"]
    assert change.endswith("- retention.ms: 604800000 (7 d); + retention.ms: -1 (no limit), by default")


def test_what_brokers_were_told_is_no_topics_own(run: Run, cluster: FakeCluster) -> None:
    """A setting of brokers that was changed while they ran is not the topic's to take back, in every run anew."""
    cluster.topics, cluster.dynamic = {"orders": [[1, 2, 3]] * 3}, {"retention.ms": "604800000"}
    assert run(kafka_topics, topics=[{**ORDERS, "config": {}}])["plan"]["unchanged"] == ["orders"]


def test_settings_that_are_written_where_partitions_are_not(run: Run, cluster: FakeCluster) -> None:
    """The topic failed, and something changed all the same."""
    cluster.topics, cluster.ungrown = {"orders": [[1, 2, 3]]}, {"orders"}
    done = run(kafka_topics, topics=[{**ORDERS, "allow_more_partitions": True}])
    assert done["failed"] and done["changed"] and cluster.written == ["configure orders"]
    words = "its settings were written, but no partitions were added: "
    assert done["outcome"]["failed"]["topic orders"].startswith(words)
    assert done["outcome"]["done"] == ["topic orders"]


def test_all_refusals_are_said_and_nothing_is_written(run: Run, cluster: FakeCluster) -> None:
    """Ours, and those of the brokers."""
    cluster.topics = {"orders": [[1, 2, 3]] * 4}
    unknown = {**ORDERS, "name": "returns", "config": {"retention.msec": "5"}}
    done = run(kafka_topics, topics=[ORDERS, {**ORDERS, "name": "fine"}, unknown])
    assert done["failed"] and cluster.written == []
    assert done["msg"] == (
        "topics: nothing was written: 2 rejected\n"
        "- topic orders: has 4 partitions, 3 are declared, and Kafka cannot remove partitions; declare 4\n"
        "- topic returns: retention.msec is not a setting of topics; correct its name"
    )
    assert done["changed"] is False


def test_what_only_brokers_refuse(run: Run, cluster: FakeCluster) -> None:
    """There is no topic yet of which to learn the names of settings; brokers are asked without writing."""
    unknown = {**ORDERS, "name": "returns", "config": {"retention.msec": "5"}}
    done = run(kafka_topics, check_mode=True, topics=[{**ORDERS, "name": "fine"}, unknown])
    assert done["msg"] == (
        "topics: nothing was written: 1 rejected\n"
        "- topic returns: Unknown topic config name: retention.msec (INVALID_CONFIG)"
    )
    assert cluster.written == []


def test_another_cluster_is_left_alone(run: Run, cluster: FakeCluster) -> None:
    for kind in (kafka_topics, kafka_access, kafka_quotas):
        done = run(kind, cluster_id="mine", **({"login": {}} if kind is kafka_access else {}))
        assert done["msg"].startswith("the cluster has the id cluster-of-a-test, but kafka_cluster_id is mine")
    assert cluster.written == []


def test_what_fails_half_way(run: Run, cluster: FakeCluster) -> None:
    """What was done, what failed and what was not tried; the next run does the rest."""
    cluster.topics = {"old": [[1, 2, 3]]}
    cluster.refused = {"b": "Policy says no."}
    topics: list[dict[str, Any]] = [{**ORDERS, "name": name} for name in "abc"]
    topics.append({"name": "old", "state": "absent", "allow_delete": True})
    done = run(kafka_topics, topics=topics)
    assert done["failed"] and done["outcome"] == {
        "done": ["topic a", "topic c"],
        "failed": {"topic b": "Policy says no. (POLICY_VIOLATION)"},
        "not_tried": ["topic old"],
        "unknown": [],
    }
    assert (
        "failed: topic b: Policy says no. (POLICY_VIOLATION). done: topic a, topic c. not tried: topic old"
        in done["msg"]
    )
    cluster.refused = {}
    assert run(kafka_topics, topics=topics)["plan"] == {
        "create": ["b"],
        "update": [],
        "delete": ["old"],
        "unchanged": ["a", "c"],
        "unmanaged": [],
    }
    assert sorted(cluster.topics) == ["a", "b", "c"]


def test_topics_are_pruned_within_their_scope(run: Run, cluster: FakeCluster) -> None:
    cluster.topics = {name: [[1, 2, 3]] for name in ("orders-1", "orders-2", "other", "_schemas")}
    done = run(kafka_topics, prune={"topics": ["*"], "max_deletes": 2})
    assert done["failed"] and "prune: 3 topics would be deleted" in done["msg"] and cluster.written == []
    done = run(kafka_topics, prune={"topics": ["orders-*"], "max_deletes": 2})
    assert (done["plan"]["delete"], sorted(cluster.topics)) == (["orders-1", "orders-2"], ["_schemas", "other"])


def test_users_and_acls_converge(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for a login knows what was written; the password is nowhere in the answer."""
    monkeypatch.setattr(Logins, "work", lambda _, user, password, mechanism: password == "Guoph0Eeshi7")
    asked: dict[str, Any] = {"login": SASL, "users": [{"name": "a", "password": "Guoph0Eeshi7"}], "acls": [READ]}
    done = run(kafka_access, **asked)
    assert done["changes"] == [
        "create user a: + SCRAM-SHA-512: 8192 iterations",
        "create ACL User:a from * may READ topic orders (literal)",
    ]
    assert cluster.written == ["credential a", "grant User:a"] and cluster.scram == {"a": {2: 8192}}
    assert "Guoph0Eeshi7" not in json.dumps(done)
    assert run(kafka_access, **asked)["changed"] is False
    asked["users"] = [{"name": "a", "password": "another one"}]
    (change,) = run(kafka_access, check_mode=True, **asked)["changes"]
    assert change.startswith("update user a: ")


def test_an_absent_user_loses_every_acl(run: Run, cluster: FakeCluster) -> None:
    """Though no entry names them; not where one mechanism alone goes, and not what is declared."""
    declared, other = (2, "orders", 3, "User:a", "*", 3, 3), (2, "t", 3, "User:b", "*", 3, 3)
    cluster.acls = [(2, "t", 3, "User:a", "*", 3, 3), declared, other]
    cluster.scram = {"a": {2: 8192}}
    asked: dict[str, Any] = {"login": {}, "acls": [READ], "super_users": ["User:admin"]}
    part = {"name": "a", "state": "absent", "mechanism": "SCRAM-SHA-256"}
    assert run(kafka_access, **asked, users=[part])["changed"] is False
    done = run(kafka_access, **asked, users=[{"name": "a", "state": "absent"}])
    assert done["plan"]["delete"] == ["User:a from * may READ topic t (literal)", "a"]
    assert cluster.acls == [declared, other]


def test_an_absent_user_loses_every_quota(run: Run, cluster: FakeCluster) -> None:
    """Those with a client id, too; not those that an entry names."""
    values = {"producer_byte_rate": 5.0}
    kept = (("user", "a"), ("client-id", "kept")), (("user", "b"),)
    cluster.quotas = {who: dict(values) for who in [(("user", "a"),), (("user", "a"), ("client-id", "c")), *kept]}
    gone = {"user": "a", "state": "absent", "every_client": True}
    done = run(kafka_quotas, quotas=[gone, {"user": "a", "client_id": "kept", "values": values}])
    assert done["plan"]["delete"] == ["user a", "user a, client id c"]
    assert [who for who, left in cluster.quotas.items() if left] == [*kept]


def test_a_login_leaves_no_topic(cluster: FakeCluster) -> None:
    """Also where brokers make each topic that somebody asks for."""
    with brokers(cluster) as servers:
        assert Logins({"bootstrap.servers": servers}).work("a", "Guoph0Eeshi7", "SCRAM-SHA-512")
    assert (cluster.topics, cluster.written) == ({}, [])


def test_a_password_that_is_refused(cluster: FakeCluster) -> None:
    with brokers(cluster) as servers:
        properties = {"bootstrap.servers": servers, "security.protocol": "SASL_PLAINTEXT"}
        assert not Logins(properties).work("a", "Guoph0Eeshi7", "SCRAM-SHA-512")


def test_acls_of_other_kinds_are_never_pruned(run: Run, cluster: FakeCluster) -> None:
    topic, token = (2, "t", 3, "User:a", "*", 3, 3), (6, "t", 3, "User:a", "*", 3, 3)
    cluster.acls = [topic, token]
    done = run(kafka_access, login={}, prune={"acls": ["User:a"], "max_deletes": 9})
    assert done["plan"]["delete"] == ["User:a from * may READ topic t (literal)"] and cluster.acls == [token]


def test_quotas_converge(run: Run, cluster: FakeCluster) -> None:
    quotas = [
        {"user": "a", "values": {"producer_byte_rate": 5.0}},
        {"user": "", "client_id": "c", "values": {"consumer_byte_rate": 6.0}},
    ]
    assert run(kafka_quotas, check_mode=True, quotas=quotas)["changed"] and cluster.written == []
    assert run(kafka_quotas, quotas=quotas)["plan"]["create"] == ["default user, client id c", "user a"]
    assert cluster.quotas == {
        (("user", "a"),): {"producer_byte_rate": 5.0},
        (("user", None), ("client-id", "c")): {"consumer_byte_rate": 6.0},
    }
    assert run(kafka_quotas, quotas=quotas)["changed"] is False


def test_quotas_are_pruned_within_their_scope(run: Run, cluster: FakeCluster) -> None:
    """Not defaults, nor those of a client id alone, nor what is declared."""
    values = {"producer_byte_rate": 5.0}
    gone = (("user", "old-1"),), (("user", "old-2"), ("client-id", "c"))
    kept = (("user", None),), (("client-id", "old-1"),), (("user", "old-3"),), (("user", "b"),)
    cluster.quotas = {who: dict(values) for who in (*gone, *kept)}
    asked: dict[str, Any] = {"quotas": [{"user": "old-3", "values": values}]}
    done = run(kafka_quotas, **asked, prune={"quotas": ["old-*"], "max_deletes": 1})
    assert "prune: 2 quotas would be deleted (user old-1, user old-2, client id c)" in done["msg"]
    assert cluster.written == []
    done = run(kafka_quotas, **asked, prune={"quotas": ["old-*"], "max_deletes": 2})
    assert done["plan"]["delete"] == ["user old-1", "user old-2, client id c"]
    assert [who for who, left in cluster.quotas.items() if left] == [*kept]


def test_a_quota_that_a_broker_refuses(run: Run, cluster: FakeCluster) -> None:
    """The library looks at no code of an answer."""
    cluster.refused = {"user=a": "no"}
    done = run(kafka_quotas, quotas=[{"user": name, "values": {"producer_byte_rate": 5.0}} for name in "ab"])
    assert done["outcome"]["failed"] == {"quota user a": "no (PolicyViolationError)"}
    assert list(cluster.quotas) == [(("user", "b"),)]


def test_no_controller(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unchanged run needs none; one that would write says so."""
    cluster.topics, cluster.configs = {"orders": [[1, 2, 3]] * 3}, {"orders": {"retention.ms": "604800000"}}
    cluster.controller = -1
    assert run(kafka_topics, topics=[ORDERS])["changed"] is False
    monkeypatch.setattr(admin, "ELECTION", 0.5)
    done = run(kafka_topics, topics=[{"name": "orders", "state": "absent", "allow_delete": True}])
    assert "no controller among the 3 known brokers" in done["msg"] and cluster.written == []
