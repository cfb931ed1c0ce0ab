"""Rules on TLS and authorization: keystores, CAs that sign or are trusted, URLs of tokens, super users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_features import place
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import BESIDES
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.store_kinds import kind_of

# org.apache.kafka.common.security.oauthbearer.internals.secured.ConfigurationUtils
TOKEN_URL = re.compile(r"sasl\.oauthbearer\.(jwks|token)\.endpoint\.url$")
# As in functions/all.yml and roles/pki/README.md.
CLIENTS, OF_CLIENTS = "clients", re.compile(r"(^|[,+])\s*OU=clients\s*([,+]|$)")
PROVIDED = "add an entry to {list}, which is part of {entries}, or install the file yourself"


SECURITY_PLAINTEXT = ProblemKind(
    "SECURITY_PLAINTEXT",
    "no TLS and no logins, in production (site_environment)",
    "set it to secure, or remove it (default: secure)",
)


def profile(model: Model) -> Iterator[Problem]:
    """Yield a problem for each production host with security_profile: plaintext, which is for debugging."""
    for machine in model.functional:
        if machine.production and machine.inputs.get("security_profile") == "plaintext":
            yield machine.report(SECURITY_PLAINTEXT, "security_profile", "plaintext")


def stores(model: Model) -> Iterator[Problem]:
    """Yield a warning for each keystore and truststore that a service reads, but the role pki does not make."""
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


KEYSTORE_FORM = ProblemKind(
    "KEYSTORE_FORM", "{path} is {form}, and cannot be opened without a password", "set the password, in a vaulted file"
)
KEYSTORE_FORM_CLIENT = KEYSTORE_FORM.variant(
    message="by its name not a PEM file, but the broker's client of ZooKeeper is configured for PEM",
    advice="set the path of a PEM file",
)
KEYSTORE_FORM_FENCING = KEYSTORE_FORM.variant(
    message="not PEM, the only form that kafka_fencing reads: fencing would do nothing, and report that only in the "
    "journal",
    advice="set the path of a PEM file, or remove kafka_fencing",
)


def forms(model: Model) -> Iterator[Problem]:
    """Yield a problem for each keystore that is neither PEM nor has a password.

    Also yield a problem for each keystore or truststore that is not PEM, if the process that reads it supports only
    PEM.
    """
    for broker in model.brokers:
        for item in broker.encrypted:
            store = _properties(
                broker, f"listener.name.{item.name.lower()}.ssl.keystore", "location", "type", "password"
            )
            path = "" if store["location"] else broker.keystore(item)
            if not store["password"]:
                yield from _closed(broker, "kafka_keystore_password", path, store["type"])
        path = broker.zookeeper_keystore
        store = _properties(broker, "zookeeper.ssl.keystore", "location", "type")
        if path and kind_of(path) != "PEM" and not any(store.values()):
            yield broker.report(KEYSTORE_FORM_CLIENT, "kafka_zookeeper_keystore", path)
        yield from _fenced(broker)
    for server in model.servers:
        clients = ["ssl"] if server.inputs.get("zookeeper_secure_client_port") else []
        for prefix in [*clients, *(["ssl.quorum"] if server.quorum_tls else [])]:
            store = _properties(server, f"{prefix}.keyStore", "location", "type", "password", "passwordPath")
            path = "" if store["location"] else str(server.inputs.get("zookeeper_keystore") or "")
            if store["password"] is store["passwordPath"] is None:
                yield from _closed(server, "zookeeper_keystore_password", path, store["type"])


def _fenced(broker: Broker) -> Iterator[Problem]:
    """Yield a problem if kafka_fencing is on, but a store for ZooKeeper is not PEM.

    roles/kafka/files/fence.py reads only PEM.
    """
    keystore = broker.zookeeper_keystore
    if not broker.inputs.on("kafka_fencing") or not switch(
        broker.config.get("zookeeper.ssl.client.enable", bool(keystore))
    ):
        return
    for store, default in (("keystore", keystore), ("truststore", broker.truststore())):
        prefix = f"zookeeper.ssl.{store}"
        declared = broker.config.get(f"{prefix}.type", "PEM" if keystore else None)
        path = str(broker.config.get(f"{prefix}.location") or default)
        if (form := str(declared or kind_of(path)).upper()) != "PEM":
            key = next((name for name in ("type", "location") if broker.config.get(f"{prefix}.{name}")), "type")
            yield broker.report(KEYSTORE_FORM_FENCING, place(broker, f"{prefix}.{key}"), form)


def _properties(machine: Broker | ZooKeeperServer, prefix: str, *names: str) -> dict[str, Any]:
    """Return {name: value} of the properties "prefix.name" that the site sets; None for each that is not set."""
    return {name: machine.config.get(f"{prefix}.{name}") for name in names}


def _closed(machine: Machine, variable: str, path: str, declared: Any) -> Iterator[Problem]:
    form = str(declared or kind_of(path))
    if path and form != "PEM" and not machine.inputs.text(variable):
        yield machine.report(KEYSTORE_FORM, variable, path=path, form=form)


KEYSTORE_UNKNOWN = ProblemKind(
    "KEYSTORE_UNKNOWN",
    "no entry of {entries} has this path, but no {service} starts without this file",
    PROVIDED,
    warning=True,
)
TRUSTSTORE_UNKNOWN = ProblemKind(
    "TRUSTSTORE_UNKNOWN",
    "no entry of {entries} has this path, but no {service} starts without this file",
    PROVIDED,
    warning=True,
)


def _made(machine: Machine, keys: Mapping[str, str], trusted: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each file that no entry of pki_certificates or pki_truststores makes.

    `keys` and `trusted` are {variable: path} of keystores and truststores.
    """
    for paths, site_list, entries, kind in (
        (keys, "site_certificates", machine.certificates, KEYSTORE_UNKNOWN),
        (trusted, "site_truststores", machine.truststores, TRUSTSTORE_UNKNOWN),
    ):
        made = [item.get("path") for item in entries]
        for variable, path in paths.items():
            if path not in made and not machine.failed(BESIDES[site_list]):
                service = "server" if isinstance(machine, ZooKeeperServer) else "broker"
                yield machine.report(kind, variable, path, entries=BESIDES[site_list], service=service, list=site_list)


