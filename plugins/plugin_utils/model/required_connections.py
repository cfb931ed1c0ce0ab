"""Returns the connections between hosts that must be possible; preflight tries them before a run changes anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import QUORUM_PORT, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import ECHO

Places = dict[tuple[str, int], str]


def peers(model: Model, host: str) -> list[dict[str, Any]]:
    """Return [{"host", "address", "port"}]: the connections that processes on `host` make to other hosts.

    Connections are the `connects` of the host's functions in functions/*.yml, the connections between ZooKeeper
    servers, and the connections of a broker to the inter-broker listeners of other brokers.
    """
    places: Places = {}
    for server in model.servers:
        if server.name == host:
            places |= _ensemble(model, server.servers)
    for broker in model.brokers:
        if broker.name == host:
            for other in model.brokers:
                for listener in other.listeners:
                    port = whole(listener.advertised_port)
                    if port is not None and listener.name == str(broker.inter_broker):
                        places[str(listener.advertised_address), port] = other.name
    places |= _named((str(entry) for _, entry in model.items(model.machines[host], "connects")), model.functional)
    return [
        {"host": name, "address": address, "port": port} for (address, port), name in places.items() if name != host
    ]


def _ensemble(model: Model, ensemble: Mapping[int | None, tuple[Any, ...]]) -> Places:
    """Return {(address, port): server} of the quorum ports of ZooKeeper servers.

    A server with several addresses also has the echo port, which its peers probe. `ensemble` is {id: addresses}.
    """
    places: Places = {}
    for server in model.servers:
        addresses = ensemble.get(server.number, ())
        ports = (QUORUM_PORT, ECHO) if len(addresses) > 1 else (QUORUM_PORT,)
        places |= {(str(address), port): server.name for address in addresses for port in ports}
    return places


def _named(entries: Iterable[str], machines: Iterable[Machine]) -> Places:
    """Return {(address, port): host} of those entries "address:port" whose address belongs to one of `machines`."""
    owners = {str(address): machine.name for machine in machines for address in machine.addresses}
    parts = [entry.strip().rpartition(":") for entry in entries]
    return {
        (address, int(port)): owners[address] for address, _, port in parts if address in owners and port.isdecimal()
    }
