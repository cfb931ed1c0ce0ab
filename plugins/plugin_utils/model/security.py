"""Rules on TLS: which files a host needs, what its certificates have to name, who may do everything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_features import place
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import BESIDES
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.store_kinds import kind_of

# org.apache.kafka.common.security.oauthbearer.internals.secured.ConfigurationUtils
TOKEN_URL = re.compile(r"sasl\.oauthbearer\.(jwks|token)\.endpoint\.url$")
CLIENTS, OF_CLIENTS = "clients", re.compile(r"(^|[,+])\s*OU=clients\s*([,+]|$)")  # groups/all.yml, roles/pki/README.md
PROVIDED = "let the role pki put it there ({}), or put it there yourself"


def profile(model: Model) -> Iterator[Problem]:
    """What is for debugging is not for production."""
    for machine in model.functional:
        if machine.production and machine.inputs.get("security_profile") == "plaintext":
            wrong, advice = "no TLS and no logins, and this is production", "set it to secure, or take it out"
            yield machine.problem("security_profile", "SECURITY_PLAINTEXT", "plaintext", wrong, advice)


def stores(model: Model) -> Iterator[Problem]:
    """The files that services read are made by the role pki, unless somebody else puts them there."""
    for broker in model.brokers:
        keys = {
            f"{item.variable}.keystore" if item.keystore else "kafka_keystore": broker.keystore(item)
            for item in broker.encrypted
        }
        trusted = {
            f"{item.variable}.truststore" if item.truststore else "kafka_truststore": broker.truststore(item)
            for item in broker.encrypted
            if item.asks_for_certificates
        }
        if broker.zookeeper_keystore:
            keys["kafka_zookeeper_keystore"] = broker.zookeeper_keystore
            trusted["kafka_truststore"] = broker.truststore()
        yield from _made(broker, keys, trusted)
    for server in model.servers:
        if server.speaks_tls:
            names = ("zookeeper_keystore", "zookeeper_truststore")
            keys, trusted = ({name: str(server.inputs.get(name) or "")} for name in names)
            yield from _made(server, keys, trusted)


def forms(model: Model) -> Iterator[Problem]:
    """A keystore that is no PEM file has a password, and what the role calls PEM is one."""
    for broker in model.brokers:
        for item in broker.encrypted:
            said = _own(broker, f"listener.name.{item.name.lower()}.ssl.keystore", "location", "type", "password")
            path = "" if said["location"] else broker.keystore(item)
            if not said["password"]:
                yield from _closed(broker, "kafka_keystore_password", path, said["type"])
        path, said = broker.zookeeper_keystore, _own(broker, "zookeeper.ssl.keystore", "location", "type")
        if path and kind_of(path) != "PEM" and not any(said.values()):
            wrong, advice = "no PEM by its name, and ZooKeeper's client is told of one", "name a file of this kind"
            yield broker.problem("kafka_zookeeper_keystore", "KEYSTORE_FORM", path, wrong, advice)
        yield from _fenced(broker)
    for server in model.servers:
        clients = ["ssl"] if server.inputs.get("zookeeper_secure_client_port") else []
        for prefix in [*clients, *(["ssl.quorum"] if server.quorum_tls else [])]:
            said = _own(server, f"{prefix}.keyStore", "location", "type", "password", "passwordPath")
            path = "" if said["location"] else str(server.inputs.get("zookeeper_keystore") or "")
            if said["password"] is said["passwordPath"] is None:
                yield from _closed(server, "zookeeper_keystore_password", path, said["type"])


def _fenced(broker: Broker) -> Iterator[Problem]:
    """What removes the registration of a broker that died reads PEM alone (roles/kafka/files/fence.py)."""
    ours = broker.zookeeper_keystore
    if not broker.inputs.on("kafka_fencing") or not switch(
        broker.config.get("zookeeper.ssl.client.enable", bool(ours))
    ):
        return
    for store, usual in (("keystore", ours), ("truststore", broker.truststore())):
        prefix = f"zookeeper.ssl.{store}"
        kind = broker.config.get(f"{prefix}.type", "PEM" if ours else None)
        path = str(broker.config.get(f"{prefix}.location") or usual)
        if (said := str(kind or kind_of(path)).upper()) != "PEM":
            wrong = (
                "no PEM, and kafka_fencing reads nothing else: it would do nothing, and only the journal would say so"
            )
            advice = "name a PEM, or leave kafka_fencing out"
            where = next((name for name in ("type", "location") if broker.config.get(f"{prefix}.{name}")), "type")
            yield broker.problem(place(broker, f"{prefix}.{where}"), "KEYSTORE_FORM", said, wrong, advice)


def _own(machine: Broker | ZooKeeperServer, prefix: str, *names: str) -> dict[str, Any]:
    """Return what the properties of a host say themselves of a store, which goes before what its role writes."""
    return {name: machine.config.get(f"{prefix}.{name}") for name in names}


def _closed(machine: Machine, variable: str, path: str, told: Any) -> Iterator[Problem]:
    kind = str(told or kind_of(path))
    if path and kind != "PEM" and not machine.inputs.text(variable):
        wrong = f"{path} is {kind}, and nobody could open it without one"
        yield machine.problem(variable, "KEYSTORE_FORM", None, wrong, "say it, from a vaulted file")


def _made(machine: Machine, keys: Mapping[str, str], trusted: Mapping[str, str]) -> Iterator[Problem]:
    for found, more, entries, code in (
        (keys, "site_certificates", machine.certificates, "KEYSTORE_UNKNOWN"),
        (trusted, "site_truststores", machine.truststores, "TRUSTSTORE_UNKNOWN"),
    ):
        paths = [item.get("path") for item in entries]
        made, advice = BESIDES[more], PROVIDED.format(more)
        for variable, path in found.items():
            if path not in paths and not machine.failed(made):
                who = "no server starts" if isinstance(machine, ZooKeeperServer) else "no broker starts"
                wrong = f"no entry of {made} has this path, and {who} without this file"
                yield machine.problem(variable, code, path, wrong, advice, warning=True)


def authorities(model: Model) -> Iterator[Problem]:
    """The CAs that sign and that are trusted are declared, and there are some."""
    for machine in model.functional:
        known = [str(entry.get("name")) for entry in machine.inputs.entries("pki_authorities")]
        if machine.inputs.get("security_profile") == "plaintext":
            continue
        if not known:
            if machine.inputs.values.get("pki_authorities") in ([], ()):
                wrong, advice = "no CA, and every certificate has one", "leave it out, which makes two"
                yield machine.problem("pki_authorities", "AUTHORITY_NONE", None, wrong, advice)
            continue
        yield from _distinct(machine)
        signing, trusted = machine.inputs.text("infra_authority"), machine.inputs.values.get("infra_trusted")
        trust = [str(name) for name in trusted] if isinstance(trusted, (list, tuple)) else []
        for variable, name in [("infra_authority", signing), *(("infra_trusted", name) for name in trust)]:
            if name is not None and name not in known:
                wrong, advice = "no CA of this name", f"declare it in pki_authorities, or name one: {', '.join(known)}"
                yield machine.problem(variable, "AUTHORITY_UNKNOWN", name, wrong, advice)
        if isinstance(trusted, (list, tuple)) and not trust:
            wrong = "no CA is trusted, so that hosts refuse one another"
            yield machine.problem("infra_trusted", "AUTHORITY_NONE", None, wrong, "leave it out: [infra_authority]")
        elif trust and signing in known and signing not in trust:
            wrong = f"without {signing}, which signs: hosts would refuse one another"
            advice = f"write [{signing}]; or add {signing} to it, where these sign for no clients"
            yield machine.problem("infra_trusted", "AUTHORITY_NONE", ", ".join(trust), wrong, advice)
        for name in (name for name in trust if name in _of_clients(machine, known)):
            wrong = f"{name} signs for clients: with a certificate of theirs one reads most of ZooKeeper, and connects "
            wrong += "where only brokers and servers do"
            advice = f"take {name} out: a listener for clients has a truststore of its own (site_truststores)"
            yield machine.problem("infra_trusted", "CLIENTS_TRUSTED", ", ".join(trust), wrong, advice)


def _of_clients(machine: Machine, known: list[str]) -> set[str]:
    """Return the CAs that sign for clients: the project's own of that name, and those of certificates of clients."""
    own = (item.get("authority") for item in machine.certificates if OF_CLIENTS.search(str(item.get("subject"))))
    return {name for name in known if name == CLIENTS} | {str(name) for name in own}


