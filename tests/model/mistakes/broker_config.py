"""Wrong inventories: dynamic settings of brokers."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import ALL, Mistake

EVERY = f"{ALL}/kafka_dynamic_config"


def dynamic(name: str, value: Any, **more: Any) -> dict[str, dict[str, Any]]:
    """Return a dynamic setting of all brokers."""
    return {"all": {"kafka_dynamic_config": {name: value}, **more}}


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "BROKER_CONFIG_UNKNOWN",
        f"{EVERY}[num.io.thread]",
        "did you mean num.io.threads",
        variables=dynamic("num.io.thread", 16),
    ),
    Mistake(
        "BROKER_CONFIG_STATIC",
        f"{EVERY}[queued.max.requests]",
        "kafka_config",
        variables=dynamic("queued.max.requests", 900),
    ),
    Mistake(
        "BROKER_CONFIG_VALUE",
        f"{EVERY}[num.io.threads]",
        "default: 8",
        variables=dynamic("num.io.threads", "many"),
    ),
    Mistake(
        "BROKER_CONFIG_SECRET",
        f"{EVERY}[listener.name.client.ssl.keystore.password]",
        "kafka_config",
        variables=dynamic("listener.name.client.ssl.keystore.password", "{{ vault.passwords.lab }}"),
    ),
    Mistake(
        "BROKER_CONFIG_LISTENER",
        f"{EVERY}[listener.name.client.ssl.client.auth]",
        "kafka_listeners",
        variables=dynamic("listener.name.client.ssl.client.auth", "none"),
    ),
    Mistake(
        "BROKER_CONFIG_DANGER",
        f"{EVERY}[max.connections]",
        "set at least 1",
        variables=dynamic("max.connections", 0),
    ),
    Mistake(
        "BROKER_CONFIG_JUDGED",
        f"{EVERY}[min.insync.replicas]",
        "kafka_config",
        variables=dynamic("min.insync.replicas", 1),
    ),
    Mistake(
        "BROKER_CONFIG_THROTTLE",
        f"{EVERY}[leader.replication.throttled.rate]",
        "null to remove",
        variables=dynamic("leader.replication.throttled.rate", "50MiB"),
    ),
    Mistake(
        "BROKER_CONFIG_DIFFERS",
        "dc1-kafka1/kafka_dynamic_config",
        "kafka_dynamic_config_overrides",
        variables={"dc1-kafka1": {"kafka_dynamic_config": {"num.io.threads": 9}}},
    ),
    Mistake(
        "BROKER_CONFIG_SHADOWED",
        f"{EVERY}[num.io.threads]",
        "from kafka_config",
        variables={**dynamic("num.io.threads", 16), "kafka": {"kafka_config": {"num.io.threads": 12}}},
    ),
    Mistake(
        "BROKER_CONFIG_HEAP",
        f"{EVERY}[log.cleaner.threads]",
        "raise kafka_heap",
        variables=dynamic("log.cleaner.threads", 2),
    ),
)
