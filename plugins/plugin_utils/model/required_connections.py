"""Returns the connections between hosts, which preflight tries before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import QUORUM_PORT, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import ECHO

Places = dict[tuple[str, int], str]


def peers(model: Model, host: str) -> list[dict[str, Any]]:
    """Return {host, address, port} of all connections of a host; no process has to listen there yet.

    They are those of its functions (`connects`) and two more: servers probe the addresses of their peers, and brokers
    connect to the advertised address of the listener for brokers.
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
    """Return the quorum ports of the servers, and the echo port at each address of a server with several."""
    places: Places = {}
    for server in model.servers:
        addresses = ensemble.get(server.number, ())
        ports = (QUORUM_PORT, ECHO) if len(addresses) > 1 else (QUORUM_PORT,)
        places |= {(str(address), port): server.name for address in addresses for port in ports}
    return places


def _named(entries: Iterable[str], machines: Iterable[Machine]) -> Places:
    """Return the entries `address:port` whose address belongs to one of these hosts."""
    owners = {str(address): machine.name for machine in machines for address in machine.addresses}
    parts = [entry.strip().rpartition(":") for entry in entries]
    return {
        (address, int(port)): owners[address] for address, _, port in parts if address in owners and port.isdecimal()
    }