AUTHORITY_NONE = ProblemKind(
    "AUTHORITY_NONE",
    "no CA is declared, but every certificate requires one",
    "remove it (default: the CAs infra and clients)",
)
AUTHORITY_NONE_TRUSTED = AUTHORITY_NONE.variant(
    message="no CA is trusted, so hosts would reject each other", advice="remove it (default: [infra_authority])"
)
AUTHORITY_NONE_SIGNING = AUTHORITY_NONE.variant(
    message="does not contain {signing}, the CA that signs (infra_authority): hosts would reject each other",
    advice="write [{signing}], or add {signing} to the list if the other CAs sign no certificates of clients",
)
AUTHORITY_UNKNOWN = ProblemKind(
    "AUTHORITY_UNKNOWN",
    "no CA of this name",
    "declare it in pki_authorities, or use one of these: {names}",
)
CLIENTS_TRUSTED = ProblemKind(
    "CLIENTS_TRUSTED",
    'the CA "{name}" signs certificates of clients. With such a certificate, a client could read most of ZooKeeper, '
    "and connect to listeners that are only for brokers and servers",
    "remove {name}, and give listeners for clients their own truststore (site_truststores)",
)


def authorities(model: Model) -> Iterator[Problem]:
    """Yield a problem for each CA that signs or is trusted, but is not declared or not distinct from another CA.

    Also yield a problem if no CA is declared or trusted, or if infra_trusted (CAs of servers) contains the CA of
    clients.
    """
    for machine in model.functional:
        known = [str(entry.get("name")) for entry in machine.inputs.entries("pki_authorities")]
        if machine.inputs.get("security_profile") == "plaintext":
            continue
        if not known:
            if machine.inputs.values.get("pki_authorities") in ([], ()):
                yield machine.report(AUTHORITY_NONE, "pki_authorities")
            continue
        yield from _distinct(machine)
        yield from _trusted(machine, known)


def _trusted(machine: Machine, known: list[str]) -> Iterator[Problem]:
    """Yield problems of infra_authority (signs) and infra_trusted (trusted); `known` has the names of declared CAs."""
    signing, declared = machine.inputs.text("infra_authority"), machine.inputs.values.get("infra_trusted")
    trusted = [str(name) for name in declared] if isinstance(declared, (list, tuple)) else []
    for variable, name in [("infra_authority", signing), *(("infra_trusted", name) for name in trusted)]:
        if name is not None and name not in known:
            yield machine.report(AUTHORITY_UNKNOWN, variable, name, names=known)
    if isinstance(declared, (list, tuple)) and not trusted:
        yield machine.report(AUTHORITY_NONE_TRUSTED, "infra_trusted")
    elif trusted and signing in known and signing not in trusted:
        yield machine.report(AUTHORITY_NONE_SIGNING, "infra_trusted", ", ".join(trusted), signing=signing)
    for name in (name for name in trusted if name in _of_clients(machine, known)):
        yield machine.report(CLIENTS_TRUSTED, "infra_trusted", ", ".join(trusted), name=name)


def _of_clients(machine: Machine, known: list[str]) -> set[str]:
    """Return the names of CAs that sign for clients: the one named "clients", and those of certificates of clients."""
    own = (item.get("authority") for item in machine.certificates if OF_CLIENTS.search(str(item.get("subject"))))
    return {name for name in known if name == CLIENTS} | {str(name) for name in own}


AUTHORITY_TWICE = ProblemKind("AUTHORITY_TWICE", "two CAs have this name", "give each CA its own name")
AUTHORITY_TWICE_SUBJECT = AUTHORITY_TWICE.variant(
    message="CA {other} has this subject too", advice="give each CA its own subject"
)


