"""Wrong inventories: properties of brokers without what they need."""

from __future__ import annotations

from model.mistakes.base import BROKERS, THERE, Mistake, config, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "CLASS_MISSING",
        f"{BROKERS}/kafka_config[metric.reporters]",
        "to kafka_class_path",
        variables=config("metric.reporters", "com.example.kafka.Reporter"),
    ),
    Mistake(
        "AUTHORIZER_KRAFT",
        f"{BROKERS}/kafka_config[authorizer.class.name]",
        "remove this key",
        variables=config("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ),
    Mistake(
        "REMOTE_STORAGE",
        f"{BROKERS}/kafka_config[remote.log.storage.system.enable]",
        "to a class",
        variables=config("remote.log.storage.system.enable", True),
    ),
    Mistake(
        "TOPIC_KEPT",
        f"{BROKERS}/kafka_config[delete.topic.enable]",
        "remove delete.topic.enable",
        variables={
            **kafka(kafka_config={"delete.topic.enable": False}),
            "all": {"kafka_topics": [{"name": "old", "state": "absent", "allow_delete": True}, *THERE]},
        },
    ),
    Mistake(
        "CLEANER_BUFFER",
        f"{BROKERS}/kafka_config[log.cleaner.dedupe.buffer.size]",
        "raise kafka_heap",
        variables=config("log.cleaner.dedupe.buffer.size", 1_610_612_736),
    ),
)
