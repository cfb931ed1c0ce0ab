"""The class Model: the declared hosts with their variables and groups, which every rule reads."""

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

# Keys of functions/*.yml whose entries are checked.
ENTRY_KINDS = ("ports", "mounts", "connects")
AnyMachine = TypeVar("AnyMachine", bound=Machine)


@dataclass(frozen=True)
class Model:
    """The hosts of an inventory, with their variables and groups.

    A variable that is not set, or whose value could not be computed, is missing in `hosts`.
    """

    hosts: Mapping[str, Mapping[str, Any]]
    """{host: {variable: value}} of the variables that this project knows (see `known`)."""
    groups: Mapping[str, Sequence[str]]
    """{function, as kafka: hosts in its group}."""
    all_groups: Mapping[str, Sequence[str]]
    names: Mapping[str, frozenset[str]]
    """{host: names of all its variables}, also of those that this project does not know."""
    defaults: Mapping[str, Any]
    """{variable: default} of the variables that this project knows."""
    known: frozenset[str]
    """Names of all variables that this project knows: inputs of its roles and variables of a site."""
    prefixes: frozenset[str]
    """The prefixes with which role inputs begin, as kafka for kafka_heap."""
    mistyped: tuple[Problem, ...] = ()
    """The problems of values that are not of their declared type."""
    function_entries: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Entries of functions/*.yml for each host, by host, kind (one of ENTRY_KINDS) and function."""

    def _all(self, kind: type[AnyMachine], hosts: Iterable[str]) -> list[AnyMachine]:
        return [
            kind(host, Inputs(self.hosts[host], self.defaults), self.names.get(host, frozenset())) for host in hosts
        ]

    @cached_property
    def machines(self) -> dict[str, Machine]:
        """All hosts of the inventory, as {name: Machine}."""
        return {machine.name: machine for machine in self._all(Machine, self.hosts)}

    @cached_property
    def servers(self) -> list[ZooKeeperServer]:
        """The ZooKeeper servers."""
        return self._all(ZooKeeperServer, self.groups.get("zookeeper", ()))

    @cached_property
    def voters(self) -> list[ZooKeeperServer]:
        """The ZooKeeper servers that vote, i.e. those that are not observers."""
        return [server for server in self.servers if server.votes]

    @cached_property
    def brokers(self) -> list[Broker]:
        """The brokers."""
        return self._all(Broker, self.groups.get("kafka", ()))

    @cached_property
    def spark_nodes(self) -> list[SparkNode]:
        """The hosts of the group spark, which run jobs."""
        return self._all(SparkNode, self.groups.get("spark", ()))

    @cached_property
    def cluster(self) -> list[Machine]:
        """The hosts with a ZooKeeper server or a broker, each host once."""
        names = dict.fromkeys(machine.name for machine in (*self.servers, *self.brokers))
        return [self.machines[name] for name in names]

    @cached_property
    def functional(self) -> list[Machine]:
        """The hosts that are in the group of at least one function (kafka, zookeeper, spark ...)."""
        return [self.machines[name] for name in self.function_hosts]

    @cached_property
    def function_hosts(self) -> list[str]:
        """The names of the hosts that are in the group of at least one function (kafka, zookeeper, spark ...)."""
        return list(dict.fromkeys(host for members in self.groups.values() for host in members))

    def cluster_entries(self, name: str) -> list[Mapping[str, Any]]:
        """Return the list in the variable `name` (kafka_users or kafka_acls) of the first broker.

        The playbook resources.yml reads the variable there, too. The list is empty if there is no broker.
        """
        return self.brokers[0].inputs.entries(name) if self.brokers else []

    def present(self, name: str) -> list[Mapping[str, Any]]:
        """Return the entries of the variable `name` (kafka_users or kafka_acls) whose state is not absent."""
        return [entry for entry in self.cluster_entries(name) if entry.get("state") != "absent"]

    @cached_property
    def acls(self) -> list[Mapping[str, Any]]:
        """The ACLs that should exist: first the ACLs of the grants in kafka_users, then the entries of kafka_acls."""
        entries = [*granted(self.present("kafka_users")), *self.present("kafka_acls")]
        return [entry for entry in entries if entry.get("state") != "absent"]

    @cached_property
    def layout(self) -> str:
        """The variable `layout` of the first host of the cluster; "single" if there is no host."""
        return str(self.cluster[0].inputs.get("layout")) if self.cluster else "single"

    def is_in(self, function: str, machine: Machine) -> bool:
        """Tell whether a host is in the group of a function, such as "kafka"."""
        return machine.name in self.groups.get(function, ())

    def functions_of(self, machine: Machine) -> list[Function]:
        """Return the functions (kafka, zookeeper, spark ...) of a host, i.e. those in whose groups the host is."""
        return [function for function in functions().values() if self.is_in(function.name, machine)]

    def input_names(self, machine: Machine, kind: str) -> list[str]:
        """Return the names of role inputs of one `kind`, for all functions of a host.

        `kind` is an attribute of Function, such as "java" (the inputs that name a Java executable) or "archives".
        """
        return [name for function in self.functions_of(machine) for name in getattr(function, kind)]

    def items(self, machine: Machine, kind: str) -> list[tuple[Function, Any]]:
        """Return [(function, entry)] of a host, for a key `kind` of functions/*.yml: ports, mounts or connects."""
        entries = self.function_entries.get(machine.name, {}).get(kind, {})
        by_function = [(function, entries.get(function.name)) for function in self.functions_of(machine)]
        return [
            (function, item) for function, items in by_function if isinstance(items, (list, tuple)) for item in items
        ]

    def executables(self, machine: Machine) -> dict[str, str]:
        """Return {path: role input that names it} of the Java executables that a host's systemd units start.

        If several inputs name the same path, only the first input is returned; the input of the role java comes first.
        """
        roles = {role for function in self.functions_of(machine) for role in function.roles}
        executables: dict[str, str] = {}
        for name in [*(["java_executable"] if "java" in roles else []), *self.input_names(machine, "java")]:
            if path := machine.inputs.text(name):
                executables.setdefault(path, name)
        return executables


def datacenters(machines: Sequence[AnyMachine]) -> dict[str, list[AnyMachine]]:
    """Return {datacenter: its hosts}; hosts without a datacenter are left out."""
    hosts: dict[str, list[AnyMachine]] = {}
    for machine in machines:
        if machine.datacenter is not None:
            hosts.setdefault(machine.datacenter, []).append(machine)
    return hosts


def names(machines: Iterable[Machine]) -> tuple[str, ...]:
    """Return the names of `machines`, in the same order."""
    return tuple(machine.name for machine in machines)


Rule = Callable[[Model], Iterator[Problem]]
