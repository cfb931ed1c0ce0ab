"""Applies profiles and defaults to topics.

Precedence: the topic, its profile, kafka_topic_defaults, the profile that kafka_topic_defaults names.
"""

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
REPLICAS = 3  # if neither the topic, the defaults nor the cluster sets the number
SWITCHES = ("allow_delete", "allow_more_partitions", "allow_data_loss")

Entry = Mapping[str, Any]


@cache
def profiles() -> dict[str, Any]:
    """Return {profile name: {description, cost, config}} of the topic profiles of this project."""
    with FILE.open(encoding="utf-8") as stream:
        found: dict[str, Any] = yaml_load(stream)
    return found


def value_of(topic: Entry, defaults: Entry, name: str) -> Any:
    """Return what a topic sets for the key `name`, or else what kafka_topic_defaults sets; None if neither does."""
    value = topic.get(name)
    return defaults.get(name) if value is None else value


def config_of(topic: Entry, defaults: Entry) -> dict[str, Any]:
    """Return {property: value} of a topic as the inventory declares the values, such as 7d; null values are left out.

    `topic` is an entry of kafka_topics, `defaults` is kafka_topic_defaults. Precedence: the topic's config, its
    profile, the config in the defaults, the profile that the defaults name.
    """
    layers = [profile_of(defaults), mapping(defaults.get("config"))]
    if topic.get("profile"):
        layers.append(profile_of(topic))
    layers.append(mapping(topic.get("config")))
    merged = {str(name): value for layer in layers for name, value in layer.items()}
    return {name: value for name, value in merged.items() if value is not None}


def profile_of(entry: Entry) -> Entry:
    """Return {property: value} of the profile that `entry` (a topic or kafka_topic_defaults) names; {} without one."""
    return mapping(mapping(profiles().get(str(entry.get("profile")))).get("config"))


def mapping(value: Any) -> Entry:
    """Return the value if it is a dict, else {}."""
    return value if isinstance(value, Mapping) else {}


def converted(name: str, value: Any, replicas: int | None) -> Any:
    """Return the value of the topic property `name`; a value with a unit, such as 7d, becomes ms or bytes.

    The value "all but one" of min.insync.replicas becomes `replicas` - 1, at least 1; `replicas` is the topic's
    replication factor.
    """
    if name == MIN_ISR and value == ALL_BUT_ONE:
        return max((replicas or REPLICAS) - 1, 1)
    number = amount(value, units_of(name))
    return value if number is None else number


def as_brokers_report(name: str, value: Any) -> str:
    """Return the value of a topic property as text in the form that brokers report it, to compare the two.

    Lists have no blanks, booleans are lower case, 0.50 becomes 0.5.
    """
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
        return text  # reported by preflight


def resolved(topic: Entry, defaults: Entry, replicas: int) -> dict[str, Any]:
    """Return `topic`, an entry of kafka_topics, in the form that the module kafka_topics expects.

    `defaults` is kafka_topic_defaults; `replicas` is the replication factor if neither the topic nor the defaults set
    it. Raises ValueError if the name or the number of partitions is missing, a profile does not exist, or a switch,
    such as allow_delete, is not a boolean.
    """
    if topic.get("name") in (None, ""):
        raise ValueError("a topic without a name")
    name = str(topic["name"])
    switches = {"manage": _switch(topic, "manage", True), **{key: _switch(topic, key) for key in SWITCHES}}
    present = switches["manage"] and topic.get("state") != "absent"
    for entry in (topic, defaults):
        if entry.get("profile") and str(entry["profile"]) not in profiles():
            known = ", ".join(profiles())
            raise ValueError(f"topic {name}: profile {entry['profile']} does not exist; use one of {known}")
    partitions = value_of(topic, defaults, "partitions")
    if partitions is None and present:
        raise ValueError(f"topic {name}: no number of partitions in the topic or in kafka_topic_defaults")
    factor = int(value_of(topic, defaults, "replication_factor") or replicas)
    config = {key: converted(key, value, factor) for key, value in config_of(topic, defaults).items()}
    return {
        "name": name,
        "partitions": int(partitions or 1),
        "replication_factor": factor,
        "config": {key: as_brokers_report(key, config[key]) for key in sorted(config)},
        "state": topic.get("state") or "present",
        **switches,
    }


def _switch(topic: Entry, name: str, default: bool = False) -> bool:
    try:
        return is_on(topic.get(name), default)
    except ValueError as error:
        raise ValueError(f"topic {topic['name']}: {name} = {topic[name]}: {error}") from error
