"""Settings of running brokers as an inventory says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import amount, units_of


def in_numbers(name: str, value: Any) -> Any:
    """Return a value with units reckoned, 20MiB as bytes; as it is where it has none."""
    units = units_of(name) or (units_of(".bytes") if name.endswith(("buffer.size", "bytes.per.second")) else {})
    found = amount(value, units)
    return value if found is None else found


def resolved(settings: Mapping[str, Any]) -> dict[str, str | None]:
    """Return settings as kafka_broker_config takes them; null takes one back."""
    definitions = Definitions.load("kafka", "")
    found: dict[str, str | None] = {}
    for name, value in settings.items():
        text = None if value is None else text_of(in_numbers(str(name), value))
        if text is not None and (definitions.spec("broker", str(name)) or {}).get("type") == "boolean":
            text = text.lower()
        found[str(name)] = text
    return found