def _distinct(machine: Machine) -> Iterator[Problem]:
    """Yield a problem for each entry of pki_authorities with the name or the subject of an earlier entry."""
    for key in ("name", "subject"):
        seen: dict[str, str] = {}
        for number, entry in enumerate(machine.inputs.entries("pki_authorities")):
            value = entry.get(key)
            if value and str(value) in seen:
                variable = f"pki_authorities[{entry.get('name')}].{key}"
                if key == "subject":
                    yield machine.report(AUTHORITY_TWICE_SUBJECT, variable, value, other=seen[str(value)])
                else:
                    yield machine.report(AUTHORITY_TWICE, variable, value)
            seen.setdefault(str(value), str(entry.get("name") or number))


OAUTHBEARER_URL = ProblemKind("OAUTHBEARER_URL", "not a URL", "write it as https://login.example.org/keys")
OAUTHBEARER_URL_DENIED = OAUTHBEARER_URL.variant(
    message="not in kafka_oauthbearer_allowed_urls, so Kafka would not start",
    advice="add exactly this URL to kafka_oauthbearer_allowed_urls",
)


def token_urls(model: Model) -> Iterator[Problem]:
    """Yield a problem for each URL of OAuth tokens or keys that is not in kafka_oauthbearer_allowed_urls.

    Kafka does not start with such a URL. Also yield a problem for each invalid URL in kafka_oauthbearer_allowed_urls.
    """
    for broker in model.brokers:
        allowed = [str(url) for url in broker.inputs.sequence("kafka_oauthbearer_allowed_urls")]
        for url in allowed:
            if not re.fullmatch(r"(https?|file)://?[^\s,]+", url):
                yield broker.report(OAUTHBEARER_URL, "kafka_oauthbearer_allowed_urls", url)
        for name, value in broker.config.items():
            if TOKEN_URL.search(str(name)) and value and str(value) not in allowed:
                yield broker.report(OAUTHBEARER_URL_DENIED, f"kafka_config[{name}]", value)


SUPER_USERS_MISSING = ProblemKind(
    "SUPER_USERS_MISSING",
    "listeners authenticate clients, but without super users there is no authorizer: every user may do everything",
    "name the principals of the brokers and the admin, for example [User:kafka-broker, User:admin]",
)


def super_users(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker that authenticates clients, but has neither super users nor an authorizer.

    Such a broker allows everything to every user.
    """
    for broker in model.brokers:
        authenticating = [item for item in broker.listeners if item.protocol != "PLAINTEXT"]
        if authenticating and not broker.super_users and not broker.config.get("authorizer.class.name"):
            yield broker.report(SUPER_USERS_MISSING, "kafka_super_users", warning=not broker.production)


LISTENER_CLIENT_CA = ProblemKind(
    "LISTENER_CLIENT_CA",
    "clients of this listener have certificates of the brokers' CA, with which they can read most of ZooKeeper",
    "declare a separate CA for clients, and give this listener a truststore with only that CA",
    warning=True,
)


def client_authorities(model: Model) -> Iterator[Problem]:
    """Yield a warning for each listener for clients that trusts the CA of the brokers.

    Clients with certificates should have their own CA.
    """
    for broker in model.brokers:
        inner = next((item for item in broker.encrypted if item.name == str(broker.inter_broker)), None)
        for item in broker.encrypted if inner else ():
            if item is not inner and item.asks_for_certificates and _share_a_ca(broker, item, inner):
                yield broker.report(LISTENER_CLIENT_CA, f"{item.variable}.truststore", broker.truststore(item))


def _share_a_ca(broker: Broker, item: Listener, inner: Listener | None) -> bool:
    """Tell whether a listener trusts a CA that the listener between brokers (`inner`) trusts.

    Also true if the listener has the truststore of `inner` or of the broker.
    """
    infra, path = broker.truststore(inner), broker.truststore(item)
    bundles = {str(entry.get("path")): entry.get("authorities") for entry in broker.truststores}

    def trusted(file: str) -> set[str]:
        authorities = bundles.get(file)
        return set(map(str, authorities)) if isinstance(authorities, (list, tuple)) else set()

    return path in (infra, broker.truststore()) or bool(trusted(path) & trusted(infra))


ZOOKEEPER_PORTS_NONE = ProblemKind(
    "ZOOKEEPER_PORTS_NONE",
    "this port is 0, and so is zookeeper_client_port: no client could connect",
    "set it to 2281",
)
ZOOKEEPER_QUORUM_DIFFERS = ProblemKind(
    "ZOOKEEPER_QUORUM_DIFFERS",
    "the other servers have another value, and servers with and without TLS cannot connect to each other",
    "set one value for the group zookeeper",
)


def zookeeper(model: Model) -> Iterator[Problem]:
    """Yield a problem for each ZooKeeper server without a port for clients.

    Also yield a problem if only some ZooKeeper servers use TLS between servers.
    """
    by_value: dict[bool, list[ZooKeeperServer]] = {}
    for server in model.servers:
        by_value.setdefault(server.quorum_tls, []).append(server)
        if not server.ports:
            yield server.report(ZOOKEEPER_PORTS_NONE, "zookeeper_secure_client_port")
    if len(by_value) > 1:
        differing = min(by_value.values(), key=len)
        hosts = tuple(server.name for server in differing)
        yield ZOOKEEPER_QUORUM_DIFFERS.problem(hosts, "zookeeper_quorum_tls", differing[0].quorum_tls)
