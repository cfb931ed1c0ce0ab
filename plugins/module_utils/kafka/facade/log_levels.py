"""Reads and sets levels of loggers of running brokers, with kafka-python: confluent-kafka has no such resource."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused

LOGGER = 8
"""Kafka's number of the kind of resource BROKER_LOGGER."""
SET, DELETE = 0, 1
LEVELS = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
"""Levels that Kafka accepts (org.apache.kafka.common.config.LogLevelConfig)."""


def read(admin: Admin, broker: int) -> dict[str, str]:
    """Return {logger: level} of all loggers that a broker has.

    Raises AdminError if the request is rejected or not answered, ImportError without kafka-python.
    """
    kafka_python.load()
    from kafka.protocol.admin import DescribeConfigsRequest as Request

    asked = Request(resources=[(LOGGER, str(broker), None)], include_synonyms=False, include_documentation=False)
    (found,) = kafka_python.of(admin).ask(asked, ASK, broker).results
    if found.error_code:
        raise refused(f"broker {broker}: {kafka_python.error_text(found)}")
    return {entry.name: entry.value for entry in found.configs or []}


def write(admin: Admin, broker: int, logger: str, level: str | None) -> str:
    """Set the level of a logger, or remove it (None); return why the broker rejects that, '' if it accepts it.

    Raises AdminError if the request is rejected as a whole or not answered, ImportError without kafka-python.
    """
    kafka_python.load()
    from kafka.protocol.admin import IncrementalAlterConfigsRequest as Request

    entry = (logger, DELETE if level is None else SET, level)
    asked = Request(resources=[(LOGGER, str(broker), [entry])], validate_only=False)
    (found,) = kafka_python.of(admin).ask(asked, admin.patience, broker).responses
    return kafka_python.error_text(found) if found.error_code else ""


def without_own(loggers: Mapping[str, str], logger: str) -> str:
    """Return the level that a logger has without one of its own: that of the nearest logger above it, or root's.

    `loggers` is a result of `read`.
    """
    parts = logger.split(".")
    above = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((loggers[name] for name in above if name in loggers), loggers.get("root", ""))