def _distinct(machine: Machine) -> Iterator[Problem]:
    """Two CAs have two names and two subjects: else the one is taken for the other."""
    for key in ("name", "subject"):
        seen: dict[str, str] = {}
        for number, entry in enumerate(machine.inputs.entries("pki_authorities")):
            said = entry.get(key)
            if said and str(said) in seen:
                where, name = f"pki_authorities[{entry.get('name')}].{key}", seen[str(said)]
                wrong = f"that of another CA, {name}" if key == "subject" else "there twice"
                yield machine.problem(where, "AUTHORITY_TWICE", said, wrong, "give each CA its own")
            seen.setdefault(str(said), str(entry.get("name") or number))


def token_urls(model: Model) -> Iterator[Problem]:
    """A broker asks no URL for tokens or keys that its JVM is not told of, and does not start."""
    for broker in model.brokers:
        allowed = [str(url) for url in broker.inputs.sequence("kafka_oauthbearer_allowed_urls")]
        for url in allowed:
            if not re.fullmatch(r"(https?|file)://?[^\s,]+", url):
                wrong, advice = "no URL", "write it as https://login.example.org/keys"
                yield broker.problem("kafka_oauthbearer_allowed_urls", "OAUTHBEARER_URL", url, wrong, advice)
        for name, value in broker.config.items():
            if TOKEN_URL.search(str(name)) and value and str(value) not in allowed:
                wrong = "not in kafka_oauthbearer_allowed_urls, so Kafka would not start"
                advice = "name it there, as it is written here"
                yield broker.problem(f"kafka_config[{name}]", "OAUTHBEARER_URL", value, wrong, advice)


