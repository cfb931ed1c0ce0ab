"""The filters that turn inputs into TLS and logins, and those that say which hosts a play is for."""

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from unit.test_filters import general

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
KEYS, CAS = "/tls/keystore.pem", "/tls/ca.pem"


def test_zookeeper_towards_clients_alone() -> None:
    assert general["zookeeper_tls"](KEYS, CAS, "", 2281, False) == {
        "fips-mode": False,
        "secureClientPort": 2281,
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": KEYS,
        "ssl.keyStore.password": None,
        "ssl.trustStore.location": CAS,
        "ssl.clientAuth": "need",
        "ssl.hostnameVerification": True,
        "ssl.clientHostnameVerification": False,
        "ssl.allowReverseDnsLookup": False,
        "client.certReload": True,
    }


def test_zookeeper_among_servers_alone() -> None:
    """A .p12 has a password in both places."""
    assert general["zookeeper_tls"]("/tls/k.p12", CAS, "staple", 0, True) == {
        "fips-mode": False,
        "sslQuorum": True,
        "sslQuorumReloadCertFiles": True,
        "ssl.quorum.keyStore.location": "/tls/k.p12",
        "ssl.quorum.keyStore.password": "staple",
        "ssl.quorum.trustStore.location": CAS,
        "ssl.quorum.clientAuth": "need",
        "ssl.quorum.hostnameVerification": True,
        "ssl.quorum.allowReverseDnsLookup": False,
    }


def test_zookeeper_in_the_clear() -> None:
    assert general["zookeeper_tls"](KEYS, CAS, "", 0, False) == {}


@pytest.mark.parametrize(
    ("listener", "expected"),
    [
        ({"protocol": "PLAINTEXT"}, {}),
        (
            {"protocol": "SASL_PLAINTEXT", "sasl_mechanisms": ["PLAIN", "SCRAM-SHA-256"]},
            {"sasl.enabled.mechanisms": ["PLAIN", "SCRAM-SHA-256"], "scram-sha-256.sasl.jaas.config": SCRAM},
        ),
        (
            {"protocol": "SASL_SSL"},
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": KEYS,
                "ssl.client.auth": "none",
                "sasl.enabled.mechanisms": ["SCRAM-SHA-512"],
                "scram-sha-512.sasl.jaas.config": SCRAM,
            },
        ),
        (
            {"protocol": "SSL", "principal_mapping_rules": ["DEFAULT"]},
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": KEYS,
                "ssl.client.auth": "required",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": CAS,
                "ssl.principal.mapping.rules": ["DEFAULT"],
            },
        ),
        (
            {
                "protocol": "SASL_SSL",
                "client_auth": "requested",
                "keystore": "/own.pem",
                "truststore": "/own-ca.pem",
                "sasl_mechanisms": [],
            },
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": "/own.pem",
                "ssl.client.auth": "requested",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/own-ca.pem",
                "sasl.enabled.mechanisms": ["SCRAM-SHA-512"],
                "scram-sha-512.sasl.jaas.config": SCRAM,
            },
        ),
        (
            {"protocol": "SSL", "client_auth": "none"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": KEYS, "ssl.client.auth": "none"},
        ),
    ],
)
def test_security_of_a_listener(listener: dict[str, Any], expected: dict[str, Any]) -> None:
    """Under the listener's name in small letters; who connects to SSL needs a certificate, to SASL_SSL a login."""
    found = general["kafka_listener_security"]([{"name": "Client", **listener}], KEYS, CAS)
    assert found == {f"listener.name.client.{name}": value for name, value in expected.items()}


def test_every_listener_has_its_own() -> None:
    listeners = [
        {"name": "A", "protocol": "PLAINTEXT"},
        {"name": "B", "protocol": "SSL"},
        {"name": "C", "protocol": "SASL_SSL"},
    ]
    prefixes = {name.split(".")[2] for name in general["kafka_listener_security"](listeners, KEYS, CAS)}
    assert prefixes == {"b", "c"}


def test_tools_are_what_the_broker_is() -> None:
    listeners = [
        {"name": "CLIENT", "address": "10.0.1.1", "port": 9092, "protocol": "PLAINTEXT"},
        {"name": "R", "address": "10.0.2.1", "port": 9093, "protocol": "SSL", "truststore": "/own-ca.pem"},
    ]
    assert general["kafka_tool_properties"](listeners, "CLIENT", KEYS, CAS) == {"bootstrap.servers": "10.0.1.1:9092"}
    assert general["kafka_tool_properties"](listeners, "R", KEYS, CAS) == {
        "bootstrap.servers": "10.0.2.1:9093",
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": KEYS,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/own-ca.pem",
    }


