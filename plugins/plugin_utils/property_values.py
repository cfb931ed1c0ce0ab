"""Checks the values of Kafka and ZooKeeper properties against their specs in plugins/definitions/generated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret

Spec = Mapping[str, Any]

# Bits of Java's types.
WIDTHS = {"short": 16, "int": 32, "long": 64}
# Protocols of groups. Brokers with ZooKeeper have only the first (KafkaConfig).
CLASSIC, REFUSED = "classic", "consumer"
OF_BROKERS, OF_CLIENTS = "group.coordinator.rebalance.protocols", "group.protocol"


def text_of(value: Any) -> str:
    """Return a value as text in a .properties file: lists joined with commas, booleans as true or false.

    Blanks at the ends are removed: Kafka keeps those of texts, and would not know "zstd ".
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(text_of(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def written(name: str, value: Any) -> str:
    """Return the text of a property's value in a .properties file. A password keeps blanks at its ends."""
    return value if isinstance(value, str) and is_secret(name, value) else text_of(value)


def span(spec: Spec) -> str:
    """Return the range of numbers that `spec` allows as text that begins with a blank, such as " from 1 to 9".

    Returns '' if `spec` has no range.
    """
    low, high = spec.get("min"), spec.get("max")
    if low is None and high is None:
        return ""
    words = (
        f" of at least {low}" if high is None else f" of at most {high}" if low is None else f" from {low} to {high}"
    )
    return words + (f", or {spec['also']}" if "also" in spec else "")


def number_fault(spec: Spec, text: str) -> str | None:
    """Return why `text` is not a number of the type and range that `spec` requires; None if it is."""
    whole = spec["type"] in WIDTHS
    message = f"not a {'whole ' if whole else ''}number{span(spec)}"
    if not re.fullmatch(r"[+-]?[0-9]+" if whole else r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return message
    if whole and len(text) > 400:
        return f"does not fit into {WIDTHS[spec['type']]} bits"
    value = int(text) if whole else float(text)
    if value == spec.get("also", ""):
        return None
    if value < spec.get("min", value) or value > spec.get("max", value):
        return message
    limit = 1 << WIDTHS.get(spec["type"], 4096) - 1
    return f"does not fit into {WIDTHS[spec['type']]} bits" if whole and not -limit <= value < limit else None


def fault(spec: Spec, value: Any) -> str | None:
    """Return, as text, why a property with this `spec` cannot have this value; None if the value is valid."""
    if isinstance(value, Mapping):
        return "a mapping instead of one value"
    text, kind = text_of(value), spec["type"]
    if kind == "boolean":
        return None if text.lower() in ("true", "false") else "neither true nor false"
    if kind in WIDTHS or kind == "double":
        return number_fault(spec, text)
    if spec.get("nonempty") and not text:
        return "empty"
    if "versions" in spec:
        short = ".".join(text.split(".")[: 3 if text.startswith("0.") else 2])  # MetadataVersion.fromVersionString
        return None if short in spec["versions"] else "an unknown version"
    if "choices" not in spec:
        return None
    choices = [choice.lower() for choice in spec["choices"]] if spec.get("ignorecase") else spec["choices"]
    items = [item.strip() for item in text.split(",") if text] if kind == "list" else [text]
    invalid = [item for item in items if (item.lower() if spec.get("ignorecase") else item) not in choices]
    which = f"{', '.join(invalid)}: " if len(items) > 1 else ""
    valid = f"one of {', '.join(spec['choices'])}" if len(choices) > 1 else spec["choices"][0]
    return f"{which}not {valid}" if invalid else None


def with_zookeeper(section: str, name: str, value: Any) -> str | None:
    """Return why a value works only in a cluster with KRaft; None if the value works with ZooKeeper.

    Kafka would reject or ignore such a value. `section` is the kind of process that has the property `name`: broker,
    consumer or client.
    """
    items = [item.strip() for item in text_of(value).split(",")]
    if section == "broker" and name == OF_BROKERS:
        if CLASSIC not in items:
            return f"without {CLASSIC} Kafka would not start"
        if others := [item for item in items if item != CLASSIC]:
            effect = "would not start" if REFUSED in others else "ignores it"
            return f"{', '.join(others)}: only for KRaft, this broker runs with ZooKeeper and {effect}"
    if section in ("consumer", "client") and name == OF_CLIENTS and items[0].lower() != CLASSIC:
        return "only for KRaft: brokers with ZooKeeper do not support this protocol, and the consumer would fail"
    return None
