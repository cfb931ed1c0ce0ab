"""Rules on cipher suites: such as Java has, and one at least for a protocol that is spoken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import FOLDER, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import (
    Broker,
    Machine,
    ZooKeeperServer,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Standard names of Java (Java Security Standard Algorithm Names), of TLS 1.3.
OF_13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
OLDER = re.compile(r"(TLS|SSL)_[A-Za-z0-9_]+_WITH_[A-Z0-9_]+|TLS_EMPTY_RENEGOTIATION_INFO_SCSV")
SUITES = re.compile(r"((?:listener\.name\.[^.]+\.|zookeeper\.)?)ssl\.(cipher\.suites)|(ssl\.(?:quorum\.)?)ciphersuites")
SLIP = 0.95  # how alike a name is that was mistyped
BOTH = "TLSv1.2,TLSv1.3"  # what Kafka and ZooKeeper speak where nothing is said


def suites(model: Model) -> Iterator[Problem]:
    """Every list of suites has such as Java knows, and leaves one for a protocol that is spoken."""
    ensemble = {key for server in model.servers if (key := _key_of_server(server))}
    for broker in model.brokers:
        keys = {"zookeeper.": ensemble, **_keys_of_broker(broker)}
        for variable, layer in broker.layers:
            yield from _judged(broker, variable, layer, broker.config, keys)
        tools = broker.inputs.mapping("kafka_client_properties")
        yield from _judged(broker, "kafka_client_properties", tools, tools, keys)
    for server in model.servers:
        own = {_key_of_server(server)} - {""}
        keys = {"ssl.": own, "ssl.quorum.": own}
        yield from _judged(server, "zookeeper_config", server.config, server.config, keys)
    for node in model.spark_nodes:
        for job in node.jobs:
            yield from _judged(node, f"{job.variable}.config.kafka", job.kafka, job.kafka)


def _key(machine: Machine, path: str) -> str:
    """Return the kind of the key in a keystore, as pki_key names it; "" where somebody else makes the key."""
    entry = next((entry for entry in machine.certificates if path and entry.get("path") == path), None)
    source = (entry.get("source") or machine.inputs.text("pki_source") or "own") if entry else "provided"
    return "" if source == "provided" else machine.inputs.text("pki_key") or "rsa-2048"


def _key_of_server(server: ZooKeeperServer) -> str:
    return _key(server, str(server.inputs.get("zookeeper_keystore") or "")) if server.speaks_tls else ""


def _keys_of_broker(broker: Broker) -> dict[str, set[str]]:
    """Return the kinds of keys behind each list of suites: one listener's own, and that of all others, as ""."""
    found: dict[str, set[str]] = {"": set()}
    for item in broker.encrypted:
        prefix, key = f"listener.name.{item.name.lower()}.", _key(broker, broker.keystore(item))
        found[prefix] = {key} - {""}
        if f"{prefix}ssl.cipher.suites" not in broker.config:
            found[""] |= found[prefix]
    return found


def _signs(suite: str, key: str) -> bool:
    """Tell whether a server with a kind of key can answer with a suite; one for TLS 1.3 goes with any."""
    kind = suite.partition("_WITH_")[0]
    return suite in OF_13 or "anon" in kind or ("ECDSA" if key.startswith("ec") else "RSA") in kind.split("_")