def test_login_with_any_character() -> None:
    """As JAAS reads it: a backslash and a quote have a backslash before them."""
    assert general["scram_login"]('a"b\\c;=', "me") == {
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": rf'{SCRAM[:-1]} username="me" password="a\"b\\c;=";',
    }
    config = general["scram_login"]("a\nb\t\x7f7", "me")["sasl.jaas.config"]
    assert config == rf'{SCRAM[:-1]} username="me" password="a\012b\011\1777";'  # Java's StreamTokenizer reads octals


def test_a_login_comes_from_the_list_of_users() -> None:
    """Password and mechanism are said once; a user who is not there is said to be missing."""
    users = [
        {"name": "a", "password": "old", "state": "absent"},
        {"name": "a", "password": "new", "mechanism": "SCRAM-SHA-256"},
        {"name": "b", "password": "secret b"},
    ]
    assert general["kafka_login"](users, "a") == {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{SCRAM[:-1]} username="a" password="new";',
    }
    assert general["kafka_login"](users, "b")["sasl.mechanism"] == "SCRAM-SHA-512"
    with pytest.raises(
        AnsibleFilterError, match=r"^kafka_users has no user c, it has a, b; declare it, or correct the name$"
    ):
        general["kafka_login"](users, "c")


def test_properties_for_kcat() -> None:
    """The same under librdkafka's names, the CAs where they are on this machine; what only Java knows is left out."""
    client = {
        "bootstrap.servers": "h:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/etc/millrace/tls/ca.pem",
        "acks": "all",
    }
    expected = {
        "bootstrap.servers": "h:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.ca.location": "/etc/millrace/tls/ca.pem",
    }
    assert general["librdkafka"](client) == expected
    assert general["librdkafka"](client, "/here/ca.pem") == {**expected, "ssl.ca.location": "/here/ca.pem"}
    assert general["librdkafka"]({"bootstrap.servers": "h:9092"}, "/here/ca.pem") == {"bootstrap.servers": "h:9092"}


@pytest.mark.parametrize(
    ("settings", "hidden"),
    [
        (
            {
                "jaas": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
                "ssl.secure.random.implementation": "x",
            },
            False,
        ),
        ({"ssl.key.password": None}, False),
        ({"listener.name.client.ssl.keystore.password": "s"}, True),
        ({"sasl.jaas.config": 'x.LoginModule required username="u" password = "p";'}, True),
        ({"oauth.client.secret": "s"}, True),
        ({"delegation.token.secret.key": "s"}, True),
        ({"my.secrets.of.old": "s"}, True),
        ({"ssl.key.password": 123456}, True),
        ({"sasl.jaas.config": 'x.OAuthBearerLoginModule required clientSecret="s";'}, True),
        ({"kafka": {"password": "s"}}, True),
    ],
)
def test_a_file_with_a_password_is_guarded(settings: dict[str, Any], hidden: bool) -> None:
    """It goes to the host as Base64, which is masked; another as it is."""
    file = {"path": "/p", "content": "a=b\n", "mode": "0640"}
    wanted = {"path": "/p", "mode": "0640", "secret": True, "secret_base64": "YT1iCg=="} if hidden else file
    assert general["guarded"](file, settings) == wanted


@pytest.mark.parametrize(
    ("file", "kind", "told"),
    [
        ("k.pem", "PEM", None),
        ("broker.crt", "PEM", "PEM"),
        ("k.p12", "PKCS12", None),
        ("k.pfx", "PKCS12", "PKCS12"),
        ("k.jks", "JKS", None),
        ("k.bcfks", "BCFKS", None),
    ],
)
def test_the_kind_of_a_keystore_is_told_by_its_name(file: str, kind: str, told: str | None) -> None:
    """Kafka is always told; ZooKeeper knows four ends by itself, and is told of others."""
    listeners = [{"name": "R", "address": "10.0.0.1", "port": 9093, "protocol": "SSL", "client_auth": "none"}]
    found = general["kafka_listener_security"](listeners, f"/{file}", "/ca.pem", "pw")
    assert found["listener.name.r.ssl.keystore.type"] == kind
    assert ("listener.name.r.ssl.keystore.password" in found) == (kind != "PEM")
    keys = general["zookeeper_tls"](f"/{file}", CAS, "pw", 2281, True)
    assert [keys.get(f"{name}.keyStore.type") for name in ("ssl", "ssl.quorum")] == [told, told]
    assert "ssl.trustStore.type" not in keys


