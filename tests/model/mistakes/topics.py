"""Wrong inventories: names, profiles, properties and replicas of topics."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import ALL, BROKERS, Mistake, kafka

LAB: tuple[dict[str, Any], ...] = (
    {"name": "streams-plaintext-input", "partitions": 6},
    {"name": "streams-wordcount-output", "partitions": 6},
)
NEW: dict[str, Any] = {"name": "orders", "partitions": 6}
ORDERS = f"{ALL}/kafka_topics[orders]"
LEAST = f"{ORDERS}.config[min.insync.replicas]"


def topics(*more: dict[str, Any], **defaults: Any) -> dict[str, dict[str, Any]]:
    """Return the lab's topics and more, with defaults."""
    return {"all": {"kafka_topics": [*LAB, *more], "kafka_topic_defaults": defaults}}


def topic(**changes: Any) -> dict[str, dict[str, Any]]:
    """Return the lab's topics and one more."""
    return topics({**NEW, **changes})


def config(name: str, value: Any, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the lab's topics and one more with a property."""
    return topic(config={name: value}, **changes)


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "TOPIC_NAME",
        f"{ALL}/kafka_topics[orders of today].name",
        "correct the name",
        variables=topic(name="orders of today"),
    ),
    Mistake("TOPIC_DUPLICATE", ORDERS, "keep one", variables=topics(NEW, {**NEW, "partitions": 12})),
    Mistake(
        "TOPIC_COLLISION",
        f"{ALL}/kafka_topics[orders_new]",
        "either . or _",
        variables=topics({**NEW, "name": "orders.new"}, {**NEW, "name": "orders_new"}),
    ),
    Mistake(
        "TOPIC_INTERNAL",
        f"{ALL}/kafka_topics[__consumer_offsets]",
        "remove it",
        variables=topic(name="__consumer_offsets"),
    ),
    Mistake("TOPIC_UNDERSCORE", f"{ALL}/kafka_topics[_audit]", "manage: false", variables=topic(name="_audit")),
    Mistake("TOPIC_PARTITIONS", f"{ORDERS}.partitions", "kafka_topic_defaults", variables=topics({"name": "orders"})),
    Mistake("TOPIC_PROFILE", f"{ORDERS}.profile", "mean event_log", variables=topic(profile="event-logs")),
    Mistake(
        "TOPIC_PROPERTY_UNKNOWN",
        f"{ORDERS}.config[retention.minutes]",
        "topicconfigs",
        variables=config("retention.minutes", 60),
    ),
    Mistake(
        "TOPIC_PROPERTY_VALUE",
        f"{ORDERS}.config[retention.ms]",
        "a number with a unit: ms, s, m, h, d",
        variables=config("retention.ms", "7 days"),
    ),
    Mistake(
        "TOPIC_TIME_MEANT",
        f"{ORDERS}.config[retention.ms]",
        "write 7d if you mean seconds",
        variables=config("retention.ms", 604800),
    ),
    Mistake(
        "TOPIC_INDEX_SMALL",
        f"{ORDERS}.config[segment.index.bytes]",
        "default: 10MiB",
        variables=config("segment.index.bytes", "1KiB"),
    ),
    Mistake(
        "TOPIC_POLICY_NONE", f"{ORDERS}.config[cleanup.policy]", "write delete", variables=config("cleanup.policy", "")
    ),
    Mistake(
        "TOPIC_THROTTLED",
        f"{ORDERS}.config[leader.replication.throttled.replicas]",
        "remove it",
        variables=config("leader.replication.throttled.replicas", "*"),
    ),
    Mistake(
        "TOPIC_UNCLEAN",
        f"{ORDERS}.config[unclean.leader.election.enable]",
        "remove it",
        variables=config("unclean.leader.election.enable", True),
    ),
    Mistake(
        "TOPIC_CONTRADICTION",
        f"{ORDERS}.config[min.compaction.lag.ms]",
        "correct this property",
        variables=config("min.compaction.lag.ms", "8d", profile="compacted_state"),
    ),
    Mistake(
        "TOPIC_MESSAGE",
        f"{ORDERS}.config[max.message.bytes]",
        "lower max.message.bytes",
        variables=config("max.message.bytes", "200MiB", profile="large_messages"),
    ),
    Mistake("TOPIC_DELETE", ORDERS, "allow_delete: true", variables=topic(state="absent")),
    Mistake(
        "TOPIC_RETENTION",
        f"{ORDERS}.config[retention.ms]",
        "set segment.ms to 1h",
        variables=config("retention.ms", "1h", profile="event_log"),
    ),
    Mistake(
        "TOPIC_POLICY",
        f"{ORDERS}.config[cleanup.policy]",
        "compacted_state",
        variables=config("cleanup.policy", "compact", profile="event_log"),
    ),
    Mistake(
        "TOPIC_STATE",
        f"{ALL}/kafka_topics[connect-offsets]",
        "cleanup.policy: compact",
        variables=topics({"name": "connect-offsets", "partitions": 25, "profile": "event_log"}),
    ),
    Mistake(
        "RESTART_ACCEPTS",
        f"{BROKERS}/kafka_restart_accepts",
        "did you mean streams-plaintext-input?",
        variables=kafka(kafka_restart_accepts=["streams-plaintxt-input"]),
    ),
    Mistake(
        "TOPIC_REPLICATION_TOO_HIGH",
        f"{ORDERS}.replication_factor",
        "use at most 3",
        variables=topic(replication_factor=4),
    ),
    Mistake("TOPIC_REPLICATION_ONE", f"{ORDERS}.replication_factor", "use 3", variables=topic(replication_factor=1)),
    Mistake("TOPIC_MIN_ISR_TOO_HIGH", LEAST, "insync.replicas to 2", variables=config("min.insync.replicas", 4)),
    Mistake(
        "TOPIC_MIN_ISR_EQUAL",
        f"{ALL}/kafka_topic_defaults.config[min.insync.replicas]",
        "set min.insync.replicas to 2",
        variables=topics(NEW, config={"min.insync.replicas": 3}),
    ),
    Mistake(
        "RESTART_MARGIN",
        f"{BROKERS}/kafka_restart_margin",
        "set 0, or use 4 replicas",
        variables={"kafka": {"kafka_restart_margin": 1}},
    ),
    Mistake("TOPIC_MIN_ISR_ONE", LEAST, "to at least 2", variables=config("min.insync.replicas", 1)),
    Mistake(
        "TOPIC_RACK_LOSS",
        LEAST,
        "set min.insync.replicas to 2",
        inventory="dc1",
        # That of the inventory itself, and of its topics, not there.
        also=frozenset({"RACK_UNEVEN", "GRANT_TOPIC", "JOB_TOPIC"}),
        variables=config("min.insync.replicas", 3, replication_factor=4),
    ),
    Mistake(
        "TOPIC_DATACENTER_LOSS",
        LEAST,
        "to at least 3",
        inventory="stretch2",
        variables=config("min.insync.replicas", 2, replication_factor=4),
    ),
    Mistake(
        "TOPIC_DATACENTER_STOPS",
        LEAST,
        "set min.insync.replicas to 6",
        inventory="stretch3",
        variables=config("min.insync.replicas", 7, replication_factor=9),
    ),
)
