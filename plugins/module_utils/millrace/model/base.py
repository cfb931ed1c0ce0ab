"""The declared model: what every rule reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..problems import Problem

WHOLE_CLUSTER: tuple[str, ...] = ()
# Layouts of one cluster over several datacenters.
STRETCHED = ("stretch2", "stretch2_5", "stretch3")


@dataclass(frozen=True)
class Model:
    """Role inputs and site words per host; a variable that is not set, or could not be computed, is absent."""

    hosts: Mapping[str, Mapping[str, Any]]
    groups: Mapping[str, Sequence[str]]
    """Members of the function groups zookeeper, kafka and spark."""
    all_groups: Mapping[str, Sequence[str]]
    names: Mapping[str, frozenset[str]]
    """Every variable that a host has, ours or not."""
    defaults: Mapping[str, Any]
    """Defaults of role inputs and site words."""
    known: frozenset[str]
    """Every role input and site word."""
    prefixes: frozenset[str]
    """What names of role inputs begin with."""

    def get(self, host: str, name: str) -> Any:
        """Return a variable of a host, else its default, else None."""
        value = self.hosts[host].get(name)
        return self.defaults.get(name) if value is None else value

    def mapping(self, host: str, name: str) -> Mapping[Any, Any]:
        """Return a variable that is a dict; {} where it is not (reported with the role's inputs)."""
        value = self.get(host, name)
        return value if isinstance(value, Mapping) else {}

    def sequence(self, host: str, name: str) -> Sequence[Any]:
        """Return a variable that is a list; [] where it is not (reported with the role's inputs)."""
        value = self.get(host, name)
        return value if isinstance(value, Sequence) and not isinstance(value, str) else []

    def listeners(self, host: str) -> list[Mapping[str, Any]]:
        """Return the listeners of a broker; entries that are none are left out (reported with the role's inputs)."""
        return [item for item in self.sequence(host, "kafka_listeners") if isinstance(item, Mapping)]

    def zookeeper_ports(self, host: str) -> dict[str, int]:
        """Return {input: port} of the ports at which a ZooKeeper server listens for clients."""
        found = {name: self.whole(host, name) for name in ("zookeeper_secure_client_port", "zookeeper_client_port")}
        return {name: port for name, port in found.items() if port}

    def whole(self, host: str, name: str) -> int | None:
        """Return a variable that is a whole number, also one written as text; None where it is not."""
        return whole(self.get(host, name))

    @property
    def zookeeper(self) -> Sequence[str]:
        """The ZooKeeper hosts."""
        return self.groups.get("zookeeper", [])

    @property
    def kafka(self) -> Sequence[str]:
        """The brokers' hosts."""
        return self.groups.get("kafka", [])

    @property
    def spark(self) -> Sequence[str]:
        """The Spark hosts."""
        return self.groups.get("spark", [])

    @cached_property
    def cluster_hosts(self) -> list[str]:
        """ZooKeeper hosts and brokers."""
        return list(dict.fromkeys([*self.zookeeper, *self.kafka]))

    @cached_property
    def function_hosts(self) -> list[str]:
        """Hosts of all function groups."""
        return list(dict.fromkeys(host for members in self.groups.values() for host in members))

    @cached_property
    def layout(self) -> str:
        """The layout that the first cluster host declares."""
        return str(self.get(self.cluster_hosts[0], "layout")) if self.cluster_hosts else "single"

    def production(self, host: str) -> bool:
        """Whether a host is declared to be production."""
        return bool(self.get(host, "site_environment") == "production")

    def observers(self, host: str) -> set[int]:
        """Return the ids that a ZooKeeper host takes for observers."""
        return {number for number in map(whole, self.sequence(host, "zookeeper_observers")) if number is not None}

    @cached_property
    def voters(self) -> list[str]:
        """ZooKeeper hosts that vote."""
        return [host for host in self.zookeeper if self.whole(host, "zookeeper_id") not in self.observers(host)]

    def datacenters(self, hosts: Sequence[str]) -> dict[str, list[str]]:
        """Return {datacenter: hosts}, hosts that name none left out."""
        found: dict[str, list[str]] = {}
        for host in hosts:
            if self.get(host, "datacenter") is not None:
                found.setdefault(str(self.get(host, "datacenter")), []).append(host)
        return found


Rule = Callable[[Model], Iterator[Problem]]


def whole(value: Any) -> int | None:
    """Return a whole number, also one written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    try:
        return int(str(value))
    except ValueError:
        return None


def holders(pairs: Iterator[tuple[Any, str]]) -> dict[Any, list[str]]:
    """Return {value: places} of the values that are at more than one place."""
    found: dict[Any, list[str]] = {}
    for value, place in pairs:
        found.setdefault(value, []).append(place)
    return {value: places for value, places in found.items() if len(places) > 1}
