"""The declared model, which every rule reads."""

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
# Keys of groups/*.yml whose entries are checked.
ENTRY_KINDS = ("ports", "mounts", "connects")
AnyMachine = TypeVar("AnyMachine", bound=Machine)


@dataclass(frozen=True)
class Model:
    """The hosts of an inventory, with their variables and groups.

    An input that is not set, or could not be computed, is absent.
    """

    hosts: Mapping[str, Mapping[str, Any]]
    """Role inputs and variables of the site, by host."""
    groups: Mapping[str, Sequence[str]]
    """Members of the function groups."""
    all_groups: Mapping[str, Sequence[str]]
    names: Mapping[str, frozenset[str]]
    """All variables of each host, of this project or not."""
    defaults: Mapping[str, Any]
    """Defaults of role inputs and variables of the site."""
    known: frozenset[str]
    """Every role input and variable of the site."""
    prefixes: frozenset[str]
    """Prefixes of role inputs."""
    mistyped: tuple[Problem, ...] = ()
    """Problems of values that are not of their declared type."""
    function_entries: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Entries of groups/*.yml for each host, by host, kind (one of ENTRY_KINDS) and function."""

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
        """The ZooKeeper servers that vote."""
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
        """The names of the hosts that have a function."""
        return list(dict.fromkeys(host for members in self.groups.values() for host in members))

    def cluster_entries(self, name: str) -> list[Mapping[str, Any]]:
        """Return users or ACLs of the first broker, from which the playbook takes them."""
        return self.brokers[0].inputs.entries(name) if self.brokers else []

    def present(self, name: str) -> list[Mapping[str, Any]]:
        """Return the users or ACLs of the first broker that should exist."""
        return [entry for entry in self.cluster_entries(name) if entry.get("state") != "absent"]

    @cached_property
    def acls(self) -> list[Mapping[str, Any]]:
        """The ACLs that should exist: first those of the users' grants, then kafka_acls."""
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
        """Return the inputs of a kind (functions.INPUTS) of the functions of a host."""
        return [name for function in self.functions_of(machine) for name in getattr(function, kind)]

    def items(self, machine: Machine, kind: str) -> list[tuple[Function, Any]]:
        """Return the entries of a kind (a key of groups/*.yml) of a host's functions, each with its function."""
        entries = self.function_entries.get(machine.name, {}).get(kind, {})
        by_function = [(function, entries.get(function.name)) for function in self.functions_of(machine)]
        return [
            (function, item) for function, items in by_function if isinstance(items, (list, tuple)) for item in items
        ]

    def executables(self, machine: Machine) -> dict[str, str]:
        """Return {path: input} of the Java executables of a host's units.

        The executable of the role java is the first, and the default of the others.
        """
        roles = {role for function in self.functions_of(machine) for role in function.roles}
        executables: dict[str, str] = {}
        for name in [*(["java_executable"] if "java" in roles else []), *self.input_names(machine, "java")]:
            if path := machine.inputs.text(name):
                executables.setdefault(path, name)
        return executables


def datacenters(machines: Sequence[AnyMachine]) -> dict[str, list[AnyMachine]]:
    """Return the hosts by datacenter, without hosts that have none."""
    hosts: dict[str, list[AnyMachine]] = {}
    for machine in machines:
        if machine.datacenter is not None:
            hosts.setdefault(machine.datacenter, []).append(machine)
    return hosts


def names(machines: Iterable[Machine]) -> tuple[str, ...]:
    """Return the names of hosts."""
    return tuple(machine.name for machine in machines)


Rule = Callable[[Model], Iterator[Problem]]
