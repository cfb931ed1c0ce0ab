"""Wrong inventories: broker properties with another effect than intended."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, config

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "LIMIT_MEANT",
        f"{BROKERS}/kafka_config[log.retention.hours]",
        "write -1 if you mean unlimited",
        variables=config("log.retention.hours", -24),
    ),
    Mistake(
        "PROPERTY_LISTENER",
        f"{BROKERS}/kafka_config[listener.name.clients.ssl.client.auth]",
        "did you mean listener.name.client.",
        variables=config("listener.name.clients.ssl.client.auth", "required"),
    ),
    Mistake(
        "TOPICS_UNDECLARED",
        f"{BROKERS}/kafka_config[auto.create.topics.enable]",
        "declare topics",
        variables=config("auto.create.topics.enable", True),
    ),
    Mistake(
        "PROTOCOL_OLD",
        f"{BROKERS}/kafka_config[inter.broker.protocol.version]",
        "once all brokers run",
        variables=config("inter.broker.protocol.version", "3.7"),
    ),
)
