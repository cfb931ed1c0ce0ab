"""Filters that wiring and templates need."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace import firewall
from millrace.archives import ArchiveError, expected


def archive_digest(checksum: str) -> str:
    """Return the SHA-512 (hexadecimal) that a checksum variable stands for, reading a .sha512 file where it names one."""
    try:
        return expected(checksum)
    except ArchiveError as error:
        raise AnsibleFilterError(str(error)) from error


def properties(settings: Mapping[str, Any]) -> list[str]:
    """Return the lines `key=value` of a properties file, sorted; lists joined with commas, null keys left out."""
    return [f"{key}={property_value(value)}" for key, value in sorted(settings.items()) if value is not None]


def property_value(value: Any) -> str:
    """Return one value as Kafka and ZooKeeper write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(property_value(item) for item in value)
    return str(value)


def address_book(names: Sequence[str], client: Sequence[str], replication: Sequence[str]) -> list[dict[str, Any]]:
    """Return `{address, names}` for every address of every host; a host without an address in a network passes ''."""
    book = []
    for name, first, second in zip(names, client, replication, strict=True):
        if first:
            book.append({"address": first, "names": [name, f"{name}.client"]})
        if second:
            book.append({"address": second, "names": [f"{name}.replication"]})
    return book


def zookeeper_ensemble_lines(
    servers: Mapping[Any, Any], groups: Mapping[Any, Sequence[Any]], weights: Mapping[Any, Any], observers: Sequence[Any]
) -> dict[str, str]:
    """Return the keys server.N, group.N and weight.N of zoo.cfg; several addresses of a server are joined as ZooKeeper wants it."""
    lines = {}
    for number, addresses in servers.items():
        role = ":observer" if number in observers else ""
        several = [addresses] if isinstance(addresses, str) else addresses
        lines[f"server.{number}"] = "|".join(f"{address}:2888:3888{role}" for address in several)
    lines |= {f"group.{number}": ":".join(str(member) for member in members) for number, members in groups.items()}
    return lines | {f"weight.{number}": str(weight) for number, weight in weights.items()}


def zookeeper_multi_address(servers: Mapping[Any, Any]) -> bool:
    """Return whether some server has several addresses."""
    return any(not isinstance(addresses, str) and len(addresses) > 1 for addresses in servers.values())


def kafka_endpoints(listeners: Sequence[Mapping[str, Any]], advertised: bool = False) -> list[str]:
    """Return NAME://address:port of each listener, as bound or as told to clients."""
    endpoints = []
    for listener in listeners:
        address, port = listener["address"], listener["port"]
        if advertised:
            address, port = listener.get("advertised_address") or address, listener.get("advertised_port") or port
        endpoints.append(f"{listener['name']}://{address}:{port}")
    return endpoints


def kafka_protocols(listeners: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return NAME:PROTOCOL of each listener (listener.security.protocol.map)."""
    return [f"{listener['name']}:{listener.get('protocol') or 'PLAINTEXT'}" for listener in listeners]


def kafka_directory(path: str) -> dict[str, str]:
    """Return a log directory as the module host_state wants it."""
    return {"path": path, "owner": "kafka", "group": "kafka", "mode": "0750"}


def tool_link(name: str, folder: str) -> dict[str, str]:
    """Return a command-line tool's link on the PATH."""
    return {"path": f"/usr/local/bin/{name}", "target": f"{folder}/{name}"}


def host_file(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file as host_state wants it; what `source` names on the control node is secret, and in check mode may not be there yet."""
    if "source" not in file:
        return dict(file)
    source = Path(file["source"])
    secret = base64.b64encode(source.read_bytes() if source.exists() else b"(made by a real run)\n").decode()
    return {**{key: value for key, value in file.items() if key != "source"}, "secret": True, "secret_base64": secret}


def nftables(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the rules of base_firewall_rules as lines of nft."""
    try:
        return firewall.lines(rules)
    except ValueError as error:
        raise AnsibleFilterError(f"base_firewall_rules: {error}") from error


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "archive_digest": archive_digest,
            "properties": properties,
            "address_book": address_book,
            "zookeeper_ensemble_lines": zookeeper_ensemble_lines,
            "zookeeper_multi_address": zookeeper_multi_address,
            "kafka_endpoints": kafka_endpoints,
            "kafka_protocols": kafka_protocols,
            "kafka_directory": kafka_directory,
            "tool_link": tool_link,
            "host_file": host_file,
            "firewall_sources": firewall.sources,
            "firewall_rules": firewall.rules,
            "nftables": nftables,
        }
