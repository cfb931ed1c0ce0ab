"""Rules on settings that weaken security.

The table of insecure settings (class Setting) applies to all variables that hold settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import LOOPBACK, options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Stands for a key without a value: the product's own default applies.
REMOVED = "(removed)"
OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?:(?:plain|scram-sha-\d+|oauthbearer|gssapi)\.)?")


@dataclass(frozen=True)
class Setting:
    """A row of the table of insecure settings.

    `names` is a regular expression for the full name of a setting, `weak` a regular expression for its insecure values.
    `kind` is the kind of problem to report.
    """

    kind: ProblemKind
    names: str
    weak: str

    def fits(self, name: str, value: str) -> bool:
        """Tell whether the setting `name` has an insecure `value` according to this row."""
        return bool(
            re.fullmatch(self.names, name, re.IGNORECASE) and re.fullmatch(self.weak, value, re.IGNORECASE | re.DOTALL)
        )


HOSTNAME_UNCHECKED = ProblemKind(
    "HOSTNAME_UNCHECKED",
    "names of hosts are not compared with their certificates: any certificate of the CA is accepted for any host",
    "remove it (default: https)",
)
HOSTNAME_UNCHECKED_CLIENT = HOSTNAME_UNCHECKED.variant(
    message="the certificates of brokers are not verified: any process that answers is accepted as a broker",
    advice="remove it (default: true)",
)
HOSTNAME_UNCHECKED_ZOOKEEPER = HOSTNAME_UNCHECKED.variant(
    message="names of servers are not compared with their certificates: any certificate of the CA is accepted for "
    "any server",
    advice="remove it (default: true)",
)
HOSTNAME_UNCHECKED_FIPS = HOSTNAME_UNCHECKED.variant(
    message="fips-mode disables the comparison of names of servers with their certificates",
    advice="remove it (default: false)",
)
CIPHER_WEAK = ProblemKind(
    "CIPHER_WEAK", "contains a cipher that does not keep data secret", "remove it (default: Java's own list)"
)
TLS_OLD = ProblemKind(
    "TLS_OLD", "versions of TLS before 1.2 are insecure", "use only TLSv1.2 and TLSv1.3, or remove it"
)
TLS_OLD_DEFAULT = TLS_OLD.variant(advice="use TLSv1.3 or TLSv1.2, or remove it")
TOKEN_CLEAR = ProblemKind(
    "TOKEN_CLEAR", "a third party on the network can replace the keys or tokens from this URL", "use https"
)
AUTHORIZER_NONE = ProblemKind(
    "AUTHORIZER_NONE",
    "ACLs are not evaluated, so every user that can log in may do everything",
    "delete this key (the role sets the authorizer)",
)
EVERYONE_ALLOWED = ProblemKind(
    "EVERYONE_ALLOWED",
    "every user may do everything with resources that no ACL names",
    "remove it (default: false), and declare ACLs (kafka_acls, or grants in kafka_users)",
)
ZNODES_OPEN = ProblemKind(
    "ZNODES_OPEN",
    "every client of ZooKeeper may change Kafka's znodes, including ACLs and passwords",
    "delete this key (the role sets it to true)",
)
ZNODES_OPEN_SKIPPED = ZNODES_OPEN.variant(
    message="ZooKeeper ignores the ACLs of znodes: any client may change every znode", advice="remove it (default: no)"
)
ZOOKEEPER_CLIENT_AUTH = ProblemKind(
    "ZOOKEEPER_CLIENT_AUTH", "clients can connect without a certificate", "remove it (default: need)"
)
ZOOKEEPER_CLEAR = ProblemKind(
    "ZOOKEEPER_CLEAR",
    "servers do not authenticate each other, and all writes are sent unencrypted",
    "delete this key (zookeeper_quorum_tls: true sets it already)",
)
ZOOKEEPER_CLEAR_PORT = ZOOKEEPER_CLEAR.variant(
    message="the port also accepts unencrypted connections",
    advice="remove it (default: false) once all connections use TLS",
)
ZOOKEEPER_CLEAR_QUORUM = ZOOKEEPER_CLEAR.variant(advice="remove it (default: true)")
ZOOKEEPER_CLEAR_CLIENTS = ZOOKEEPER_CLEAR.variant(
    message="clients can also connect unencrypted and without certificates",
    advice="remove it (default: 0) once no client uses this port",
)
ZOOKEEPER_COMMANDS = ProblemKind(
    "ZOOKEEPER_COMMANDS",
    "every client may send all four-letter commands, without a login",
    "name those that are needed: [srvr, mntr, ruok]",
)
ZOOKEEPER_ADMIN_SERVER = ProblemKind(
    "ZOOKEEPER_ADMIN_SERVER",
    "starts an HTTP server on all addresses, without TLS, without logins and without a firewall rule",
    "remove it (default: false)",
)
ZOOKEEPER_SUPER_DIGEST = ProblemKind(
    "ZOOKEEPER_SUPER_DIGEST",
    "every client that has this password may change every znode, whatever its ACL",
    "remove it (a certificate identifies the owner of the znodes)",
)
OLD = r".*(SSLv[23]|TLSv1(\.1)?)(?![.\d]).*"
# Of brokers, servers and clients.
TLS = (
    Setting(
        HOSTNAME_UNCHECKED, r"(zookeeper\.)?ssl\.endpoint\.identification\.algorithm", r"(?!https$|\(removed\)$).*"
    ),
    Setting(HOSTNAME_UNCHECKED_CLIENT, r"enable\.ssl\.certificate\.verification", "false"),
    Setting(
        CIPHER_WEAK,
        r"(zookeeper\.)?ssl\.cipher\.suites|ssl\.(quorum\.)?ciphersuites",
        ".*(NULL|_anon|EXPORT|RC4|[_-]DES|3DES|MD5).*",
    ),
    Setting(TLS_OLD, r"(zookeeper\.)?ssl\.(quorum\.)?enabled\.?protocols", OLD),
    Setting(TLS_OLD_DEFAULT, r"(zookeeper\.)?ssl\.(quorum\.)?protocol", OLD),  # takes one version
    Setting(TOKEN_CLEAR, r"sasl\.oauthbearer\.(jwks|token)\.endpoint\.url", r"http://(?!localhost|127\.).*"),
)
BROKER = (
    *TLS,
    Setting(AUTHORIZER_NONE, r"authorizer\.class\.name", r"\(removed\)|"),
    Setting(EVERYONE_ALLOWED, r"allow\.everyone\.if\.no\.acl\.found", "true"),
    Setting(ZNODES_OPEN, r"zookeeper\.set\.acl", r"\(removed\)|false"),
)
ZOOKEEPER = (
    *TLS,
    Setting(ZNODES_OPEN_SKIPPED, "skipACL", "yes|true"),
    Setting(ZOOKEEPER_CLIENT_AUTH, r"ssl\.(quorum\.)?clientAuth", "none|want"),
    Setting(ZOOKEEPER_CLEAR, "sslQuorum", r"\(removed\)|false"),
    Setting(ZOOKEEPER_CLEAR_PORT, r"(client\.)?portUnification", "true"),
    Setting(HOSTNAME_UNCHECKED_ZOOKEEPER, r"ssl\.(quorum\.)?hostnameVerification", "false"),
    Setting(HOSTNAME_UNCHECKED_FIPS, "fips-mode", "true"),
    Setting(ZOOKEEPER_COMMANDS, r"4lw\.commands\.whitelist", r".*\*.*"),
    Setting(ZOOKEEPER_ADMIN_SERVER, r"admin\.enableServer", r"\(removed\)|true"),
    Setting(
        ZOOKEEPER_SUPER_DIGEST,
        r"DigestAuthenticationProvider\.superDigest|SASLAuthenticationProvider\.superPassword",
        r"(?!\(removed\)).+",
    ),
)
SECRETS = (ZOOKEEPER_SUPER_DIGEST,)


def settings(model: Model) -> Iterator[Problem]:
    """Yield a problem for each insecure setting of a broker, a ZooKeeper server or a client.

    Java options (-D) that set the same property are checked too.
    """
    for broker in model.brokers:
        for variable, layer in broker.layers:
            yield from _check(broker, variable, layer, _of_broker(broker))
        yield from _check(broker, "kafka_client_properties", broker.inputs.mapping("kafka_client_properties"), TLS)
        for name, client in broker.inputs.mapping("kafka_admin_listeners").items():
            yield from _check(broker, f"kafka_admin_listeners[{name}]", client, TLS)
        # The JVM's options of ZooKeeper's client.
        yield from _check_options(broker, TLS)
    for server in model.servers:
        yield from _check(server, "zookeeper_config", server.config, _of_server(server))
        yield from _check_options(server, _of_server(server))
    for machine in model.functional:
        yield from _check(machine, "kafka_client", machine.inputs.get("kafka_client"), TLS)
    for node in model.spark_nodes:
        site = node.inputs.mapping("kafka_client")
        for job in node.jobs:
            own = {name: value for name, value in job.kafka.items() if site.get(name) != value}
            yield from _check(node, f"{job.variable}.config.kafka", own, TLS)


def _of_broker(broker: Broker) -> tuple[Setting, ...]:
    """Return the rows of BROKER that apply to a broker, without those whose problem another rule reports."""
    reported = set[str]()
    if not broker.super_users:
        reported.add(AUTHORIZER_NONE.code)
    if not broker.zookeeper_keystore:
        reported.add(ZNODES_OPEN.code)
    return tuple(item for item in BROKER if item.kind.code not in reported)


def _of_server(server: ZooKeeperServer) -> tuple[Setting, ...]:
    """Return the rows of ZOOKEEPER that apply to this server, as not the admin server if it listens on the loopback."""
    local = LOOPBACK.fullmatch(str(server.config.get("admin.serverAddress") or ""))
    return tuple(
        item
        for item in ZOOKEEPER
        if not (local and item.kind is ZOOKEEPER_ADMIN_SERVER) and (server.quorum_tls or item.names != "sslQuorum")
    )


def _check(machine: Machine, variable: str, settings: Any, table: tuple[Setting, ...]) -> Iterator[Problem]:
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        setting = OF_LISTENER.sub("", str(name), count=1)
        written = REMOVED if value is None else text(value).strip()
        for item in table:
            if item.fits(setting, written):
                shown = None if item.kind in SECRETS else written or "''"
                yield machine.report(item.kind, f"{variable}[{name}]", shown)


def _check_options(machine: Machine, table: tuple[Setting, ...]) -> Iterator[Problem]:
    for variable, arguments in options(machine).items():
        given = (option.removeprefix("-Dzookeeper.").partition("=") for option in arguments if "-Dzookeeper." in option)
        yield from _check(machine, variable, {name: value for name, _, value in given}, table)


CLIENT_AUTH_NONE = ProblemKind(
    "CLIENT_AUTH_NONE",
    "every client without a certificate becomes User:ANONYMOUS",
    "remove it (default: required)",
)
CLIENT_AUTH_NONE_BROKERS = CLIENT_AUTH_NONE.variant(
    message="every broker that connects without a certificate becomes User:ANONYMOUS"
)


def client_auth(model: Model) -> Iterator[Problem]:
    """Yield a problem for each listener with protocol SSL that does not require a certificate of clients."""
    for broker in model.brokers:
        for item in broker.listeners:
            name = f"listener.name.{item.name.lower()}.ssl.client.auth"
            variable, value = f"{item.variable}.client_auth", item.client_auth
            for layer_name, layer in broker.layers:
                if name in layer:
                    variable, value = f"{layer_name}[{name}]", text(layer[name] or "none")
            inner = item.name == str(broker.inter_broker)
            if item.protocol == "SSL" and value in (("none", "requested") if inner else ("none",)):
                yield broker.report(CLIENT_AUTH_NONE_BROKERS if inner else CLIENT_AUTH_NONE, variable, value)


TOKEN_UNSIGNED = ProblemKind(
    "TOKEN_UNSIGNED",
    "without a callback handler that verifies tokens, Kafka accepts unsigned tokens: a client can log in under any "
    "name",
    "set kafka_config[{property}], as docs/security.md shows",
)


def tokens(model: Model) -> Iterator[Problem]:
    """Yield a problem for each listener with OAUTHBEARER but no callback handler that verifies tokens."""
    for broker in model.brokers:
        for item in broker.listeners:
            name = f"listener.name.{item.name.lower()}.oauthbearer.sasl.server.callback.handler.class"
            if "OAUTHBEARER" in item.mechanisms and not broker.config.get(name):
                yield broker.report(TOKEN_UNSIGNED, item.variable, "OAUTHBEARER", property=name)


def zookeeper(model: Model) -> Iterator[Problem]:
    """Yield a problem for each ZooKeeper server that accepts connections without TLS.

    If security_profile is plaintext, yield nothing.
    """
    for server in model.servers:
        if server.inputs.get("security_profile") == "plaintext":
            continue
        if not server.quorum_tls:
            yield server.report(ZOOKEEPER_CLEAR_QUORUM, "zookeeper_quorum_tls", False)
        if port := server.ports.get("zookeeper_client_port"):
            yield server.report(ZOOKEEPER_CLEAR_CLIENTS, "zookeeper_client_port", port)
