"""Filters that wiring and templates need."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace import endpoints, firewall
from millrace.archives import ArchiveError, expected
from millrace.listeners import client_auth, encrypted, mechanisms
from millrace.secret import told
from millrace.specs import role_input

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


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


def zookeeper_tls(keystore: str, truststore: str, password: str, secure_port: int, quorum: bool) -> dict[str, Any]:
    """Return the keys of zoo.cfg for TLS towards clients (`secure_port`, 0: none) and between servers.

    A client proves who it is by its certificate, so its address is not compared with its names. A server's is, both ways:
    fips-mode would switch that off without a word.
    """
    stores = {"keyStore.location": keystore, "trustStore.location": truststore, "keyStore.password": password or None}
    keys: dict[str, Any] = {"fips-mode": False} if secure_port or quorum else {}
    if secure_port:
        keys |= {"secureClientPort": secure_port, "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory"}
        keys |= {f"ssl.{name}": value for name, value in stores.items()}
        keys |= {"ssl.clientAuth": "need", "ssl.hostnameVerification": True, "ssl.clientHostnameVerification": False}
        keys |= {"ssl.allowReverseDnsLookup": False, "client.certReload": True}
    if quorum:
        keys |= {"sslQuorum": True, "sslQuorumReloadCertFiles": True}
        keys |= {f"ssl.quorum.{name}": value for name, value in stores.items()}
        keys |= {"ssl.quorum.clientAuth": "need", "ssl.quorum.hostnameVerification": True, "ssl.quorum.allowReverseDnsLookup": False}
    return keys


def zookeeper_client_tls(keystore: str, truststore: str, password: str, secure_port: int) -> dict[str, Any]:
    """Return what ZooKeeper's own client wants for TLS (zkCli.sh -client-configuration); nothing without a port for it."""
    if not secure_port:
        return {}
    return {
        "zookeeper.client.secure": True,
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keyStore.location": keystore,
        "zookeeper.ssl.keyStore.password": password or None,
        "zookeeper.ssl.trustStore.location": truststore,
    }


def kafka_zookeeper_tls(keystore: str, truststore: str) -> dict[str, Any]:
    """Return the broker's properties for TLS to ZooKeeper, by which it is the owner of its znodes; none without a keystore."""
    if not keystore:
        return {}
    return {
        "zookeeper.ssl.client.enable": True,
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keystore.location": keystore,
        "zookeeper.ssl.keystore.type": "PEM",
        "zookeeper.ssl.truststore.location": truststore,
        "zookeeper.ssl.truststore.type": "PEM",
        "zookeeper.ssl.endpoint.identification.algorithm": "HTTPS",
        "zookeeper.set.acl": True,
    }


def guarded(file: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file of these settings for host_state: one with a password in it is not shown in diffs, and is not noted in the host's journal."""
    if not told(settings):
        return dict(file)
    rest = {key: value for key, value in file.items() if key != "content"}
    return {**rest, "secret": True, "secret_base64": base64.b64encode(file["content"].encode()).decode()}


def store(prefix: str, path: str, password: str) -> dict[str, Any]:
    """Return the properties of a Kafka keystore, by the end of its name PKCS #12 (with its password) or PEM."""
    if not path.endswith((".p12", ".pfx")):
        return {f"{prefix}.type": "PEM", f"{prefix}.location": path}
    return {f"{prefix}.type": "PKCS12", f"{prefix}.location": path, f"{prefix}.password": password}


def kafka_listener_security(listeners: Sequence[Mapping[str, Any]], keystore: str, truststore: str, password: str = "") -> dict[str, Any]:
    """Return the properties listener.name.* that protect each listener; a listener's own keystore and truststore go before the given ones."""
    found: dict[str, Any] = {}
    for listener in listeners:
        prefix, auth = f"listener.name.{listener['name'].lower()}", client_auth(listener)
        if encrypted(listener):
            found |= store(f"{prefix}.ssl.keystore", listener.get("keystore") or keystore, password)
            found[f"{prefix}.ssl.client.auth"] = auth
            if auth != "none":
                found[f"{prefix}.ssl.truststore.type"] = "PEM"
                found[f"{prefix}.ssl.truststore.location"] = listener.get("truststore") or truststore
            if listener.get("principal_mapping_rules"):
                found[f"{prefix}.ssl.principal.mapping.rules"] = listener["principal_mapping_rules"]
        if names := mechanisms(listener):
            found[f"{prefix}.sasl.enabled.mechanisms"] = names
        for name in names:
            if name.startswith("SCRAM-"):
                found[f"{prefix}.{name.lower()}.sasl.jaas.config"] = f"{SCRAM} required;"
    return found


def kafka_tool_properties(listeners: Sequence[Mapping[str, Any]], name: str, keystore: str, truststore: str, password: str = "") -> dict[str, Any]:
    """Return what a client on the broker's host needs to connect to the listener `name` as the broker itself."""
    listener = next(entry for entry in listeners if entry["name"] == name)
    found: dict[str, Any] = {"bootstrap.servers": f"{listener['address']}:{listener['port']}"}
    if listener["protocol"] == "PLAINTEXT":
        return found
    return found | {
        "security.protocol": listener["protocol"],
        **store("ssl.keystore", listener.get("keystore") or keystore, password),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": listener.get("truststore") or truststore,
    }


def scram_login(password: str, user: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    """Return the properties of a Java client that logs in with SCRAM; any character may be in the password."""
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (user, password)]
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f'{SCRAM} required username="{quoted[0]}" password="{quoted[1]}";'}


