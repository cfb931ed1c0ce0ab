"""Settings that weaken security, in one table, wherever they can be said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import LOOPBACK, options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# How a key without a value is written below: the product's own default holds.
REMOVED = "(removed)"
OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?:(?:plain|scram-sha-\d+|oauthbearer|gssapi)\.)?")


@dataclass(frozen=True)
class Setting:
    """Names of settings, and their values that are weak; both as patterns of the whole, in any case of letters."""

    code: str
    names: str
    weak: str
    wrong: str
    advice: str

    def fits(self, name: str, value: str) -> bool:
        """Tell whether this is one of them with a weak value."""
        return bool(
            re.fullmatch(self.names, name, re.IGNORECASE) and re.fullmatch(self.weak, value, re.IGNORECASE | re.DOTALL)
        )


# What brokers, servers and clients have in common.
TLS = (
    Setting(
        "HOSTNAME_UNCHECKED",
        r"(zookeeper\.)?ssl\.endpoint\.identification\.algorithm",
        r"(?!https$|\(removed\)$).*",
        "nobody compares the host with its certificate, so any certificate of the CA stands for any host",
        "leave it out: https",
    ),
    Setting(
        "HOSTNAME_UNCHECKED",
        r"enable\.ssl\.certificate\.verification",
        "false",
        "whoever answers is taken for a broker",
        "leave it out: true",
    ),
    Setting(
        "CIPHER_WEAK",
        r"(zookeeper\.)?ssl\.cipher\.suites|ssl\.(quorum\.)?ciphersuites",
        ".*(NULL|_anon|EXPORT|RC4|[_-]DES|3DES|MD5).*",
        "a cipher that does not keep secrets",
        "leave it out: Java's own choice",
    ),
    Setting(
        "TLS_OLD",
        r"(zookeeper\.)?ssl\.(quorum\.)?(enabled\.?protocols|protocol)",
        r".*(SSLv[23]|TLSv1(\.1)?)(?![.\d]).*",
        "a version of TLS that is broken",
        "use TLSv1.2 and TLSv1.3 alone, or leave it out",
    ),
    Setting(
        "TOKEN_CLEAR",
        r"sasl\.oauthbearer\.(jwks|token)\.endpoint\.url",
        r"http://(?!localhost|127\.).*",
        "whoever is on the way can put keys or tokens of his own there",
        "use https",
    ),
)
BROKER = (
    *TLS,
    Setting(
        "AUTHORIZER_NONE",
        r"authorizer\.class\.name",
        r"\(removed\)|",
        "ACLs are not asked: whoever can log in may do everything",
        "leave it out: the role sets it",
    ),
    Setting(
        "EVERYONE_ALLOWED",
        r"allow\.everyone\.if\.no\.acl\.found",
        "true",
        "everybody may do everything with what no ACL names",
        "leave it out, and write ACLs",
    ),
    Setting(
        "ZNODES_OPEN",
        r"zookeeper\.set\.acl",
        r"\(removed\)|false",
        "whoever reaches ZooKeeper may write Kafka's znodes, ACLs and passwords among them",
        "leave it out: the role sets it",
    ),
)
ZOOKEEPER = (
    *TLS,
    Setting(
        "ZNODES_OPEN", "skipACL", "yes|true", "ACLs of znodes are not asked: any client may change all", "take it out"
    ),
    Setting(
        "ZOOKEEPER_CLIENT_AUTH",
        r"ssl\.(quorum\.)?clientAuth",
        "none|want",
        "whoever connects needs no certificate",
        "leave it out: need",
    ),
    Setting(
        "ZOOKEEPER_CLEAR",
        "sslQuorum",
        r"\(removed\)|false",
        "servers do not prove who they are to one another, and whatever is written passes in the clear",
        "take it out, and set zookeeper_quorum_tls: true",
    ),
    Setting(
        "ZOOKEEPER_CLEAR",
        r"(client\.)?portUnification",
        "true",
        "the port takes connections in the clear as well",
        "take it out when the last of them speaks TLS",
    ),
    Setting(
        "HOSTNAME_UNCHECKED",
        r"ssl\.(quorum\.)?hostnameVerification",
        "false",
        "nobody compares the server with its certificate, so any certificate of the CA stands for a server",
        "leave it out: true",
    ),
    Setting(
        "HOSTNAME_UNCHECKED",
        "fips-mode",
        "true",
        "it switches off that servers are compared with their certificates",
        "leave it out: false",
    ),
    Setting(
        "ZOOKEEPER_COMMANDS",
        r"4lw\.commands\.whitelist",
        r".*\*.*",
        "all four-letter words for everybody, without a login",
        "name those that are needed: [srvr, mntr, ruok]",
    ),
    Setting(
        "ZOOKEEPER_ADMIN_SERVER",
        r"admin\.enableServer",
        r"\(removed\)|true",
        "an HTTP server without TLS and logins, on all addresses, that no rule of the firewall names",
        "leave it out: false",
    ),
    Setting(
        "ZOOKEEPER_SUPER_DIGEST",
        r"DigestAuthenticationProvider\.superDigest|SASLAuthenticationProvider\.superPassword",
        r"(?!\(removed\)).+",
        "whoever knows this password may change every znode, whatever its ACL says",
        "take it out: the owner of the znodes is known by its certificate",
    ),
)
SECRETS = ("ZOOKEEPER_SUPER_DIGEST",)


def settings(model: Model) -> Iterator[Problem]:
    """Judge properties of brokers, servers and clients, and options of the JVM that stand for them."""
    for broker in model.brokers:
        for variable, layer in broker.layers:
            yield from _judged(broker, variable, layer, _of_broker(broker))
        yield from _judged(broker, "kafka_client_properties", broker.inputs.mapping("kafka_client_properties"), TLS)
        for name, client in broker.inputs.mapping("kafka_admin_listeners").items():
            yield from _judged(broker, f"kafka_admin_listeners[{name}]", client, TLS)
        # The JVM's options of ZooKeeper's client.
        yield from _judged_options(broker, TLS)
    for server in model.servers:
        yield from _judged(server, "zookeeper_config", server.config, _of_server(server))
        yield from _judged_options(server, _of_server(server))
    for machine in model.functional:
        yield from _judged(machine, "kafka_client", machine.inputs.get("kafka_client"), TLS)
    for node in model.spark_nodes:
        site = node.inputs.mapping("kafka_client")
        for job in node.jobs:
            own = {name: value for name, value in job.kafka.items() if site.get(name) != value}
            yield from _judged(node, f"{job.variable}.config.kafka", own, TLS)


def _of_broker(broker: Broker) -> tuple[Setting, ...]:
    """Leave out what another rule says: brokers without super users, and without TLS to ZooKeeper."""
    said: tuple[str, ...] = () if broker.super_users else ("AUTHORIZER_NONE",)
    said += () if broker.zookeeper_keystore else ("ZNODES_OPEN",)
    return tuple(item for item in BROKER if item.code not in said)


def _of_server(server: ZooKeeperServer) -> tuple[Setting, ...]:
    hidden = LOOPBACK.fullmatch(str(server.config.get("admin.serverAddress") or ""))
    said = ("ZOOKEEPER_ADMIN_SERVER",) if hidden else ()
    return tuple(
        item for item in ZOOKEEPER if item.code not in said and (server.quorum_tls or item.names != "sslQuorum")
    )


def _judged(machine: Machine, variable: str, found: Any, table: tuple[Setting, ...]) -> Iterator[Problem]:
    for name, value in found.items() if isinstance(found, Mapping) else ():
        own, shown = OF_LISTENER.sub("", str(name), count=1), REMOVED if value is None else text(value).strip()
        for item in table:
            if item.fits(own, shown):
                told = None if item.code in SECRETS else shown or "''"
                yield machine.problem(f"{variable}[{name}]", item.code, told, item.wrong, item.advice)


def _judged_options(machine: Machine, table: tuple[Setting, ...]) -> Iterator[Problem]:
    for variable, found in options(machine).items():
        given = (option.removeprefix("-Dzookeeper.").partition("=") for option in found if "-Dzookeeper." in option)
        yield from _judged(machine, variable, {name: value for name, _, value in given}, table)


def client_auth(model: Model) -> Iterator[Problem]:
    """Whoever connects to a listener that asks for no login shows a certificate."""
    for broker in model.brokers:
        for item in broker.listeners:
            name = f"listener.name.{item.name.lower()}.ssl.client.auth"
            variable, found = f"{item.variable}.client_auth", item.client_auth
            for layer_name, layer in broker.layers:
                if name in layer:
                    variable, found = f"{layer_name}[{name}]", text(layer[name] or "none")
            inner = item.name == str(broker.inter_broker)
            if item.protocol == "SSL" and found in (("none", "requested") if inner else ("none",)):
                who = "brokers among themselves are" if inner else "whoever connects is"
                wrong = f"{who} User:ANONYMOUS, whoever it is, unless a certificate is shown"
                yield broker.problem(variable, "CLIENT_AUTH_NONE", found, wrong, "leave it out: required")


def tokens(model: Model) -> Iterator[Problem]:
    """A listener with tokens has somebody who checks their signature."""
    for broker in model.brokers:
        for item in broker.listeners:
            name = f"listener.name.{item.name.lower()}.oauthbearer.sasl.server.callback.handler.class"
            if "OAUTHBEARER" in item.mechanisms and not broker.config.get(name):
                wrong = "Kafka then takes tokens that nobody has signed: everybody is whom he says he is"
                advice = f"set kafka_config[{name}] (docs/security.md)"
                yield broker.problem(item.variable, "TOKEN_UNSIGNED", "OAUTHBEARER", wrong, advice)


def zookeeper(model: Model) -> Iterator[Problem]:
    """ZooKeeper speaks TLS to everybody, unless nobody does (security_profile)."""
    for server in model.servers:
        if server.inputs.get("security_profile") == "plaintext":
            continue
        if not server.quorum_tls:
            wrong = "servers do not prove who they are to one another, and whatever is written passes in the clear"
            yield server.problem("zookeeper_quorum_tls", "ZOOKEEPER_CLEAR", False, wrong, "leave it out: true")
        if port := server.ports.get("zookeeper_client_port"):
            wrong = "clients in the clear and without certificates besides those with TLS"
            yield server.problem(
                "zookeeper_client_port", "ZOOKEEPER_CLEAR", port, wrong, "leave it out: 0, when the last is gone"
            )
