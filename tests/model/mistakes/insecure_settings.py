"""Wrong inventories: settings that weaken security, in production."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import BROKERS, SERVERS, Mistake, config, kafka, zookeeper

TOKENS = "listener.name.client.oauthbearer.sasl"
RULES = ["RULE:^CN=[^,]+,OU=brokers,O=example$/kafka-broker/", "RULE:^CN=([^,]+),OU=admins,O=example$/$1/"]
CLIENT: dict[str, Any] = {"name": "CLIENT", "address": "{{ client_address }}", "port": 9092, "protocol": "SASL_SSL"}
REPLICATION: dict[str, Any] = {
    "name": "REPLICATION",
    "address": "{{ replication_address }}",
    "port": 9093,
    "protocol": "SSL",
    "principal_mapping_rules": RULES,
}


def site_listeners(client: dict[str, Any] | None = None, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the listeners of a production site, with changes to the second."""
    return kafka(kafka_listeners=[{**CLIENT, **(client or {})}, {**REPLICATION, **changes}])


def weak(code: str, name: str, value: Any, advice: str, group: str = "kafka") -> Mistake:
    """Return a property of all brokers, or of all servers, that weakens security."""
    where = f"group {group}/{group}_config[{name}]"
    return Mistake(code, where, advice, variables=config(name, value, group), inventory="stretch3")


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "CIPHER_UNFIT",
        f"{BROKERS}/kafka_config[ssl.cipher.suites]",
        "did you mean TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384?",
        variables=config("ssl.cipher.suites", "ECDHE-RSA-AES256-GCM-SHA384"),
    ),
    weak("HOSTNAME_UNCHECKED", "ssl.endpoint.identification.algorithm", "", "remove it (default: https)"),
    weak("CIPHER_WEAK", "ssl.cipher.suites", ["TLS_RSA_WITH_NULL_SHA256"], "remove it"),
    weak(
        "TLS_OLD", "listener.name.client.ssl.enabled.protocols", ["TLSv1.2", "TLSv1.1"], "use only TLSv1.2 and TLSv1.3"
    ),
    weak("AUTHORIZER_NONE", "authorizer.class.name", None, "delete this key"),
    weak("EVERYONE_ALLOWED", "allow.everyone.if.no.acl.found", True, "declare ACLs"),
    Mistake(
        "CLIENT_AUTH_NONE",
        f"{BROKERS}/kafka_listeners[REPLICATION].client_auth",
        "required",
        variables=site_listeners(client_auth="none"),
        inventory="stretch3",
    ),
    Mistake(
        "TOKEN_CLEAR",
        f"{BROKERS}/kafka_config[listener.name.client.sasl.oauthbearer.jwks.endpoint.url]",
        "use https",
        variables=kafka(
            kafka_oauthbearer_allowed_urls=["http://login.example.org/keys"],
            kafka_config={"listener.name.client.sasl.oauthbearer.jwks.endpoint.url": "http://login.example.org/keys"},
        ),
        inventory="stretch3",
    ),
    Mistake(
        "TOKEN_UNSIGNED",
        f"{BROKERS}/kafka_listeners[CLIENT]",
        "docs/security.md",
        variables=kafka(
            kafka_listeners=[{**CLIENT, "sasl_mechanisms": ["SCRAM-SHA-512", "OAUTHBEARER"]}, REPLICATION],
            kafka_config={
                f"{TOKENS}.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
            },
        ),
        inventory="stretch3",
    ),
    weak("ZNODES_OPEN", "skipACL", "yes", "remove it", "zookeeper"),
    weak("ZOOKEEPER_CLIENT_AUTH", "ssl.clientAuth", "none", "remove it (default: need)", "zookeeper"),
    weak("ZOOKEEPER_COMMANDS", "4lw.commands.whitelist", "*", "[srvr, mntr, ruok]", "zookeeper"),
    weak("ZOOKEEPER_ADMIN_SERVER", "admin.enableServer", True, "remove it (default: false)", "zookeeper"),
    Mistake(
        "ZOOKEEPER_CLEAR",
        f"{SERVERS}/zookeeper_quorum_tls",
        "remove it (default: true)",
        variables=zookeeper(zookeeper_quorum_tls=False),
        inventory="stretch3",
    ),
    Mistake(
        "ZOOKEEPER_SUPER_DIGEST",
        f"{SERVERS}/zookeeper_java_options[DigestAuthenticationProvider.superDigest]",
        "remove it",
        variables=zookeeper(
            zookeeper_java_options=["-Dzookeeper.DigestAuthenticationProvider.superDigest=super:{{ 'xQJm' }}="]
        ),
        inventory="stretch3",
    ),
)
