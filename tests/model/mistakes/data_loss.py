"""Wrong inventories: settings that can lose records."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, Mistake, config

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "ZOOKEEPER_UNSAFE",
        f"{SERVERS}/zookeeper_config[forceSync]",
        "remove it",
        variables=config("forceSync", "no", "zookeeper"),
    ),
    Mistake(
        "RETENTION_SHORT",
        f"{BROKERS}/kafka_config[log.retention.ms]",
        "raise it",
        variables=config("log.retention.ms", 60000),
    ),
    Mistake(
        "CLEANER_OFF",
        f"{BROKERS}/kafka_config[log.cleaner.enable]",
        "remove it",
        variables=config("log.cleaner.enable", False),
    ),
    Mistake(
        "PURGE_OFF",
        f"{SERVERS}/zookeeper_config[autopurge.purgeInterval]",
        "a number of hours",
        variables=config("autopurge.purgeInterval", 0, "zookeeper"),
    ),
)
