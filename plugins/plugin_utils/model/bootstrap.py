"""Rules on bootstrap.servers wherever somebody writes them: at an address of a broker there is a listener."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

SERVERS = "bootstrap.servers"
# Of brokers: what their tools and their own plugins connect to. kafka_client and the like: clients.py.
OF_BROKERS = ("kafka_client_properties", "kafka_config", "kafka_config_overrides")


class Places:
    """At which addresses brokers of the inventory can be, and at which ports of them somebody listens."""

    def __init__(self, model: Model) -> None:
        """Read all listeners once."""
        self.ports: dict[str, dict[str, str]] = {}
        """By address, or name, the listeners there by their ports."""
        self._brokers: dict[str, dict[str, str]] = {}
        for broker in model.brokers:
            inner = str(broker.inter_broker)
            own = dict.fromkeys([*map(str, broker.addresses), broker.name])
            told: dict[str, str] = {}
            for item in broker.listeners:
                everywhere = str(item.address) in WILDCARDS
                for address in (*own,) if everywhere else (str(item.address), broker.name):
                    self.ports.setdefault(address, {})[str(item.port)] = item.name
                self.ports.setdefault(str(item.advertised_address), {})[str(item.advertised_port)] = item.name
                if item.name != inner or len(broker.listeners) == 1:
                    told.setdefault(item.advertised, item.name)
            for address in own:
                self.ports.setdefault(address, {})
                self._brokers[address] = told

    def nobody(self, entry: str) -> bool:
        """Tell whether address:port is a broker's, and nobody listens there."""
        address, _, port = entry.strip().rpartition(":")
        return address in self._brokers and port not in self.ports[address]

    def right(self, entry: str) -> str:
        """Return where clients find the broker of an address, in words."""
        told = self._brokers[entry.strip().rpartition(":")[0]]
        return " or ".join(f"{place} (listener {name})" for place, name in told.items()) or "address:port of a listener"


def ports(model: Model) -> Iterator[Problem]:
    """Whoever names a broker's address names a port at which it listens."""
    if not model.brokers or any("kafka_listeners" not in broker.inputs.values for broker in model.brokers):
        return  # what is missing is reported as such
    places = Places(model)
    for machine in model.functional:
        site = machine.inputs.mapping("kafka_client").get(SERVERS)
        for place, told in _told(model, machine):
            lost = [entry.strip() for entry in told.split(",") if places.nobody(entry)]
            if lost and told != site:  # else said of kafka_client
                wrong = f"no listener of the broker is at {'this port' if len(lost) == 1 else 'these ports'}"
                advice = f"write {places.right(lost[0])}"
                advice += "" if len(lost) == 1 else ", and so on"
                yield machine.problem(place, "BOOTSTRAP_UNKNOWN", ", ".join(lost), wrong, advice)


def _told(model: Model, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield the servers that a host's jobs, tools and plugins are told of, with their places."""
    if model.is_in("kafka", machine):
        for name in OF_BROKERS:
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
