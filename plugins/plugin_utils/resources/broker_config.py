"""Converts dynamic settings of brokers from the inventory to options of kafka_broker_config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import amount, units_of


def converted(name: str, value: Any) -> Any:
    """Return the value of the broker setting `name`; a value with a unit, such as 7d, becomes ms or bytes."""
    units = units_of(name) or (units_of(".bytes") if name.endswith(("buffer.size", "bytes.per.second")) else {})
    number = amount(value, units)
    return value if number is None else number


def resolved(settings: Mapping[str, Any]) -> dict[str, str | None]:
    """Return {name: text} of dynamic broker settings, as the module kafka_broker_config expects them.

    `settings` is {name: value} as the inventory declares. None, which removes a setting, stays None.
    """
    definitions = Definitions.load("kafka", "")
    result: dict[str, str | None] = {}
    for name, value in settings.items():
        text = None if value is None else text_of(converted(str(name), value))
        if text is not None and (definitions.spec("broker", str(name)) or {}).get("type") == "boolean":
            text = text.lower()
        result[str(name)] = text
    return result
