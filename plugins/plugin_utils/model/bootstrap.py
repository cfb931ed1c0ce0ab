"""Rules on bootstrap.servers in all settings.

Where an entry names the address of a broker, a listener of that broker must be at the entry's port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

SERVERS = "bootstrap.servers"
# Variables of brokers: what their tools and plugins connect to. kafka_client and the like: connect_strings.py.
BROKER_VARIABLES = ("kafka_client_properties", "kafka_config", "kafka_config_overrides")


def uses_another_cluster(model: Model, node: SparkNode, job: Job) -> bool:
    """Tell whether bootstrap.servers of a Spark job are neither those of kafka_client nor a listener of the brokers."""
    client = str(node.inputs.mapping("kafka_client").get(SERVERS))
    servers = str(job.kafka.get(SERVERS) or client)
    own = {listener.advertised for broker in model.brokers for listener in broker.listeners}
    return servers != client and own.isdisjoint(entry.strip() for entry in servers.split(","))


class Endpoints:
    """The addresses of all declared brokers, with the ports on which their listeners accept connections."""

    def __init__(self, model: Model) -> None:
        """Collect the addresses and ports from the listeners of all brokers in the model."""
        self.ports: dict[str, dict[str, str]] = {}
        """By address, or host name, the names of listeners by port."""
        self._brokers: dict[str, dict[str, str]] = {}
        for broker in model.brokers:
            inner = str(broker.inter_broker)
            addresses = dict.fromkeys([*map(str, broker.addresses), broker.name])
            for_clients: dict[str, str] = {}
            for item in broker.listeners:
                everywhere = str(item.address) in WILDCARDS
                for address in (*addresses,) if everywhere else (str(item.address), broker.name):
                    self.ports.setdefault(address, {})[str(item.port)] = item.name
                self.ports.setdefault(str(item.advertised_address), {})[str(item.advertised_port)] = item.name
                if item.name != inner or len(broker.listeners) == 1:
                    for_clients.setdefault(item.advertised, item.name)
            for address in addresses:
                self.ports.setdefault(address, {})
                self._brokers[address] = for_clients

    def is_closed(self, entry: str) -> bool:
        """Tell whether `entry` ("address:port") names a broker by its address, but no port of its listeners."""
        address, _, port = entry.strip().rpartition(":")
        return address in self._brokers and port not in self.ports[address]

    def listeners_of(self, entry: str) -> str:
        """Return a text for a message that lists the client listeners of the broker at the address of `entry`.

        `entry` is "address:port". Raises KeyError if no broker has this address.
        """
        listeners = self._brokers[entry.strip().rpartition(":")[0]]
        texts = (f"{endpoint} (listener {name})" for endpoint, name in listeners.items())
        return " or ".join(texts) or "address:port of a listener"


BOOTSTRAP_UNKNOWN = ProblemKind(
    "BOOTSTRAP_UNKNOWN",
    "no declared broker advertises this address and port",
    "set address:port of a broker's listener",
)
BOOTSTRAP_UNKNOWN_PORT = BOOTSTRAP_UNKNOWN.variant(
    message="the broker has no listener at this port", advice="write {right}"
)
BOOTSTRAP_UNKNOWN_PORTS = BOOTSTRAP_UNKNOWN.variant(
    message="the brokers have no listener at these ports", advice="write {right}, and so on"
)


def ports(model: Model) -> Iterator[Problem]:
    """Yield a problem for each bootstrap.servers with the address of a broker and a port without a listener."""
    if not model.brokers or any("kafka_listeners" not in broker.inputs.values for broker in model.brokers):
        return  # what is missing is reported as such
    endpoints = Endpoints(model)
    for machine in model.functional:
        site = machine.inputs.mapping("kafka_client").get(SERVERS)
        for variable, servers in _servers(model, machine):
            closed = [entry.strip() for entry in servers.split(",") if endpoints.is_closed(entry)]
            if closed and servers != site:  # else reported of kafka_client
                kind = BOOTSTRAP_UNKNOWN_PORT if len(closed) == 1 else BOOTSTRAP_UNKNOWN_PORTS
                yield machine.report(kind, variable, ", ".join(closed), right=endpoints.listeners_of(closed[0]))


def _servers(model: Model, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (variable, bootstrap servers) for the settings of the brokers and of the jobs on this host."""
    if model.is_in("kafka", machine):
        for name in BROKER_VARIABLES:
            yield from _inside(name, machine.inputs.mapping(name))
    for node in (node for node in model.spark_nodes if node.name == machine.name):
        for job in node.jobs:
            yield from _inside(f"{job.variable}.config", job.config)


def _inside(place: str, value: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _inside(f"{place}.{key}", item)
        elif isinstance(item, str) and str(key).endswith(SERVERS):
            yield f"{place}[{key}]", item
