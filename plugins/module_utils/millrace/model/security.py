"""Rules on TLS: which files a host needs, what its certificates have to name, whom the brokers take each other for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import listeners
from ..problems import Problem
from .base import Model, whole
from .networks import WILDCARDS, is_address

# org.apache.kafka.common.security.oauthbearer.internals.secured.ConfigurationUtils
TOKEN_URL = re.compile(r"sasl\.oauthbearer\.(jwks|token)\.endpoint\.url$")
PROVIDED = "let the role pki put it there (pki_certificates, pki_truststores), or put it there yourself"
# SslPrincipalMapper of Kafka.
RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")


def profile(model: Model) -> Iterator[Problem]:
    """What is for debugging is not for production."""
    for host in model.function_hosts:
        if model.production(host) and model.get(host, "security_profile") == "plaintext":
            wrong = "no TLS and no logins, and this is production"
            yield Problem((host,), "security_profile", "SECURITY_PLAINTEXT", "plaintext", wrong, "set it to secure, or take it out")


def _entries(model: Model, host: str, name: str) -> list[Mapping[str, Any]]:
    return [item for item in model.sequence(host, name) if isinstance(item, Mapping)]


def _names(item: Mapping[str, Any], key: str = "names") -> list[str]:
    found = item.get(key)
    return [str(name) for name in found] if isinstance(found, (list, tuple)) else []


def encrypted(model: Model, host: str) -> list[Mapping[str, Any]]:
    """Return the listeners that speak TLS."""
    return [item for item in model.listeners(host) if listeners.encrypted(item)]


def _server_tls(model: Model, host: str) -> bool:
    """Tell whether a ZooKeeper server speaks TLS to anybody."""
    return bool(model.get(host, "zookeeper_quorum_tls")) or "zookeeper_secure_client_port" in model.zookeeper_ports(host)


def stores(model: Model) -> Iterator[Problem]:
    """The files that services read are made by the role pki, unless somebody else puts them there."""
    for host in model.cluster_hosts:
        keys: dict[str, Any] = {}
        trusted: dict[str, Any] = {}
        if host in model.kafka:
            for item in encrypted(model, host):
                place = f"kafka_listeners[{item.get('name')}]"
                keys[f"{place}.keystore" if item.get("keystore") else "kafka_keystore"] = item.get("keystore") or model.get(host, "kafka_keystore")
                if listeners.client_auth(item) != "none":
                    own = item.get("truststore")
                    trusted[f"{place}.truststore" if own else "kafka_truststore"] = own or model.get(host, "kafka_truststore")
            if model.get(host, "kafka_zookeeper_keystore"):
                keys["kafka_zookeeper_keystore"] = model.get(host, "kafka_zookeeper_keystore")
                trusted["kafka_truststore"] = model.get(host, "kafka_truststore")
        if host in model.zookeeper and _server_tls(model, host):
            keys["zookeeper_keystore"] = model.get(host, "zookeeper_keystore")
            trusted["zookeeper_truststore"] = model.get(host, "zookeeper_truststore")
        for found, made, code in ((keys, "pki_certificates", "KEYSTORE_UNKNOWN"), (trusted, "pki_truststores", "TRUSTSTORE_UNKNOWN")):
            if made in model.names[host] - model.hosts[host].keys():
                continue  # could not be computed, which is reported
            paths = [item.get("path") for item in _entries(model, host, made)]
            for variable, path in found.items():
                if path not in paths:
                    yield Problem((host,), variable, code, path, f"no entry of {made} has this path", PROVIDED, warning=True)


def token_urls(model: Model) -> Iterator[Problem]:
    """A broker asks no URL for tokens or keys that its JVM is not told of, and does not start."""
    for host in model.kafka:
        for name, value in {**model.mapping(host, "kafka_config"), **model.mapping(host, "kafka_config_overrides")}.items():
            if TOKEN_URL.search(str(name)) and value and str(value) not in map(str, model.sequence(host, "kafka_oauthbearer_allowed_urls")):
                wrong = "not in kafka_oauthbearer_allowed_urls, so Kafka would not start"
                yield Problem((host,), f"kafka_config[{name}]", "OAUTHBEARER_URL", value, wrong, "name it there, as it is written here")


def certificate_names(model: Model) -> Iterator[Problem]:
    """A certificate names every address that its host is reached at or connects from: peers compare it, and ZooKeeper both ways."""
    for host in model.cluster_hosts:
        own = [model.get(host, "client_address"), model.get(host, "replication_address")]
        wanted: dict[Any, list[Any]] = {}
        if host in model.kafka:
            for item in encrypted(model, host):
                main = model.get(host, "kafka_keystore")
                path = item.get("keystore") or main
                told = [item.get("address"), item.get("advertised_address"), *(own if path == main else [])]
                wanted[str(path)] = [*wanted.get(str(path), []), *told]
        if host in model.zookeeper and _server_tls(model, host):
            servers = {whole(number): value for number, value in model.mapping(host, "zookeeper_servers").items()}
            bound = servers.get(model.whole(host, "zookeeper_id"))
            several = bound if isinstance(bound, (list, tuple)) else [bound]
            # An address that is not the host's is another mistake.
            wanted[str(model.get(host, "zookeeper_keystore"))] = [*(name for name in several if not is_address(name)), *own]
        for item in _entries(model, host, "pki_certificates"):
            named = [str(name) for name in wanted.get(str(item.get("path")), []) if name and str(name) not in WILDCARDS]
            lacking = _lacking(dict.fromkeys(named), _names(item))
            if lacking:
                wrong = f"names lack {', '.join(lacking)}, where the host is reached or connects from, and peers would refuse it there"
                yield Problem((host,), f"pki_certificates[{item.get('name')}]", "CERTIFICATE_NAMES", None, wrong, "add every address of the host")


def _lacking(wanted: Mapping[str, None], names: Sequence[str]) -> list[str]:
    known = {name.lower() for name in names}
    return [name for name in wanted if name.lower() not in known and f"*.{name.lower().partition('.')[2]}" not in known]


def principal(rules: Sequence[str], subject: str) -> str | None:
    """Return whom Kafka takes the holder of a certificate for, '' for nobody; None where a rule cannot be judged here.

    As SslPrincipalMapper: the first rule whose pattern is the whole subject; no rule at all is DEFAULT, the subject itself. Patterns are
    Java's, of which Python's are most.
    """
    for rule in rules or ["DEFAULT"]:
        if rule.strip() == "DEFAULT":
            return subject
        found = RULE.fullmatch(rule.strip())
        if not found:
            return None
        pattern, replacement, letters = found.groups()
        try:
            match = re.fullmatch(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern), subject)
            if match:
                groups = [group or "" for group in (match.group(), *match.groups())]
                name = "".join(groups[int(part[1])] if re.fullmatch(r"\$\d", part) else part for part in re.split(r"(\$\d)", replacement))
                return {"L": name.lower(), "U": name.upper()}.get(letters, name)
        except (re.error, IndexError):
            return None
    return ""


def principals(model: Model) -> Iterator[Problem]:
    """Brokers take each other for a super user; else they refuse to copy from one another."""
    for host in model.kafka:
        super_users = [str(name) for name in model.sequence(host, "kafka_super_users")]
        for item in encrypted(model, host):
            variable = f"kafka_listeners[{item.get('name')}].principal_mapping_rules"
            rules = _names(item, "principal_mapping_rules")
            for rule in rules:
                if rule.strip() != "DEFAULT" and not RULE.fullmatch(rule.strip()):
                    wrong = "no rule as Kafka reads it, and it would not start"
                    yield Problem(
                        (host,), variable, "PRINCIPAL_RULE", rule, wrong, "write it as RULE:pattern/replacement/, with L or U at its end, or DEFAULT"
                    )
            if item.get("name") != model.get(host, "kafka_inter_broker_listener") or item.get("protocol") != "SSL" or not super_users:
                continue
            path = item.get("keystore") or model.get(host, "kafka_keystore")
            for certificate in _entries(model, host, "pki_certificates"):
                if not path or certificate.get("path") != path:
                    continue
                subject = re.sub(r"\s*,\s*", ",", str(certificate.get("subject")))
                found = principal(rules, subject)
                if found is not None and f"User:{found}" not in super_users:
                    taken = f"taken for User:{found}" if found else "refused, no rule maps it"
                    wrong = f"a broker that comes with this subject is {taken}, and no super user: brokers would not copy from one another"
                    advice = f"let a rule map it to one of kafka_super_users ({', '.join(super_users)})"
                    yield Problem((host,), variable, "PRINCIPAL_NOT_SUPER", subject, wrong, advice)


def super_users(model: Model) -> Iterator[Problem]:
    """Whoever proved who he is may not do everything."""
    for host in model.kafka:
        config = {**model.mapping(host, "kafka_config"), **model.mapping(host, "kafka_config_overrides")}
        proven = [item for item in model.listeners(host) if item.get("protocol") not in (None, "PLAINTEXT")]
        if proven and not model.sequence(host, "kafka_super_users") and not config.get("authorizer.class.name"):
            wrong = "listeners ask who somebody is, and without super users there is no authorizer: everybody may do everything"
            advice = "name the principals of the brokers and the admin, as [User:kafka-broker, User:admin]"
            yield Problem((host,), "kafka_super_users", "SUPER_USERS_MISSING", None, wrong, advice, warning=not model.production(host))


def client_authorities(model: Model) -> Iterator[Problem]:
    """Clients with certificates have a CA of their own."""
    for host in model.kafka:
        bundles = {str(item.get("path")): set(_names(item, "authorities")) for item in _entries(model, host, "pki_truststores")}
        main = str(model.get(host, "kafka_truststore"))
        inner = next((item for item in encrypted(model, host) if item.get("name") == model.get(host, "kafka_inter_broker_listener")), {})
        infra = str(inner.get("truststore") or main)
        for item in encrypted(model, host):
            path = str(item.get("truststore") or main)
            if not inner or item is inner or listeners.client_auth(item) == "none":
                continue
            if path in (infra, main) or bundles.get(path, set()) & bundles.get(infra, set()):
                wrong = "its clients have certificates of the brokers' own CA, with which they may read most of ZooKeeper"
                advice = "give clients a CA of their own, and this listener a truststore with that alone"
                yield Problem((host,), f"kafka_listeners[{item.get('name')}].truststore", "LISTENER_CLIENT_CA", path, wrong, advice, warning=True)


def zookeeper(model: Model) -> Iterator[Problem]:
    """Servers listen for clients, and all of them speak TLS among themselves, or none does."""
    told: dict[bool, list[str]] = {}
    for host in model.zookeeper:
        told.setdefault(bool(model.get(host, "zookeeper_quorum_tls")), []).append(host)
        if not model.zookeeper_ports(host):
            wrong = "this port is 0, and so is zookeeper_client_port: nobody could connect"
            yield Problem((host,), "zookeeper_secure_client_port", "ZOOKEEPER_PORTS_NONE", None, wrong, "set it to 2281")
    if len(told) > 1:
        few = min(told.values(), key=len)
        wrong = "the other servers have it otherwise, and the two kinds do not hear each other"
        advice = "set it for the group, not for a host"
        yield Problem(tuple(few), "zookeeper_quorum_tls", "ZOOKEEPER_QUORUM_DIFFERS", bool(model.get(few[0], "zookeeper_quorum_tls")), wrong, advice)


def zookeeper_clients(model: Model) -> Iterator[Problem]:
    """Brokers speak to ZooKeeper as the port that they are told of does."""
    secure, plain = (
        {port for server in model.zookeeper if (port := model.zookeeper_ports(server).get(name))}
        for name in ("zookeeper_secure_client_port", "zookeeper_client_port")
    )
    for host in model.kafka:
        ports = {whole(str(entry).rpartition(":")[2]) for entry in model.sequence(host, "kafka_zookeeper_connect")}
        keystore = model.get(host, "kafka_zookeeper_keystore")
        if keystore and ports & (plain - secure):
            wrong = f"port {min(plain - secure)} is in the clear, and kafka_zookeeper_keystore says TLS: the broker could not connect"
            advice = "name zookeeper_secure_client_port, or set kafka_zookeeper_keystore to ''"
            yield Problem((host,), "kafka_zookeeper_connect", "ZOOKEEPER_CONNECT_PLAIN", None, wrong, advice)
        if not keystore and ports & (secure - plain):
            wrong = f"port {min(secure - plain)} speaks TLS and asks for a certificate, and kafka_zookeeper_keystore is empty"
            advice = "set kafka_zookeeper_keystore, or name zookeeper_client_port"
            yield Problem((host,), "kafka_zookeeper_connect", "ZOOKEEPER_CONNECT_SECURE", None, wrong, advice)
        for variable in ("kafka_config", "kafka_config_overrides"):
            if not keystore and str(model.mapping(host, variable).get("zookeeper.set.acl")).lower() == "true":
                wrong = "the owner of a znode is known by its certificate, and kafka_zookeeper_keystore is empty: the broker would not start"
                advice = "set kafka_zookeeper_keystore, which sets this as well"
                yield Problem((host,), f"{variable}[zookeeper.set.acl]", "ZOOKEEPER_ACL_OWNER", True, wrong, advice)