def super_users(model: Model) -> Iterator[Problem]:
    """Whoever proved who he is may not do everything."""
    for broker in model.brokers:
        proven = [item for item in broker.listeners if item.protocol != "PLAINTEXT"]
        if proven and not broker.super_users and not broker.config.get("authorizer.class.name"):
            asked = "listeners ask who somebody is"
            wrong = f"{asked}, and without super users there is no authorizer: everybody may do everything"
            advice = "name the principals of the brokers and the admin, as [User:kafka-broker, User:admin]"
            warning = not broker.production
            yield broker.problem("kafka_super_users", "SUPER_USERS_MISSING", None, wrong, advice, warning=warning)


def client_authorities(model: Model) -> Iterator[Problem]:
    """Clients with certificates have a CA of their own."""
    for broker in model.brokers:
        inner = next((item for item in broker.encrypted if item.name == str(broker.inter_broker)), None)
        for item in broker.encrypted if inner else ():
            if item is not inner and item.asks_for_certificates and _share_a_ca(broker, item, inner):
                held = "its clients have certificates of the brokers' own CA"
                wrong = f"{held}, with which they may read most of ZooKeeper"
                advice = "give clients a CA of their own, and this listener a truststore with that alone"
                variable, path = f"{item.variable}.truststore", broker.truststore(item)
                yield broker.problem(variable, "LISTENER_CLIENT_CA", path, wrong, advice, warning=True)


def _share_a_ca(broker: Broker, item: Listener, inner: Listener | None) -> bool:
    """Tell whether a listener trusts a CA that the brokers' own listener trusts, or has the same file."""
    infra, path = broker.truststore(inner), broker.truststore(item)
    bundles = {str(entry.get("path")): entry.get("authorities") for entry in broker.truststores}

    def trusted(file: str) -> set[str]:
        found = bundles.get(file)
        return set(map(str, found)) if isinstance(found, (list, tuple)) else set()

    return path in (infra, broker.truststore()) or bool(trusted(path) & trusted(infra))


def zookeeper(model: Model) -> Iterator[Problem]:
    """Servers listen for clients, and all of them speak TLS among themselves, or none does."""
    told: dict[bool, list[ZooKeeperServer]] = {}
    for server in model.servers:
        told.setdefault(server.quorum_tls, []).append(server)
        if not server.ports:
            wrong = "this port is 0, and so is zookeeper_client_port: nobody could connect"
            yield server.problem("zookeeper_secure_client_port", "ZOOKEEPER_PORTS_NONE", None, wrong, "set it to 2281")
    if len(told) > 1:
        few = min(told.values(), key=len)
        wrong = "the other servers have it otherwise, and the two kinds do not hear each other"
        where, variable, advice = (
            tuple(server.name for server in few),
            "zookeeper_quorum_tls",
            "set it for the group, not for a host",
        )
        yield Problem(where, variable, "ZOOKEEPER_QUORUM_DIFFERS", few[0].quorum_tls, wrong, advice)
