"""Who has to reach whom: the connections that preflight tries before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import QUORUM_PORT, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import ECHO

Places = dict[tuple[str, int], str]


def peers(model: Model, host: str) -> list[dict[str, Any]]:
    """Return {host, address, port} of everything that a host connects to; nothing need listen there yet.

    That is what its functions say (`connects`), and two rules: servers ask besides whether an address is alive, and
    brokers connect to the one listener that is for them, at what they advertise.
    """
    found: Places = {}
    for server in model.servers:
        if server.name == host:
            found |= _ensemble(model, server.servers)
    for broker in model.brokers:
        if broker.name == host:
            for other in model.brokers:
                for listener in other.listeners:
                    port = whole(listener.advertised_port)
                    if port is not None and listener.name == str(broker.inter_broker):
                        found[str(listener.advertised_address), port] = other.name
    found |= _named((str(entry) for _, entry in model.items(model.machines[host], "connects")), model.functional)
    return [{"host": name, "address": address, "port": port} for (address, port), name in found.items() if name != host]


def _ensemble(model: Model, told: Mapping[int | None, tuple[Any, ...]]) -> Places:
    """Return the quorum ports of the servers; one with several addresses is asked at each whether it is alive."""
    found: Places = {}
    for server in model.servers:
        addresses = told.get(server.number, ())
        ports = (QUORUM_PORT, ECHO) if len(addresses) > 1 else (QUORUM_PORT,)
        found |= {(str(address), port): server.name for address in addresses for port in ports}
    return found


def _named(entries: Iterable[str], machines: Iterable[Machine]) -> Places:
    """Return the entries `address:port` that belong to these hosts."""
    owners = {str(address): machine.name for machine in machines for address in machine.addresses}
    parts = [entry.strip().rpartition(":") for entry in entries]
    return {
        (address, int(port)): owners[address] for address, _, port in parts if address in owners and port.isdecimal()
    }
