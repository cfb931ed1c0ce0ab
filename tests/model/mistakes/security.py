"""Wrong inventories: TLS, certificates and the ACL of znodes."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import BROKERS, SERVERS, Mistake, config, kafka, listeners, zookeeper

PLAIN = [f"198.18.{network}.1{number}:2181" for network in (1, 2) for number in (1, 2, 3)]
BROKER: dict[str, Any] = {
    "name": "broker",
    "subject": "CN={{ inventory_hostname }},OU=brokers,O=lab",
    "authority": "infra",
    "names": ["{{ inventory_hostname }}", "{{ client_address }}", "{{ replication_address }}"],
    "path": "/etc/kafka/tls/keystore.pem",
    "group": "kafka",
}
TO_ZOOKEEPER: dict[str, Any] = {
    "name": "zookeeper",
    "subject": "CN=kafka,OU=zkclients,O=lab",
    "authority": "infra",
    "usage": ["client"],
    "path": "/etc/kafka/tls/zookeeper.pem",
    "group": "kafka",
}
APP: dict[str, Any] = {"name": "APP", "address": "{{ client_address }}", "port": 9094, "protocol": "SSL"}


def replication(**changes: Any) -> list[dict[str, Any]]:
    """Return the lab's listeners, with changes to the second."""
    client, second = listeners()
    return [client, {**second, **changes}]


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "KEYSTORE_FORM",
        f"{BROKERS}/kafka_keystore_password",
        "set the password, in a vaulted file",
        variables=kafka(kafka_keystore="/etc/kafka/tls/keystore.pfx"),
    ),
    Mistake(
        "AUTHORITY_UNKNOWN",
        "group all/infra_authority",
        "use one of these: infra",
        variables={"all": {"infra_authority": "corporate"}},
    ),
    Mistake("AUTHORITY_NONE", "group all/infra_trusted", "remove it", variables={"all": {"infra_trusted": []}}),
    Mistake(
        "CLIENTS_TRUSTED",
        "group all/infra_trusted",
        "remove clients",
        inventory="stretch3",
        variables={"all": {"infra_trusted": ["infra", "clients"]}},
    ),
    # The profile
    Mistake(
        "SECURITY_PLAINTEXT",
        "group all/security_profile",
        "set it to secure",
        inventory="stretch3",
        variables={"all": {"security_profile": "plaintext"}},
    ),
    # Files and certificates
    Mistake(
        "KEYSTORE_UNKNOWN",
        f"{BROKERS}/kafka_keystore",
        "site_certificates",
        variables=kafka(kafka_keystore="/etc/kafka/broker.pem"),
    ),
    Mistake(
        "TRUSTSTORE_UNKNOWN",
        f"{SERVERS}/zookeeper_truststore",
        "site_truststores",
        variables=zookeeper(zookeeper_truststore="/etc/ca.pem"),
    ),
    Mistake(
        "STORE_GROUP",
        f"{BROKERS}/site_truststores[/etc/kafka/tls/clients.pem].group",
        "group: kafka",
        variables=kafka(
            site_listeners=[
                {
                    "name": "MTLS",
                    "address": "{{ client_address }}",
                    "port": 9094,
                    "protocol": "SSL",
                    "truststore": "/etc/kafka/tls/clients.pem",
                }
            ],
            site_truststores=[{"path": "/etc/kafka/tls/clients.pem", "authorities": ["clients"]}],
        ),
    ),
    Mistake(
        "CERTIFICATE_NAMES",
        "dc1-kafka2/pki_certificates[broker]",
        "every address",
        variables={
            "dc1-kafka2": {
                "pki_certificates": [{**BROKER, "names": ["dc1-kafka2", "{{ client_address }}"]}, TO_ZOOKEEPER]
            }
        },
    ),
    Mistake(
        "CERTIFICATE_FOLDER",
        "group all/pki_directory",
        "correct the path",
        variables={"all": {"pki_directory": f"/{300 * 'x'}", "admin_tls": {}, "zookeeper_root_acl": {}}},
    ),
    Mistake(
        "PRINCIPAL_RULE",
        f"{BROKERS}/kafka_listeners[REPLICATION].principal_mapping_rules",
        "RULE:pattern/replacement/",
        variables=kafka(kafka_listeners=replication(principal_mapping_rules=["RULE:^CN=[^,]+,OU=brokers,O=lab$"])),
    ),
    Mistake(
        "PRINCIPAL_NOT_SUPER",
        "dc1-kafka1/kafka_listeners[REPLICATION].principal_mapping_rules",
        "one of kafka_super_users (User:kafka-broker, User:admin)",
        variables={
            "dc1-kafka1": {"pki_certificates": [{**BROKER, "subject": "CN=dc1-kafka1,OU=broker,O=lab"}, TO_ZOOKEEPER]}
        },
    ),
    Mistake(
        "OAUTHBEARER_URL",
        f"{BROKERS}/kafka_config[listener.name.client.sasl.oauthbearer.jwks.endpoint.url]",
        "add exactly this URL",
        variables=config("listener.name.client.sasl.oauthbearer.jwks.endpoint.url", "https://login.example.org/keys"),
    ),
    Mistake(
        "SUPER_USERS_MISSING",
        f"{BROKERS}/kafka_super_users",
        "name the principals",
        variables=kafka(kafka_super_users=[]),
    ),
    Mistake(
        "LISTENER_CLIENT_CA",
        f"{BROKERS}/kafka_listeners[APP].truststore",
        "a separate CA for clients",
        variables=kafka(kafka_listeners=[*listeners(), APP]),
    ),
    Mistake(
        "PRINCIPAL_ANYBODY",
        f"{BROKERS}/kafka_listeners[REPLICATION].principal_mapping_rules",
        "the OU of the brokers",
        variables=kafka(kafka_listeners=replication(principal_mapping_rules=["RULE:^CN=.*$/kafka-broker/"])),
        inventory="stretch3",
    ),
    # ZooKeeper
    Mistake(
        "ZOOKEEPER_PORTS_NONE",
        "dc1-zk2/zookeeper_secure_client_port",
        "set it to 2281",
        variables={"dc1-zk2": {"zookeeper_secure_client_port": 0}},
        also=frozenset({"ZOOKEEPER_CONNECT_UNKNOWN", "ZOOKEEPER_CONNECT_PARTIAL"}),
    ),
    Mistake(
        "ZOOKEEPER_QUORUM_DIFFERS",
        "dc1-zk2/zookeeper_quorum_tls",
        "for the group",
        variables={"dc1-zk2": {"zookeeper_quorum_tls": False}},
        also=frozenset({"ZOOKEEPER_CLEAR"}),
    ),
    Mistake(
        "ZOOKEEPER_CONNECT_PLAIN",
        f"{BROKERS}/kafka_zookeeper_connect",
        "zookeeper_secure_client_port",
        variables={"kafka": {"kafka_zookeeper_connect": PLAIN}, "zookeeper": {"zookeeper_client_port": 2181}},
        also=frozenset({"ZOOKEEPER_CLEAR"}),
    ),
    Mistake(
        "ZOOKEEPER_CONNECT_SECURE",
        f"{BROKERS}/kafka_zookeeper_connect",
        "kafka_zookeeper_keystore",
        variables=kafka(kafka_zookeeper_keystore=""),
    ),
    Mistake(
        "ZOOKEEPER_ACL_OWNER",
        f"{BROKERS}/kafka_config[zookeeper.set.acl]",
        "kafka_zookeeper_keystore",
        variables={
            "kafka": {
                "kafka_zookeeper_connect": PLAIN,
                "kafka_zookeeper_keystore": "",
                **config("zookeeper.set.acl", True)["kafka"],
            },
            "zookeeper": {"zookeeper_client_port": 2181},
        },
        also=frozenset({"ZOOKEEPER_CLEAR"}),
    ),
    Mistake(
        "AUTHORITY_TWICE",
        "group all/pki_authorities[clients].subject",
        "its own",
        variables={
            "all": {
                "pki_authorities": [
                    {"name": "infra", "subject": "CN=Lab CA,O=lab"},
                    {"name": "clients", "subject": "CN=Lab CA,O=lab"},
                ]
            }
        },
    ),
)
