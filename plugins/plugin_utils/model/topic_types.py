"""The declared topics as objects: what each comes to, and where it says so."""

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
    in_numbers,
    mapping,
    profile_of,
    said_of,
)

DEFAULTS = "kafka_topic_defaults"


@dataclass(frozen=True)
class Topic:
    """An entry of kafka_topics, with the defaults and what the brokers say of replication."""

    said: Mapping[str, Any]
    defaults: Mapping[str, Any]
    cluster: tuple[int | None, int | None]
    """Replicas and min.insync.replicas where nobody says them of a topic."""

    @cached_property
    def name(self) -> str:
        """Its name."""
        found = self.said.get("name")
        return "" if found is None else str(found)

    @cached_property
    def variable(self) -> str:
        """Its place in the inventory."""
        return f"kafka_topics[{self.name}]"

    @cached_property
    def managed(self) -> bool:
        """Whether it is more than known."""
        return switch(self.said.get("manage")) is not False

    @cached_property
    def made(self) -> bool:
        """Whether it is to be there, as declared."""
        return self.managed and self.said.get("state") != "absent"

    def get(self, key: str) -> Any:
        """Return what it says, else what the defaults say."""
        return said_of(self.said, self.defaults, key)

    def place(self, key: str) -> str:
        """Return where a key of it is said, itself where nobody says it."""
        if self.said.get(key) is None and self.defaults.get(key) is not None:
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
        return config_of(self.said, self.defaults)

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its properties, units reckoned."""
        return {name: in_numbers(name, value, self.replicas) for name, value in self.written.items()}

    def number(self, name: str) -> int | None:
        """Return a property that is a whole number."""
        return whole(self.config.get(name))

    def property_place(self, name: str) -> str:
        """Return where one of its properties is said: a profile's where the profile is named."""
        if name in map(str, mapping(self.said.get("config"))):
            return f"{self.variable}.config[{name}]"
        if self.said.get("profile") and name in profile_of(self.said):
            return f"{self.variable}.profile"
        if name in map(str, mapping(self.defaults.get("config"))):
            return f"{DEFAULTS}.config[{name}]"
        return f"{DEFAULTS}.profile"

    def own(self, place: str) -> str:
        """Return the place of a mistake of this topic alone: itself where it is said of all topics."""
        return place if place.startswith(self.variable) else self.variable

    def own_of(self, name: str, other: str) -> str:
        """Return which of two properties that disagree it says itself, the first where it says both or neither."""
        own = (self.property_place(one).startswith(self.variable) for one in (name, other))
        return other if tuple(own) == (False, True) else name

    @cached_property
    def least_in_sync(self) -> int | None:
        """min.insync.replicas, the brokers' where it says none."""
        return self.number(MIN_ISRS[0]) if MIN_ISRS[0] in self.config else self.cluster[1]

    @cached_property
    def policy(self) -> set[str]:
        """cleanup.policy."""
        value = self.config.get("cleanup.policy", "delete")
        items = value if isinstance(value, (list, tuple)) else str(value).split(",")
        return {str(item).strip() for item in items}


def topics_of(model: Model) -> list[Topic]:
    """Return the topics as the first broker is told."""
    if not model.brokers:
        return []
    first = model.brokers[0]
    found = settings(first)
    cluster = (found[TOPICS].value, found[MIN_ISRS[0]].value)
    return [Topic(entry, first.inputs.mapping(DEFAULTS), cluster) for entry in model.told("kafka_topics")]


def once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield each problem once: what the defaults say is said of every topic that takes it."""
    seen = set()
    for problem in problems:
        key = (problem.variable, problem.code, str(problem.value), problem.message)
        if key not in seen:
            seen.add(key)
            yield problem
