"""Who has to reach whom: the connections that preflight tries before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..firewall import ECHO
from .base import Model, whole


def peers(model: Model, host: str) -> list[dict[str, Any]]:
    """Return {host, address, port} of everything that a host connects to; nothing need listen there yet."""
    found: dict[tuple[str, int], str] = {}
    if host in model.zookeeper:
        for server in model.zookeeper:
            numbers = {str(number): value for number, value in model.mapping(host, "zookeeper_servers").items()}
            value = numbers.get(str(model.get(server, "zookeeper_id")), [])
            for address in [value] if isinstance(value, str) else value:
                ports = (2888, ECHO) if not isinstance(value, str) and len(value) > 1 else (2888,)
                found |= {(str(address), port): server for port in ports if server != host}
    if host in model.kafka:
        for broker in model.kafka:
            for listener in model.listeners(broker) if broker != host else ():
                port = whole(listener.get("advertised_port") or listener.get("port"))
                if port is not None and listener.get("name") == model.get(host, "kafka_inter_broker_listener"):
                    found[str(listener.get("advertised_address") or listener.get("address")), port] = broker
        found |= _named(model, model.sequence(host, "kafka_zookeeper_connect"), model.zookeeper)
    if host in model.spark:
        found |= _named(model, str(model.mapping(host, "kafka_client").get("bootstrap.servers") or "").split(","), model.kafka)
    return [{"host": name, "address": address, "port": port} for (address, port), name in found.items() if name != host]


def _named(model: Model, entries: Any, hosts: Any) -> Mapping[tuple[str, int], str]:
    """Return the entries `address:port` that belong to these hosts."""
    owners = {str(model.get(host, name)): host for host in hosts for name in ("client_address", "replication_address")}
    parts = [str(entry).strip().rpartition(":") for entry in entries]
    return {(address, int(port)): owners[address] for address, _, port in parts if address in owners and port.isdecimal()}
