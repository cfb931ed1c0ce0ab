"""The class Topic: an entry of kafka_topics with defaults and profile applied, and where each value is set."""

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
    """The place in the inventory that decides how many in-sync replicas a topic requires for a write."""

    place: str
    value: Any
    """The value at `place`."""
    setting: str
    """The setting to change to correct the number, as min.insync.replicas."""
    of_profile: bool = False
    """True if a profile sets the number by the replication factor, as "all but one"."""


@dataclass(frozen=True)
class Topic:
    """An entry of kafka_topics, with kafka_topic_defaults and its profile applied."""

    entry: Mapping[str, Any]
    defaults: Mapping[str, Any]
    cluster: tuple[int | None, int | None]
    """(replication factor, min.insync.replicas) of the cluster, for a topic that sets neither."""

    @cached_property
    def name(self) -> str:
        """The name of the topic."""
        name = self.entry.get("name")
        return "" if name is None else str(name)

    @cached_property
    def variable(self) -> str:
        """The topic's place in the inventory for messages, such as kafka_topics[orders]."""
        return f"kafka_topics[{self.name}]"

    @cached_property
    def managed(self) -> bool:
        """False if `manage` is false, i.e. other software creates and changes the topic; else True."""
        return switch(self.entry.get("manage")) is not False

    @cached_property
    def present(self) -> bool:
        """True if this project creates the topic: it is managed, and its state is not absent."""
        return self.managed and self.entry.get("state") != "absent"

    def get(self, key: str) -> Any:
        """Return the value of `key`, such as partitions, from the topic or else from kafka_topic_defaults."""
        return value_of(self.entry, self.defaults, key)

    def place(self, key: str) -> str:
        """Return the place in the inventory that sets `key` (such as partitions): kafka_topic_defaults or the topic.

        If neither sets the key, return the topic's place.
        """
        if self.entry.get(key) is None and self.defaults.get(key) is not None:
            return f"{DEFAULTS}.{key}"
        return f"{self.variable}.{key}"

    @cached_property
    def replicas(self) -> int | None:
        """The replication factor of the topic, or else of the cluster; None if the value is not a whole number."""
        value = self.get("replication_factor")
        return self.cluster[0] if value is None else whole(value)

    @cached_property
    def written(self) -> dict[str, Any]:
        """The topic properties {name: value} as the inventory has them, for example "7d" for a duration."""
        return config_of(self.entry, self.defaults)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The topic properties {name: value}, with durations in milliseconds and sizes in bytes."""
        return {name: converted(name, value, self.replicas) for name, value in self.written.items()}

    def number(self, name: str) -> int | None:
        """Return the topic property `name` as a whole number; None if it is not set or not a whole number."""
        return whole(self.config.get(name))

    def property_place(self, name: str) -> str:
        """Return the place that sets a topic property, such as kafka_topics[orders].config[retention.ms].

        If a profile sets the property, return the place that names the profile.
        """
        if name in map(str, mapping(self.entry.get("config"))):
            return f"{self.variable}.config[{name}]"
        if self.entry.get("profile") and name in profile_of(self.entry):
            return f"{self.variable}.profile"
        if name in map(str, mapping(self.defaults.get("config"))):
            return f"{DEFAULTS}.config[{name}]"
        return f"{DEFAULTS}.profile"

    def own_place(self, place: str) -> str:
        """Return the place to report for a mistake that concerns only this topic.

        Return `place` if it is inside the topic. Otherwise kafka_topic_defaults sets the value: return the topic
        itself.
        """
        return place if place.startswith(self.variable) else self.variable

    def own_property(self, name: str, other: str) -> str:
        """Return which of two contradicting topic properties to report: the property that the topic itself sets.

        Return `name` if the topic sets both or neither.
        """
        own = (self.property_place(key).startswith(self.variable) for key in (name, other))
        return other if tuple(own) == (False, True) else name

    @cached_property
    def least_in_sync(self) -> int | None:
        """The min.insync.replicas of the topic, or of the cluster if the topic sets none."""
        return self.number(MIN_ISRS[0]) if MIN_ISRS[0] in self.config else self.cluster[1]

    @cached_property
    def in_sync_setting(self) -> InSyncSetting:
        """The place in the inventory to correct if the topic requires too many or too few in-sync replicas.

        This is the place of min.insync.replicas, or of the profile or replication factor from which the number follows.
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
        """Tell whether a profile sets min.insync.replicas as a text, as "all but one", instead of a number."""
        name = MIN_ISRS[0]
        return self.property_place(name).endswith(".profile") and whole(self.written.get(name)) is None

    @cached_property
    def policy(self) -> set[str]:
        """The set of policies in cleanup.policy, such as {"compact", "delete"}."""
        value = self.config.get("cleanup.policy", "delete")
        items = value if isinstance(value, (list, tuple)) else str(value).split(",")
        return {str(item).strip() for item in items}


def topics_of(model: Model) -> list[Topic]:
    """Return the entries of kafka_topics as Topic objects.

    The playbook resources.yml reads kafka_topics of the first broker, and so does this function.
    """
    if not model.brokers:
        return []
    first = model.brokers[0]
    replication = settings(first)
    cluster = (replication[TOPICS].value, replication[MIN_ISRS[0]].value)
    return [Topic(entry, first.inputs.mapping(DEFAULTS), cluster) for entry in model.cluster_entries("kafka_topics")]


def distinct(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems without repetitions.

    A wrong value in kafka_topic_defaults is otherwise reported for every topic that uses it.
    """
    seen = set()
    for problem in problems:
        key = (problem.variable, problem.code, str(problem.value), str(sorted(problem.details.items())))
        if key not in seen:
            seen.add(key)
            yield problem
