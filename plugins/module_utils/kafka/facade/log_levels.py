"""Reads and sets levels of loggers of running brokers, with kafka-python: confluent-kafka has no such resource."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused

LOGGER = 8
"""Kafka's number of the kind of resource BROKER_LOGGER."""
SET = 0
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


def write(admin: Admin, broker: int, logger: str, level: str) -> str:
    """Set the level of a logger; return why the broker rejects it, '' if it accepts it.

    Raises AdminError if the request is rejected as a whole or not answered, ImportError without kafka-python.
    """
    kafka_python.load()
    from kafka.protocol.admin import IncrementalAlterConfigsRequest as Request

    asked = Request(resources=[(LOGGER, str(broker), [(logger, SET, level)])], validate_only=False)
    (found,) = kafka_python.of(admin).ask(asked, admin.patience, broker).responses
    return kafka_python.error_text(found) if found.error_code else ""