def _judged(
    machine: Machine,
    variable: str,
    said: Mapping[Any, Any],
    among: Mapping[Any, Any],
    keys: Mapping[str, set[str]] = MappingProxyType({}),
) -> Iterator[Problem]:
    for name, value in said.items():
        found = SUITES.fullmatch(str(name))
        given = [item.strip() for item in text(value).split(",") if item.strip()] if found and value is not None else []
        if not found or not given:
            continue
        place = f"{variable}[{name}]"
        strange = next((item for item in given if not _possible(item)), None)
        if strange is not None:
            wrong, near = "Java has no suite of that name, and whoever is told so does not start", _meant(strange)
            advice = f"did you mean {near}?" if near else "leave it out: Java's own choice"
            yield machine.problem(place, "CIPHER_UNFIT", strange, wrong, advice)
            continue
        foreign = next((item for item in given if item not in known()), None)
        if foreign and not any(among.get(f"{prefix}ssl.provider") for prefix in (found[1] or "", "")):
            wrong = "not of Java's own, so that a provider has to bring it, or whoever is told so does not start"
            advice = "leave it out, or name the provider by ssl.provider"
            yield machine.problem(place, "CIPHER_UNFIT", foreign, wrong, advice, warning=True)
        spoken = _protocols(found, among)
        usable = [item for item in given if ("TLSv1.3" if item in OF_13 else "TLSv1.2") in spoken]
        unfit = sorted(
            key for key in keys.get(found[1] or found[3] or "", ()) if not any(_signs(i, key) for i in usable)
        )
        if not usable:
            wrong = f"none of them is for {' and '.join(sorted(spoken))}, which is all that is spoken: nobody connects"
            advice = "add one for it, as TLS_AES_256_GCM_SHA384 for TLSv1.3, or leave it out: Java's own choice"
            yield machine.problem(place, "CIPHER_UNFIT", ", ".join(given), wrong, advice)
        elif unfit:
            kind = "ECDSA" if unfit[0].startswith("ec") else "RSA"
            wrong = f"none of them is for keys of {kind}, and pki_key is {unfit[0]}: nobody connects"
            advice = f"add one for it, as TLS_ECDHE_{kind}_WITH_AES_256_GCM_SHA384, or leave it out: Java's own choice"
            yield machine.problem(place, "CIPHER_UNFIT", ", ".join(given), wrong, advice)


@cache
def known() -> frozenset[str]:
    """Return the suites that any release of Java takes, also those that its java.security disables."""
    found = json.loads((FOLDER / "cipher_suites.json").read_text(encoding="utf-8"))
    return frozenset(" ".join(line for lines in found.values() for line in lines).split())


def _possible(name: str) -> bool:
    """Tell whether a suite is one of Java's, or may be another provider's: none that is almost one of Java's."""
    return name in known() or bool(OLDER.fullmatch(name) and not get_close_matches(name, known(), 1, SLIP))


def _meant(name: str) -> str | None:
    """Return Java's name of a suite, also of one that is called as OpenSSL does: ECDHE-RSA-AES256-GCM-SHA384."""
    plain = re.sub(r"(AES)(128|256)", r"\1_\2", name.upper().replace("-", "_"))
    kind = re.search(r"AES_\d+_\w+|CHACHA20_POLY1305\w*", plain)
    head = plain[: kind.start()].strip("_").removeprefix("TLS_").removesuffix("_WITH") if kind else ""
    tail = re.sub(r"POLY1305$", "POLY1305_SHA256", kind[0]) if kind else ""
    whole = f"TLS_{head or 'RSA'}_WITH_{tail}"
    return whole if whole in known() else nearest(name, sorted(known()))


def _protocols(found: re.Match[str], among: Mapping[Any, Any]) -> set[str]:
    """Return the protocols that are spoken where a list of suites stands."""
    usual = BOTH
    if found[3]:
        names = [f"{found[3]}enabledProtocols"]
    elif found[1] == "zookeeper.":
        # A broker tells its client of ZooKeeper one protocol, whatever ZooKeeper itself speaks.
        names, usual = ["zookeeper.ssl.enabled.protocols", "zookeeper.ssl.protocol"], "TLSv1.2"
    else:
        names = [f"{found[1]}ssl.enabled.protocols", "ssl.enabled.protocols"]
    told = next((among[name] for name in names if among.get(name)), usual)
    return {item.strip() for item in text(told).split(",")} & set(BOTH.split(",")) or set(BOTH.split(","))
