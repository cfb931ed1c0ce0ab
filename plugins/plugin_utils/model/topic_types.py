"""Topics of the inventory with their defaults and profiles applied, and where each value is set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.replication import MIN_ISRS, TOPICS, settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.topics import (
    config_of,
    converted,
    mapping,
    profile_of,
    value_of,
)

DEFAULTS = "kafka_topic_defaults"


@dataclass(frozen=True)
class InSyncSetting:
    """Where the number of in-sync replicas of a topic is decided."""

    place: str
    value: Any
    """The value that is set there."""
    setting: str
    """The setting that corrects it."""
    of_profile: bool = False
    """Whether a profile requires a number that depends on the replicas, as `all but one`."""


@dataclass(frozen=True)
class Topic:
    """An entry of kafka_topics, with kafka_topic_defaults and the replication of the cluster."""

    entry: Mapping[str, Any]
    defaults: Mapping[str, Any]
    cluster: tuple[int | None, int | None]
    """Replication factor and min.insync.replicas of a topic that sets neither."""

    @cached_property
    def name(self) -> str:
        """The name of the topic."""
        name = self.entry.get("name")
        return "" if name is None else str(name)

    @cached_property
    def variable(self) -> str:
        """Its place in the inventory."""
        return f"kafka_topics[{self.name}]"

    @cached_property
    def managed(self) -> bool:
        """Whether the playbook creates and changes it; `manage: false` only makes it known."""
        return switch(self.entry.get("manage")) is not False

    @cached_property
    def present(self) -> bool:
        """Whether it is managed and not absent."""
        return self.managed and self.entry.get("state") != "absent"

    def get(self, key: str) -> Any:
        """Return the topic's own value of a key, else the default."""
        return value_of(self.entry, self.defaults, key)

    def place(self, key: str) -> str:
        """Return where a key is set: in the defaults or in the topic; the topic if it is set nowhere."""
        if self.entry.get(key) is None and self.defaults.get(key) is not None:
            return f"{DEFAULTS}.{key}"
        return f"{self.variable}.{key}"

    @cached_property
    def replicas(self) -> int | None:
        """Its replication factor."""
        value = self.get("replication_factor")
        return self.cluster[0] if value is None else whole(value)

    @cached_property
    def written(self) -> dict[str, Any]:
        """Its properties as they are written."""
        return config_of(self.entry, self.defaults)

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its properties, units converted to milliseconds and bytes."""
        return {name: converted(name, value, self.replicas) for name, value in self.written.items()}

    def number(self, name: str) -> int | None:
        """Return a property that is a whole number."""
        return whole(self.config.get(name))

    def property_place(self, name: str) -> str:
        """Return where a property is set; for a property of a profile, where the profile is named."""
        if name in map(str, mapping(self.entry.get("config"))):
            return f"{self.variable}.config[{name}]"
        if self.entry.get("profile") and name in profile_of(self.entry):
            return f"{self.variable}.profile"
        if name in map(str, mapping(self.defaults.get("config"))):
            return f"{DEFAULTS}.config[{name}]"
        return f"{DEFAULTS}.profile"

    def own_place(self, place: str) -> str:
        """Return the place of a mistake of this topic alone: the topic itself if the value is set in the defaults."""
        return place if place.startswith(self.variable) else self.variable

    def own_property(self, name: str, other: str) -> str:
        """Return which of two contradicting properties the topic itself sets; the first if it sets both or neither."""
        own = (self.property_place(key).startswith(self.variable) for key in (name, other))
        return other if tuple(own) == (False, True) else name

    @cached_property
    def least_in_sync(self) -> int | None:
        """Its min.insync.replicas; the brokers' if it sets none."""
        return self.number(MIN_ISRS[0]) if MIN_ISRS[0] in self.config else self.cluster[1]

    @cached_property
    def in_sync_setting(self) -> InSyncSetting:
        """Where it is decided how many replicas have a record.

        That is min.insync.replicas, unless it follows from the replicas, or the topic itself sets the replicas only.
        """
        name = MIN_ISRS[0]
        if name in self.config and self.get("replication_factor") is None and self._in_sync_of_profile():
            place = self.property_place(name)  # the replication factor is the cluster's: no topic sets it
            own = place.startswith(self.variable)
            profile = self.entry.get("profile") if own else self.defaults.get("profile")
            return InSyncSetting(place, profile, f"config[{name}]", of_profile=True)
        if name in self.config and whole(self.written.get(name)) is not None:
            place = self.property_place(name)
            if self.entry.get("replication_factor") is None or place.startswith(self.variable):
                return InSyncSetting(place, self.least_in_sync, name)
        return InSyncSetting(self.place("replication_factor"), self.replicas, name)

    def _in_sync_of_profile(self) -> bool:
        """Tell whether a profile sets min.insync.replicas as a text, not as a number."""
        name = MIN_ISRS[0]
        return self.property_place(name).endswith(".profile") and whole(self.written.get(name)) is None

    @cached_property
    def policy(self) -> set[str]:
        """Its cleanup.policy."""
        value = self.config.get("cleanup.policy", "delete")
        items = value if isinstance(value, (list, tuple)) else str(value).split(",")
        return {str(item).strip() for item in items}


def topics_of(model: Model) -> list[Topic]:
    """Return the topics of the first broker, from which the playbook takes them."""
    if not model.brokers:
        return []
    first = model.brokers[0]
    replication = settings(first)
    cluster = (replication[TOPICS].value, replication[MIN_ISRS[0]].value)
    return [Topic(entry, first.inputs.mapping(DEFAULTS), cluster) for entry in model.cluster_entries("kafka_topics")]


def distinct(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield each problem once: a value in the defaults is reported for every topic that uses it."""
    seen = set()
    for problem in problems:
        key = (problem.variable, problem.code, str(problem.value), str(sorted(problem.details.items())))
        if key not in seen:
            seen.add(key)
            yield problem
