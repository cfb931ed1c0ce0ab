"""Rules on lists of TLS cipher suites.

Java must know every suite, and at least one must fit the enabled protocols and the type of the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Standard names of Java (Java Security Standard Algorithm Names), for TLS 1.3.
TLS_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
OLDER = re.compile(r"(TLS|SSL)_[A-Za-z0-9_]+_WITH_[A-Z0-9_]+|TLS_EMPTY_RENEGOTIATION_INFO_SCSV")
SUITES = re.compile(r"((?:listener\.name\.[^.]+\.|zookeeper\.)?)ssl\.(cipher\.suites)|(ssl\.(?:quorum\.)?)ciphersuites")
SIMILAR = 0.95  # the least similarity of a typo
BOTH = "TLSv1.2,TLSv1.3"  # the default of Kafka and ZooKeeper


def suites(model: Model) -> Iterator[Problem]:
    """Yield a problem for each list of cipher suites with which a process would not start, or never connect.

    Either the list contains a suite that Java does not know, or no suite of the list fits an enabled protocol and the
    type of the server's key.
    """
    ensemble = {key for server in model.servers if (key := _key_of_server(server))}
    for broker in model.brokers:
        keys = {"zookeeper.": ensemble, **_keys_of_broker(broker)}
        for variable, layer in broker.layers:
            yield from _check(broker, variable, layer, broker.config, keys)
        tools = broker.inputs.mapping("kafka_client_properties")
        yield from _check(broker, "kafka_client_properties", tools, tools, keys)
    for server in model.servers:
        own = {_key_of_server(server)} - {""}
        keys = {"ssl.": own, "ssl.quorum.": own}
        yield from _check(server, "zookeeper_config", server.config, server.config, keys)
    for node in model.spark_nodes:
        for job in node.jobs:
            yield from _check(node, f"{job.variable}.config.kafka", job.kafka, job.kafka)


def _key(machine: Machine, path: str) -> str:
    """Return the type of the key in the keystore at `path`, a value of pki_key such as rsa-2048.

    Return "" if the keystore is provided by the site instead of made by the role pki.
    """
    entry = next((entry for entry in machine.certificates if path and entry.get("path") == path), None)
    source = (entry.get("source") or machine.inputs.text("pki_source") or "own") if entry else "provided"
    return "" if source == "provided" else machine.inputs.text("pki_key") or "rsa-2048"


def _key_of_server(server: ZooKeeperServer) -> str:
    return _key(server, str(server.inputs.get("zookeeper_keystore") or "")) if server.speaks_tls else ""


def _keys_of_broker(broker: Broker) -> dict[str, set[str]]:
    """Return {prefix of properties: key types that a list of suites with this prefix is used with}.

    The prefix is listener.name.X. for a listener with its own list, and "" for the list of all other listeners.
    """
    kinds: dict[str, set[str]] = {"": set()}
    for item in broker.encrypted:
        prefix, key = f"listener.name.{item.name.lower()}.", _key(broker, broker.keystore(item))
        kinds[prefix] = {key} - {""}
        if f"{prefix}ssl.cipher.suites" not in broker.config:
            kinds[""] |= kinds[prefix]
    return kinds


def _signs(suite: str, key: str) -> bool:
    """Tell whether a server with a key of this type, as rsa-2048, can use a cipher suite."""
    kind = suite.partition("_WITH_")[0]
    return suite in TLS_1_3 or "anon" in kind or ("ECDSA" if key.startswith("ec") else "RSA") in kind.split("_")


CIPHER_UNFIT = ProblemKind(
    "CIPHER_UNFIT",
    "Java has no cipher suite of this name: the process would not start",
    "remove it (default: Java's own list)",
)
CIPHER_UNFIT_MEANT = CIPHER_UNFIT.variant(advice="did you mean {near}?")
CIPHER_UNFIT_PROVIDER = CIPHER_UNFIT.variant(
    message="not one of Java's own cipher suites: the process would not start without a provider of this suite",
    advice="remove it, or name the provider in ssl.provider",
)
CIPHER_UNFIT_PROTOCOL = CIPHER_UNFIT.variant(
    message="none of these suites is for {protocols}, the only protocol enabled: no connection could be made",
    advice="add a suite of {protocols}, for example {example}, or remove it (default: Java's own list)",
)
CIPHER_UNFIT_KEY = CIPHER_UNFIT.variant(
    message="none of these suites is for {algorithm} keys, but pki_key is {key}: no connection could be made",
    advice="add a suite, for example {example}, or remove it (default: Java's own list)",
)


def _check(
    machine: Machine,
    variable: str,
    settings: Mapping[Any, Any],
    among: Mapping[Any, Any],
    keys: Mapping[str, set[str]] = MappingProxyType({}),
) -> Iterator[Problem]:
    """Yield a problem for each list of cipher suites in `settings` that is unknown to Java or fits nothing.

    `among` has all settings of the process, for its protocols; `keys` is {prefix of properties: key types of the
    server}.
    """
    for name, value in settings.items():
        match = SUITES.fullmatch(str(name))
        given = [item.strip() for item in text(value).split(",") if item.strip()] if match and value is not None else []
        if not match or not given:
            continue
        place = f"{variable}[{name}]"
        unknown = next((item for item in given if not _possible(item)), None)
        if unknown is not None:
            if near := _meant(unknown):
                yield machine.report(CIPHER_UNFIT_MEANT, place, unknown, near=near)
            else:
                yield machine.report(CIPHER_UNFIT, place, unknown)
            continue
        foreign = next((item for item in given if item not in known()), None)
        if foreign and not any(among.get(f"{prefix}ssl.provider") for prefix in (match[1] or "", "")):
            yield machine.report(CIPHER_UNFIT_PROVIDER, place, foreign, warning=True)
        enabled = _protocols(match, among)
        usable = [item for item in given if ("TLSv1.3" if item in TLS_1_3 else "TLSv1.2") in enabled]
        own_keys = sorted(keys.get(match[1] or match[3] or "", ()))
        unfit = [key for key in own_keys if not any(_signs(i, key) for i in usable)]
        if not usable:
            protocols = " and ".join(sorted(enabled))
            example = TLS_1_3[1] if "TLSv1.3" in enabled else _older_suite(own_keys[:1])
            yield machine.report(CIPHER_UNFIT_PROTOCOL, place, ", ".join(given), protocols=protocols, example=example)
        elif unfit:
            algorithm, example = _algorithm(unfit), _older_suite(unfit)
            yield machine.report(
                CIPHER_UNFIT_KEY, place, ", ".join(given), algorithm=algorithm, key=unfit[0], example=example
            )


def _algorithm(keys: Sequence[str]) -> str:
    """Return the name of the algorithm of the first of these key types, as ECDSA of ec-p256; RSA without a key."""
    return "ECDSA" if keys and keys[0].startswith("ec") else "RSA"


def _older_suite(keys: Sequence[str]) -> str:
    """Return a cipher suite of TLS 1.2 that the first of these key types can use."""
    return f"TLS_ECDHE_{_algorithm(keys)}_WITH_AES_256_GCM_SHA384"


@cache
def known() -> frozenset[str]:
    """Return the names of all cipher suites that any Java release supports, from cipher_suites.json.

    Suites that Java supports but disables in java.security are included.
    """
    releases = json.loads((FOLDER / "cipher_suites.json").read_text(encoding="utf-8"))
    return frozenset(" ".join(line for lines in releases.values() for line in lines).split())


def _possible(name: str) -> bool:
    """Tell whether a suite is one of Java's or may be of another provider; false if it looks like a typo of Java's."""
    return name in known() or bool(OLDER.fullmatch(name) and not get_close_matches(name, known(), 1, SIMILAR))


def _meant(name: str) -> str | None:
    """Return Java's name for a misspelt cipher suite or for OpenSSL's name of it, else None."""
    plain = re.sub(r"(AES)(128|256)", r"\1_\2", name.upper().replace("-", "_"))
    kind = re.search(r"AES_\d+_\w+|CHACHA20_POLY1305\w*", plain)
    head = plain[: kind.start()].strip("_").removeprefix("TLS_").removesuffix("_WITH") if kind else ""
    tail = re.sub(r"POLY1305$", "POLY1305_SHA256", kind[0]) if kind else ""
    whole = f"TLS_{head or 'RSA'}_WITH_{tail}"
    return whole if whole in known() else nearest(name, sorted(known()))


def _protocols(match: re.Match[str], among: Mapping[Any, Any]) -> set[str]:
    """Return the TLS versions (TLSv1.2, TLSv1.3) that the process enables for connections with a list of suites.

    `match` is the match of SUITES with the name of the property that has the list; `among` has all settings of the
    process.
    """
    default = BOTH
    if match[3]:
        names = [f"{match[3]}enabledProtocols"]
    elif match[1] == "zookeeper.":
        # A broker sets one protocol for its client of ZooKeeper, whatever ZooKeeper itself enables.
        names, default = ["zookeeper.ssl.enabled.protocols", "zookeeper.ssl.protocol"], "TLSv1.2"
    else:
        names = [f"{match[1]}ssl.enabled.protocols", "ssl.enabled.protocols"]
    enabled = next((among[name] for name in names if among.get(name)), default)
    return {item.strip() for item in text(enabled).split(",")} & set(BOTH.split(",")) or set(BOTH.split(","))