def declared(users: Sequence[Mapping[str, Any]], name: str) -> tuple[str, str, str]:
    """Return name, password and mechanism of a user of kafka_users."""
    found = [user for user in users if user["name"] == name and user.get("state") != "absent"]
    if not found:
        raise AnsibleFilterError(f"kafka_users has no {name}; it has {', '.join(user['name'] for user in users) or 'nobody'}")
    return name, found[0]["password"], found[0].get("mechanism") or "SCRAM-SHA-512"


def kafka_login(users: Sequence[Mapping[str, Any]], name: str) -> dict[str, str]:
    """Return the login of a user of kafka_users, as a Java client's properties."""
    user, password, mechanism = declared(users, name)
    return scram_login(password, user, mechanism)


def librdkafka_login(users: Sequence[Mapping[str, Any]], name: str) -> dict[str, str]:
    """Return the login of a user of kafka_users under librdkafka's names."""
    user, password, mechanism = declared(users, name)
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


def librdkafka(client: Mapping[str, Any], truststore: str = "") -> dict[str, str]:
    """Return the properties of a Java client under librdkafka's names, without a login; `truststore` is where the CAs are on this machine."""
    found = {name: str(client[name]) for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism") if name in client}
    if client.get("ssl.truststore.location"):
        found["ssl.ca.location"] = truststore or client["ssl.truststore.location"]
    return found


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
    return [f"{listener['name']}:{listener['protocol']}" for listener in listeners]


def service_directory(path: str, user: str) -> dict[str, str]:
    """Return a service's own directory as the module host_state wants it."""
    return {"path": path, "owner": user, "group": user, "mode": "0750"}


NOBODY = "all:!all"


def lacking_java(hosts: Sequence[str], hostvars: Mapping[str, Any]) -> str:
    """Return the pattern of those hosts on which the probe of this run found no Java."""
    probes = {host: (hostvars.get(host, {}).get("preflight_probe") or {}).get("probe") for host in hosts}
    return ",".join(host for host, probe in probes.items() if probe and not probe["java"]) or NOBODY


def owed_restart(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the pattern of those hosts whose unit runs with an older configuration, as host_state of this run answered."""
    states = {host: (hostvars.get(host, {}).get(register) or {}).get("units") or {} for host in hosts}
    return ",".join(host for host, units in states.items() if units.get(unit, {}).get("restart_owed")) or NOBODY


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


def nftables(rules: Sequence[Mapping[str, Any]], alone: Sequence[int] | None = None) -> list[str]:
    """Return the rules of base_firewall_rules as lines of nft; `alone` are the ports that a closed host does not judge."""
    try:
        return firewall.lines(rules, alone)
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
            "service_directory": service_directory,
            "zookeeper_tls": zookeeper_tls,
            "zookeeper_client_tls": zookeeper_client_tls,
            "kafka_zookeeper_tls": kafka_zookeeper_tls,
            "kafka_listener_security": kafka_listener_security,
            "kafka_tool_properties": kafka_tool_properties,
            "kafka_login": kafka_login,
            "scram_login": scram_login,
            "librdkafka": librdkafka,
            "librdkafka_login": librdkafka_login,
            "role_input": role_input,
            "tool_link": tool_link,
            "lacking_java": lacking_java,
            "owed_restart": owed_restart,
            "host_file": host_file,
            "guarded": guarded,
            "kafka_endpoints_with_tls": endpoints.broker_endpoints,
            "zookeeper_endpoints_with_tls": endpoints.zookeeper_endpoints,
            "firewall_sources": firewall.sources,
            "firewall_rules": firewall.rules,
            "nftables": nftables,
        }
