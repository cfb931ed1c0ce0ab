"""Wrong inventories: replication."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, config, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "REPLICATION_TOO_HIGH",
        f"{BROKERS}/kafka_replication_factor",
        "use at most 3",
        variables=kafka(kafka_replication_factor=4),
    ),
    Mistake(
        "REPLICATION_ONE",
        f"{BROKERS}/kafka_replication_factor",
        "use 3",
        variables=kafka(kafka_replication_factor=1, kafka_min_insync_replicas=1),
    ),
    Mistake(
        "MIN_ISR_TOO_HIGH",
        f"{BROKERS}/kafka_min_insync_replicas",
        "use 2",
        variables=kafka(kafka_min_insync_replicas=4),
    ),
    Mistake(
        "MIN_ISR_EQUAL", f"{BROKERS}/kafka_min_insync_replicas", "use 2", variables=kafka(kafka_min_insync_replicas=3)
    ),
    Mistake(
        "MIN_ISR_ONE",
        f"{BROKERS}/kafka_min_insync_replicas",
        "at least 2",
        variables=kafka(kafka_min_insync_replicas=1),
    ),
    Mistake(
        "INTERNAL_TOPICS_DIFFER",
        f"{BROKERS}/kafka_config[offsets.topic.replication.factor]",
        "remove offsets.topic.replication.factor",
        variables=config("offsets.topic.replication.factor", 2),
    ),
    Mistake(
        "UNCLEAN_ELECTION",
        f"{BROKERS}/kafka_config[unclean.leader.election.enable]",
        "by hand",
        variables=config("unclean.leader.election.enable", True),
    ),
    Mistake(
        "MIN_ISR_TOO_LOW",
        f"{BROKERS}/kafka_min_insync_replicas",
        "use 3 with a replication factor of 4",
        variables=kafka(kafka_min_insync_replicas=2),
        inventory="lab_stretch2",
    ),
    Mistake(
        "MIN_ISR_STOPS",
        f"{BROKERS}/kafka_min_insync_replicas",
        "use 4",
        inventory="lab_stretch3",
        variables=kafka(kafka_replication_factor=6, kafka_min_insync_replicas=5),
    ),
    Mistake(
        "BROKERS_DIFFER",
        "dc1-kafka2/kafka_zookeeper_chroot",
        "for all brokers",
        variables={"dc1-kafka2": {"kafka_zookeeper_chroot": "/kafka2"}},
    ),
    Mistake(
        "PROMISE_UNKEPT",
        "group all/promise",
        "set kafka_min_insync_replicas to 2",
        hosts={"    layout: stretch2_5\n": "    layout: stretch2_5\n    promise: available\n"},
        inventory="lab_stretch2_5",
    ),
    Mistake(
        "PROPERTY_APART",
        "dc1-kafka1/kafka_config_overrides[log.retention.hours]",
        "for all brokers",
        variables={"dc1-kafka1": {"kafka_config_overrides": {"log.retention.hours": 24}}},
    ),
)
