"""Wrong inventories: names, profiles and properties of topics."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import ALL, Mistake

LAB: tuple[dict[str, Any], ...] = (
    {"name": "streams-plaintext-input", "partitions": 6},
    {"name": "streams-wordcount-output", "partitions": 6},
)
NEW: dict[str, Any] = {"name": "orders", "partitions": 6}
ORDERS = f"{ALL}/kafka_topics[orders]"


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
        "take it out",
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
        "write a number, or one with ms, s, m, h, d",
        variables=config("retention.ms", "7 days"),
    ),
    Mistake(
        "TOPIC_TIME_MEANT",
        f"{ORDERS}.config[retention.ms]",
        "write 7d if seconds were meant",
        variables=config("retention.ms", 604800),
    ),
    Mistake(
        "TOPIC_INDEX_SMALL",
        f"{ORDERS}.config[segment.index.bytes]",
        "leave it out: 10MiB",
        variables=config("segment.index.bytes", "1KiB"),
    ),
    Mistake(
        "TOPIC_POLICY_NONE", f"{ORDERS}.config[cleanup.policy]", "write delete", variables=config("cleanup.policy", "")
    ),
    Mistake(
        "TOPIC_THROTTLED",
        f"{ORDERS}.config[leader.replication.throttled.replicas]",
        "take it out",
        variables=config("leader.replication.throttled.replicas", "*"),
    ),
    Mistake(
        "TOPIC_UNCLEAN",
        f"{ORDERS}.config[unclean.leader.election.enable]",
        "leave it out",
        variables=config("unclean.leader.election.enable", True),
    ),
    Mistake(
        "TOPIC_CONTRADICTION",
        f"{ORDERS}.config[min.compaction.lag.ms]",
        "correct one",
        variables=config("min.compaction.lag.ms", "8d", profile="compacted_state"),
    ),
    Mistake(
        "TOPIC_MESSAGE",
        f"{ORDERS}.config[max.message.bytes]",
        "correct one",
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
)
