"""Topics: profiles and defaults laid below what each says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import amount, units_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import is_on

FILE = Path(__file__).resolve().parents[2] / "definitions" / "topic_profiles.yml"
MIN_ISR, ALL_BUT_ONE = "min.insync.replicas", "all but one"
REPLICAS = 3  # where neither a topic, the defaults nor the cluster says how many
SWITCHES = ("allow_delete", "allow_more_partitions", "allow_data_loss")

Said = Mapping[str, Any]


@cache
def profiles() -> dict[str, Any]:
    """Return the profiles: {name: {description, cost, config}}."""
    with FILE.open(encoding="utf-8") as stream:
        found: dict[str, Any] = yaml_load(stream)
    return found


def value_of(topic: Said, defaults: Said, name: str) -> Any:
    """Return what a topic says, else what the defaults say."""
    value = topic.get(name)
    return defaults.get(name) if value is None else value


def config_of(topic: Said, defaults: Said) -> dict[str, Any]:
    """Return the properties of a topic as they are written, without those that are null.

    The topic's own go before its profile's, those before the defaults' own, those before the profile of the defaults.
    """
    layers = [profile_of(defaults), mapping(defaults.get("config"))]
    if topic.get("profile"):
        layers.append(profile_of(topic))
    layers.append(mapping(topic.get("config")))
    merged = {str(name): value for layer in layers for name, value in layer.items()}
    return {name: value for name, value in merged.items() if value is not None}


def profile_of(said: Said) -> Said:
    """Return the properties of the profile that is named; none where there is no such profile."""
    return mapping(mapping(profiles().get(str(said.get("profile")))).get("config"))


def mapping(value: Any) -> Said:
    """Return a dict; an empty one for what is none."""
    return value if isinstance(value, Mapping) else {}


def in_numbers(name: str, value: Any, replicas: int | None) -> Any:
    """Return the value of a property with units reckoned; as it is where it has none."""
    if name == MIN_ISR and value == ALL_BUT_ONE:
        return max((replicas or REPLICAS) - 1, 1)
    found = amount(value, units_of(name))
    return value if found is None else found


def as_kafka_says(name: str, value: Any) -> str:
    """Return a value as the broker answers it, whatever way it is written: lists without blanks, 0.50 as 0.5."""
    kind = (Definitions.load("kafka", "").spec("topic", name) or {}).get("type", "string")
    text = text_of(value)
    if kind == "boolean":
        return text.lower()
    if kind == "list":
        return ",".join(item.strip() for item in text.split(","))
    try:
        if kind in ("short", "int", "long"):
            return str(int(text))
        return str(float(text)) if kind == "double" else text
    except ValueError:
        return text  # said by preflight


def resolved(topic: Said, defaults: Said, replicas: int) -> dict[str, Any]:
    """Return a topic as the module kafka_topics takes it. Raises ValueError, whose text says what is wrong with it."""
    if topic.get("name") in (None, ""):
        raise ValueError("a topic without a name")
    name = str(topic["name"])
    switches = {"manage": _switch(topic, "manage", True), **{one: _switch(topic, one) for one in SWITCHES}}
    kept = switches["manage"] and topic.get("state") != "absent"
    for said in (topic, defaults):
        if said.get("profile") and str(said["profile"]) not in profiles():
            raise ValueError(f"topic {name}: no profile {said['profile']}; there are {', '.join(profiles())}")
    partitions = value_of(topic, defaults, "partitions")
    if partitions is None and kept:
        raise ValueError(f"topic {name}: no number of partitions, of its own or in kafka_topic_defaults")
    factor = int(value_of(topic, defaults, "replication_factor") or replicas)
    config = {one: in_numbers(one, value, factor) for one, value in config_of(topic, defaults).items()}
    return {
        "name": name,
        "partitions": int(partitions or 1),
        "replication_factor": factor,
        "config": {one: as_kafka_says(one, config[one]) for one in sorted(config)},
        "state": topic.get("state") or "present",
        **switches,
    }


def _switch(topic: Said, name: str, default: bool = False) -> bool:
    try:
        return is_on(topic.get(name), default)
    except ValueError as error:
        raise ValueError(f"topic {topic['name']}: {name} = {topic[name]}: {error}") from error