def test_a_bundle_of_cas_may_have_any_name() -> None:
    keys = general["zookeeper_tls"](KEYS, "/tls/ca.crt", "", 2281, False)
    assert keys["ssl.trustStore.type"] == "PEM"


def test_a_pkcs12_keystore_of_a_broker() -> None:
    """Its type is told by its name, and it has a password."""
    listeners = [{"name": "R", "address": "10.0.0.1", "port": 9093, "protocol": "SSL", "client_auth": "none"}]
    assert general["kafka_listener_security"](listeners, "/k.p12", "/ca.pem", "pw") == {
        "listener.name.r.ssl.keystore.type": "PKCS12",
        "listener.name.r.ssl.keystore.location": "/k.p12",
        "listener.name.r.ssl.keystore.password": "pw",
        "listener.name.r.ssl.client.auth": "none",
    }
    assert general["kafka_tool_properties"](listeners, "R", "/k.p12", "/ca.pem", "pw")["ssl.keystore.password"] == "pw"


def test_a_role_gets_the_files_of_its_own_function() -> None:
    """And those of groups that are no function's; no key of another service, whose group may not be there yet."""
    made = {
        "changes": ["x"],
        "files": [
            {"path": "/a/k.pem", "group": "kafka"},
            {"path": "/b/k.pem", "group": "zookeeper"},
            {"path": "/c/k.pem", "group": "root"},
        ],
        "directories": [{"path": "/a", "group": "kafka"}, {"path": "/b", "group": "zookeeper"}],
        "held": {"a": {"path": "/a/k.pem"}, "b": {"path": "/b/k.pem"}, "admin": {"path": ""}},
    }
    found = general["pki_of"](made, "kafka")
    assert [file["path"] for file in found["files"]] == ["/a/k.pem", "/c/k.pem"]
    assert (found["directories"], list(found["held"])) == ([{"path": "/a", "group": "kafka"}], ["a"])
    assert found["changes"] == ["x"]


def test_a_certificate_is_its_functions_whatever_its_group_is_called() -> None:
    """One of the site's own that is nobody's is put on the host, and no service is restarted for it."""
    files = [
        {"path": "/b/ca.pem", "group": "postgres", "function": "kafka"},
        {"path": "/l/k.pem", "group": "kafka"},
        {"path": "/m/k.pem", "group": "postgres", "function": "kafka"},
        {"path": "/z/k.pem", "group": "kafka", "function": "zookeeper"},
        {"path": "/a/k.pem", "group": "root"},
    ]
    held = {name: {"path": f"/{name}/k.pem", "subject": name} for name in ("z", "l", "m", "a")}
    folders = [{"path": path, "group": "x"} for path in ("/a", "/b", "/l", "/m", "/z")]
    made = {"files": files, "directories": folders, "held": held}
    found = general["pki_of"](made, "kafka")
    assert [file["path"] for file in found["files"]] == ["/b/ca.pem", "/m/k.pem", "/a/k.pem", "/l/k.pem"]
    assert [folder["path"] for folder in found["directories"]] == ["/a", "/b", "/l", "/m"]
    assert list(found["held"]) == ["m", "l"], "the function's own first, then what the site has besides for it"
    turned = {**made, "files": files[::-1], "held": dict(reversed(held.items()))}
    assert general["pki_of"](turned, "kafka") == found
    assert list(general["pki_of"](made, "zookeeper")["held"]) == ["z"]


def test_entries_of_functions_say_whose_they_are() -> None:
    """What other functions have is not looked at; a host does not get what only the control node wants to know."""
    items = {"kafka": [{"name": "a"}], "zookeeper": ["unit"], "spark": None}
    assert general["function_items"](items, ["zookeeper", "kafka"]) == [{"name": "a", "function": "kafka"}, "unit"]
    assert general["host_file"]({"path": "/a", "content": "", "function": "kafka"}) == {"path": "/a", "content": ""}
