"""Wrong inventories: replicas of topics."""

from __future__ import annotations

from model.mistakes.base import ALL, BROKERS, Mistake, kafka
from model.mistakes.topics import NEW, ORDERS, config, topic, topics

LEAST = f"{ORDERS}.config[min.insync.replicas]"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "RESTART_ACCEPTS",
        f"{BROKERS}/kafka_restart_accepts",
        "did you mean streams-plaintext-input?",
        variables=kafka(kafka_restart_accepts=["streams-plaintxt-input"]),
    ),
    Mistake(
        "TOPIC_REPLICATION_TOO_HIGH",
        f"{ORDERS}.replication_factor",
        "use 3 at most",
        variables=topic(replication_factor=4),
    ),
    Mistake("TOPIC_REPLICATION_ONE", f"{ORDERS}.replication_factor", "use 3", variables=topic(replication_factor=1)),
    Mistake("TOPIC_MIN_ISR_TOO_HIGH", LEAST, "use 2", variables=config("min.insync.replicas", 4)),
    Mistake(
        "TOPIC_MIN_ISR_EQUAL",
        f"{ALL}/kafka_topic_defaults.config[min.insync.replicas]",
        "use 2",
        variables=topics(NEW, config={"min.insync.replicas": 3}),
    ),
    Mistake(
        "RESTART_MARGIN",
        f"{BROKERS}/kafka_restart_margin",
        "use 0, or replicate 4 times",
        variables={"kafka": {"kafka_restart_margin": 1}},
    ),
    Mistake("TOPIC_MIN_ISR_ONE", LEAST, "use 2 at least", variables=config("min.insync.replicas", 1)),
    Mistake(
        "TOPIC_RACK_LOSS",
        LEAST,
        "use 2",
        inventory="dc1",
        also=frozenset({"RACK_UNEVEN", "GRANT_TOPIC"}),  # that of the inventory itself, and of its topics, not there
        variables=config("min.insync.replicas", 3, replication_factor=4),
    ),
    Mistake(
        "TOPIC_DATACENTER_LOSS",
        LEAST,
        "use 3 or more",
        inventory="stretch2",
        variables=config("min.insync.replicas", 2, replication_factor=4),
    ),
    Mistake(
        "TOPIC_DATACENTER_STOPS",
        LEAST,
        "use 6",
        inventory="stretch3",
        variables=config("min.insync.replicas", 7, replication_factor=9),
    ),
)
