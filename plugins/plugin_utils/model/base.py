"""The declared model: what every rule reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import (
    Broker,
    Machine,
    SparkNode,
    ZooKeeperServer,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import Inputs
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import granted

# Layouts of one cluster over several datacenters.
STRETCHED = ("stretch2", "stretch2_5", "stretch3")
# What functions say of a host that is judged: keys of groups/*.yml.
SAID = ("ports", "mounts", "connects")
AnyMachine = TypeVar("AnyMachine", bound=Machine)


@dataclass(frozen=True)
class Model:
    """The hosts of an inventory and what each is; an input that is not set, or could not be computed, is absent."""

    hosts: Mapping[str, Mapping[str, Any]]
    """Role inputs and site words per host."""
    groups: Mapping[str, Sequence[str]]
    """Members of the function groups."""
    all_groups: Mapping[str, Sequence[str]]
    names: Mapping[str, frozenset[str]]
    """Every variable that a host has, ours or not."""
    defaults: Mapping[str, Any]
    """Defaults of role inputs and site words."""
    known: frozenset[str]
    """Every role input and site word."""
    prefixes: frozenset[str]
    """What names of role inputs begin with."""
    mistyped: tuple[Problem, ...] = ()
    """Values that are not of the type that is declared."""
    said: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """What functions say of each host: entries by host, kind (one of SAID) and function."""

    def _all(self, kind: type[AnyMachine], hosts: Iterable[str]) -> list[AnyMachine]:
        return [
            kind(host, Inputs(self.hosts[host], self.defaults), self.names.get(host, frozenset())) for host in hosts
        ]

    @cached_property
    def machines(self) -> dict[str, Machine]:
        """All hosts of the inventory, by name."""
        return {machine.name: machine for machine in self._all(Machine, self.hosts)}

    @cached_property
    def servers(self) -> list[ZooKeeperServer]:
        """The ZooKeeper servers."""
        return self._all(ZooKeeperServer, self.groups.get("zookeeper", ()))

    @cached_property
    def voters(self) -> list[ZooKeeperServer]:
        """ZooKeeper servers that vote."""
        return [server for server in self.servers if server.votes]

    @cached_property
    def brokers(self) -> list[Broker]:
        """The brokers."""
        return self._all(Broker, self.groups.get("kafka", ()))

    @cached_property
    def spark_nodes(self) -> list[SparkNode]:
        """The hosts that run jobs."""
        return self._all(SparkNode, self.groups.get("spark", ()))

    @cached_property
    def cluster(self) -> list[Machine]:
        """The hosts of servers and brokers."""
        names = dict.fromkeys(machine.name for machine in (*self.servers, *self.brokers))
        return [self.machines[name] for name in names]

    @cached_property
    def functional(self) -> list[Machine]:
        """The hosts that have a function."""
        return [self.machines[name] for name in self.function_hosts]

    @cached_property
    def function_hosts(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(host for members in self.groups.values() for host in members))

    def told(self, name: str) -> list[Mapping[str, Any]]:
        """Return users or ACLs as the first broker is told: the playbook takes them from there."""
        return self.brokers[0].inputs.entries(name) if self.brokers else []

    def present(self, name: str) -> list[Mapping[str, Any]]:
        """Return those of them that are to be there."""
        return [entry for entry in self.told(name) if entry.get("state") != "absent"]

    @cached_property
    def acls(self) -> list[Mapping[str, Any]]:
        """The ACLs that are to be there: those of what users are granted, then kafka_acls."""
        entries = [*granted(self.present("kafka_users")), *self.present("kafka_acls")]
        return [entry for entry in entries if entry.get("state") != "absent"]

    @cached_property
    def layout(self) -> str:
        """The layout that the first host of the cluster declares."""
        return str(self.cluster[0].inputs.get("layout")) if self.cluster else "single"

    def is_in(self, function: str, machine: Machine) -> bool:
        """Tell whether a host has a function."""
        return machine.name in self.groups.get(function, ())

    def functions_of(self, machine: Machine) -> list[Function]:
        """Return the functions of a host."""
        return [function for function in functions().values() if self.is_in(function.name, machine)]

    def input_names(self, machine: Machine, kind: str) -> list[str]:
        """Return the inputs of a kind (functions.INPUTS) that the functions of a host have."""
        return [name for function in self.functions_of(machine) for name in getattr(function, kind)]

    def items(self, machine: Machine, kind: str) -> list[tuple[Function, Any]]:
        """Return what the functions of a host say of a kind (one of SAID), each entry with its function."""
        said = self.said.get(machine.name, {}).get(kind, {})
        found = [(function, said.get(function.name)) for function in self.functions_of(machine)]
        return [(function, item) for function, items in found if isinstance(items, (list, tuple)) for item in items]

    def executables(self, machine: Machine) -> dict[str, str]:
        """Return the java that the units of a host run, by its path the input that names it.

        The one that the role java sees to comes first, and is the default of the others.
        """
        roles = {role for function in self.functions_of(machine) for role in function.roles}
        found: dict[str, str] = {}
        for name in [*(["java_executable"] if "java" in roles else []), *self.input_names(machine, "java")]:
            if path := machine.inputs.text(name):
                found.setdefault(path, name)
        return found


def datacenters(machines: Sequence[AnyMachine]) -> dict[str, list[AnyMachine]]:
    """Return the hosts by datacenter, those that name none left out."""
    found: dict[str, list[AnyMachine]] = {}
    for machine in machines:
        if machine.datacenter is not None:
            found.setdefault(machine.datacenter, []).append(machine)
    return found


def names(machines: Iterable[Machine]) -> tuple[str, ...]:
    """Return the names of hosts."""
    return tuple(machine.name for machine in machines)


Rule = Callable[[Model], Iterator[Problem]]
