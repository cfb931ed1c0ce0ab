"""Check that each mistake in topics, users and quotas is reported once, and that valid entries are not reported."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, Row, batched, differ, judge, variables
from model.mistakes.access import NEW, acl, users
from model.mistakes.base import LAB, kafka, spoil, zookeeper
from model.mistakes.broker_config import dynamic
from model.mistakes.grants import granted
from model.mistakes.quotas import prune, quotas
from model.mistakes.topics import NEW as TOPIC
from model.mistakes.topics import config, topic, topics
from model.said import check

ABSENT: dict[str, Any] = {"name": "orders", "state": "absent"}
ALTER: dict[str, Any] = {
    "principal": "User:admin",
    "operations": ["ALTER"],
    "resource": "cluster",
    "name": "",
}


def locked_out(**changes: Any) -> dict[str, dict[str, Any]]:
    """Return an admin that is no super user, and may alter the cluster by an ACL."""
    known = users({"name": "admin", "credential": False})["all"]
    return {
        "all": {**known, **acl(**{**ALTER, **changes})["all"]},
        **kafka(kafka_super_users=["User:kafka-broker"]),
    }


WRONG: list[tuple[dict[str, dict[str, Any]], list[str]]] = [
    # Switches that are texts
    (topic(manage="no", name="_schemas"), []),
    (topic(state="absent", allow_delete="no"), ["TOPIC_DELETE group all/kafka_topics[orders]"]),
    (topic(state="absent", allow_delete="yes"), []),
    (users({"name": "orders", "credential": "false"}), []),
    (users({**NEW, "credential": "off"}), ["USER_CREDENTIAL group all/kafka_users[orders].password"]),
    # Users
    (users({"name": "kafka-broker", "state": "absent"}), ["USER_NEEDED group all/kafka_users[kafka-broker].state"]),
    (users(ABSENT, NEW), ["USER_DUPLICATE group all/kafka_users[orders]"]),
    (users(NEW, {**ABSENT, "mechanism": "SCRAM-SHA-256"}), []),
    (users({**NEW, "name": "or\nders"}), ["USER_NAME group all/kafka_users[3].name"]),
    (users({**NEW, "name": "orders*"}), ["USER_PREFIX group all/kafka_users[orders*].name"]),
    (users({**NEW, "verify": "generation"}), []),
    (users({**NEW, "verify": "generation", "generation": 1023}), []),
    (users({**NEW, "verify": "generation", "generation": 8193}), ["USER_GENERATION group all/kafka_users[orders]"]),
    (users({**NEW, "generation": 2}), ["USER_GENERATION group all/kafka_users[orders].generation"]),
    # Grants
    (granted({"produce": ["b\u00fccher"]}), ["ACL_TOPIC group all/kafka_users[orders].grants[produce].produce"]),
    (granted({"produce": ["x" * 300]}), ["ACL_TOPIC group all/kafka_users[orders].grants[produce].produce"]),
    (granted({"produce": [" "]}), ["GRANT_STAR group all/kafka_users[orders].grants[produce].produce"]),
    (
        granted({"exporter": True, "canary": "streams-*"}),
        ["GRANT_STAR group all/kafka_users[orders].grants[exporter].canary"],
    ),
    (granted({"exporter": True, "canary": "*"}), ["GRANT_STAR group all/kafka_users[orders].grants[exporter].canary"]),
    (granted({"exporter": True, "canary": "streams-plaintext-input"}), []),
    (granted({"streams": "word count"}), ["ACL_TOPIC group all/kafka_users[orders].grants[streams].streams"]),
    (
        granted({"consume": ["streams-plaintext-input"], "group": "  "}),
        ["GRANT_STAR group all/kafka_users[orders].grants[consume].group"],
    ),
    # ACLs
    (acl(name="  ", resource="group"), ["ACL_NAME group all/kafka_acls[User:lab].name"]),
    (
        acl(resource="cluster", operations=["DESCRIBE"], name="", pattern="prefixed"),
        ["ACL_NAME group all/kafka_acls[User:lab].pattern"],
    ),
    (acl(resource="cluster", operations=["DESCRIBE"]), ["ACL_NAME group all/kafka_acls[User:lab].name"]),
    (acl(resource="cluster", operations=["DESCRIBE"], name="kafka-cluster"), []),
    (
        {
            "all": {
                **granted({"produce": ["streams-plaintext-input"]})["all"],
                **acl(principal="User:orders", operations=["WRITE"], state="absent")["all"],
            }
        },
        ["ACL_CONTRADICTION group all/kafka_acls[User:orders]"],
    ),
    (
        {
            "all": {
                **granted({"produce": ["streams-plaintext-input"]})["all"],
                **acl(principal="User:orders", operations=["WRITE"])["all"],
            }
        },
        [],
    ),
    (locked_out(host="198.18.1.250"), ["ADMIN_LOCKED_OUT group kafka/kafka_super_users"]),
    (locked_out(), []),
    # Nothing at all
    ({"all": dict.fromkeys(("kafka_acls", "kafka_quotas", "kafka_topic_defaults", "kafka_prune"))}, []),
    # One mistake is reported once, where it is made
    (kafka(kafka_super_users=["User:admin"]), ["PRINCIPAL_NOT_SUPER group kafka/kafka_super_users"]),
    # Topics: a mistake that follows from the number of replicas is reported there
    (
        topics({**TOPIC, "replication_factor": 2}, profile="event_log"),
        ["TOPIC_MIN_ISR_ONE group all/kafka_topics[orders].replication_factor"],
    ),
    (
        topics({**TOPIC, "replication_factor": 2}, config={"min.insync.replicas": 2}),
        ["TOPIC_MIN_ISR_EQUAL group all/kafka_topics[orders].replication_factor"],
    ),
    (topic(replication_factor=2), ["TOPIC_MIN_ISR_EQUAL group all/kafka_topics[orders].replication_factor"]),
    (
        {**config("min.insync.replicas", 1, allow_data_loss=True), **kafka(kafka_restart_margin=1)},
        ["RESTART_MARGIN group kafka/kafka_restart_margin", "TOPIC_MIN_ISR_ONE group all/kafka_topics[orders].con"],
    ),
    (kafka(kafka_restart_margin=1, kafka_restart_accepts=["*"]), []),
    (topic(name=None), ["TOPIC_NAME group all/kafka_topics[].name"]),
    (config("cleanup.policy", ""), ["TOPIC_POLICY_NONE group all/kafka_topics[orders].config[cleanup.policy]"]),
    (config("cleanup.policy", []), ["TOPIC_POLICY_NONE group all/kafka_topics[orders].config[cleanup.policy]"]),
    (
        config("cleanup.policy", "delete,delete"),
        ["TOPIC_POLICY_NONE group all/kafka_topics[orders].config[cleanup.policy]"],
    ),
    (config("cleanup.policy", ["compact", "delete"]), []),
    (topic(config={1: 2}), ["TOPIC_PROPERTY_UNKNOWN group all/kafka_topics[orders].config[1]"]),
    (topics(config={1: 2}), ["TOPIC_PROPERTY_UNKNOWN group all/kafka_topic_defaults.config[1]"]),
    (topic(partitions=10_001), ["TOPIC_PARTITIONS group all/kafka_topics[orders].partitions"]),
    (topic(partitions=10_000), []),
    (topic(partitions="9" * 5000), ["INPUT_REFUSED group all/kafka_topics[orders].partitions"]),
    (
        config("retention.ms", "9" * 5000),
        ["TOPIC_PROPERTY_VALUE group all/kafka_topics[orders].config[retention.ms]"],
    ),
    # Quotas, and what is pruned
    (
        users(quotas={"producer_byte_rate": "9" * 400 + "GiB"}),
        ["QUOTA_VALUE group all/kafka_users[lab].quotas.producer_byte_rate"],
    ),
    (quotas({"user": "lab", "request_percentage": "1e999"}), ["QUOTA_VALUE group all/kafka_quotas[lab]"]),
    (quotas({"user": "lab", "request_percentage": "5_0"}), ["QUOTA_VALUE group all/kafka_quotas[lab]"]),
    (quotas({"user": "lab", "controller_mutation_rate": "\u0665"}), ["QUOTA_VALUE group all/kafka_quotas[lab]"]),
    (quotas({"user": "lab", "request_percentage": " 50.5 "}), []),
    (
        {"all": {"kafka_topics": [], **prune(topics=["orders-*"], max_deletes=20)["all"]}},
        ["PRUNE_SCOPE group all/kafka_prune.topics"],
    ),
    # Dynamic settings: the file, the heap and the settings of each broker count, and those of all brokers
    (dynamic("num.io.threads", 16), []),
    (dynamic("no.such.name", None), []),
    (dynamic("leader.replication.throttled.rate", None), []),
    (
        dynamic("log.retention.ms", None),
        ["BROKER_CONFIG_JUDGED group all/kafka_dynamic_config[log.retention.ms]"],
    ),
    (
        {"dc1-kafka3": {"kafka_dynamic_config_overrides": {"min.insync.replicas": None}}},
        ["BROKER_CONFIG_JUDGED dc1-kafka3/kafka_dynamic_config_overrides[min.insync.replicas]"],
    ),
    (dynamic("listener.name.client.max.connections", 100), []),
    (dynamic("log.segment.bytes", "1GiB"), []),
    (
        {**dynamic("num.io.threads", 16), "dc1-kafka2": {"kafka_config_overrides": {"num.io.threads": 12}}},
        ["BROKER_CONFIG_SHADOWED group all/kafka_dynamic_config[num.io.threads]"],
    ),
    (
        {
            **dynamic("num.io.threads", 16),
            "dc1-kafka2": {
                "kafka_config_overrides": {"num.io.threads": 12},
                "kafka_dynamic_config_overrides": {"num.io.threads": 12},
            },
        },
        [],
    ),
    (
        {"dc1-kafka3": {"kafka_dynamic_config_overrides": {"num.io.threads": "many"}}},
        ["BROKER_CONFIG_VALUE dc1-kafka3/kafka_dynamic_config_overrides[num.io.threads]"],
    ),
    ({**dynamic("log.cleaner.threads", 2), **kafka(kafka_heap="1g")}, []),
    (
        {**dynamic("message.max.bytes", "2MiB"), **kafka(kafka_heap="1g"), "dc1-kafka1": {"kafka_heap": "200m"}},
        ["BROKER_CONFIG_HEAP group all/kafka_dynamic_config[message.max.bytes]"],
    ),
    (
        {
            **dynamic("log.cleaner.dedupe.buffer.size", "16MiB"),
            "kafka": {"kafka_config_overrides": {"log.cleaner.dedupe.buffer.size": 16 * 2**20}},
        },
        [],
    ),
    # Times
    (kafka(kafka_stop_timeout="infinity"), ["INPUT_REFUSED group kafka/kafka_stop_timeout"]),
    (kafka(kafka_stop_timeout=0), ["TIMEOUT_NONE group kafka/kafka_stop_timeout"]),
    (zookeeper(zookeeper_restart_timeout=-1), ["TIMEOUT_NONE group zookeeper/zookeeper_restart_timeout"]),
]


@pytest.mark.parametrize("batches", batched(WRONG))
def test_reported_mistakes(batches: Batches, tmp_path: Path) -> None:
    judge(batches, reported, tmp_path)


def reported(rows: Sequence[Row], folder: Path) -> None:
    """Compare all lines of the lab, up to the value, with the lines that the rows expect."""
    lines = check(spoil(folder / "inventory", replace(LAB, variables=variables(rows))))[1]
    found = [text.partition(" = ")[0].partition(": ")[0] for text in lines]
    assert differ(found, [begin for _, wanted in rows for begin in wanted]) == [], lines
