"""Whom Kafka takes a certificate for: examples of its documentation and its tests, and rules of this project.

The tests are those of its SslPrincipalMapperTest.
"""

from ansible_collections.millrace.kafka.plugins.plugin_utils.model import certificate_names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.access import contradictions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.principals import principal

BROKER = "CN=dc1-kafka1,OU=brokers,O=lab"
OURS = ["RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/", "RULE:^CN=([^,]+),OU=admins,O=lab$/$1/"]
DOCUMENTED = [
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L",
    "DEFAULT",
]


SUBJECTS: list[tuple[list[str], str, str | None]] = [
    (OURS, BROKER, "kafka-broker"),
    (OURS, "CN=admin,OU=admins,O=lab", "admin"),
    (OURS, "CN=app1,OU=clients,O=lab", ""),  # NoMatchingRule: refused
    (OURS, "CN=x,OU=brokers,O=lab,C=DE", ""),  # the pattern is the whole subject
    (["RULE:^CN=[^,]+/x/"], BROKER, ""),
    ([], BROKER, BROKER),
    (["DEFAULT"], BROKER, BROKER),
    (DOCUMENTED, "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"),
    (DOCUMENTED, "CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
    (DOCUMENTED, "cn=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke"),
    (DOCUMENTED, "OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    (["RULE:^CN=([^,]+).*$/x-$1-y/U"], BROKER, "X-DC1-KAFKA1-Y"),
    (["RULE:^CN=([^,]+).*$/$7/"], BROKER, None),  # no such group: not judged
    (["RULE:^CN=\\p{Alpha}+$/x/"], BROKER, None),  # Java's alone
    (["RULE:^CN=x"], BROKER, None),
    # Escaped, as Java's Matcher.replaceAll reads it.
    (["RULE:^CN=([^,]+).*$/cost\\$1/"], BROKER, "cost$1"),
    (["RULE:^CN=.*$/cost\\$9/"], BROKER, "cost$9"),
    (["RULE:^CN=([^,]+).*$/a\\/$1/"], BROKER, "a/dc1-kafka1"),
    (["RULE:^CN=(?<name>[^,]+),.*$/$1/"], BROKER, "dc1-kafka1"),
    (["RULE:^CN=(?<n>[^,]+),.*$/x-${n}/U"], BROKER, "X-DC1-KAFKA1"),
    (["RULE:^CN=(?<n>[^,]+),.*$/${m}/"], BROKER, None),  # no such group: not judged
]


def test_principal() -> None:
    found = [(rules, subject, principal(rules, subject)) for rules, subject, _ in SUBJECTS]
    assert found == SUBJECTS


LISTENERS: list[tuple[dict[str, object], list[str], str | None]] = [
    ({}, ["198.18.1.21", "198.18.2.21"], None),
    ({}, ["198.18.1.21"], "198.18.2.21"),  # from there it connects to the others
    (
        {"address": "0.0.0.0", "advertised_address": "K1.example.org"},
        ["198.18.1.21", "198.18.2.21"],
        "K1.example.org",
    ),
    ({"advertised_address": "k1.example.org"}, ["198.18.1.21", "198.18.2.21", "*.example.org"], None),
    ({"keystore": "/own.pem"}, [], None),  # the certificate that is judged is of no listener
    ({"protocol": "PLAINTEXT"}, [], None),
]


def missing(listener: dict[str, object], names: list[str]) -> str | None:
    """Return the name that is missing in the certificate of a listener."""
    values = {
        "client_address": "198.18.1.21",
        "replication_address": "198.18.2.21",
        "kafka_keystore": "/k.pem",
        "kafka_listeners": [{"name": "CLIENT", "address": "198.18.1.21", "port": 9092, "protocol": "SSL", **listener}],
        "pki_certificates": [{"name": "broker", "path": "/k.pem", "names": names}],
    }
    model = Model({"k1": values}, {"kafka": ["k1"]}, {}, {}, {}, frozenset(), frozenset())
    problems = certificate_names.missing(model)
    return ", ".join(problem.value or ", ".join(problem.details["names"]) for problem in problems) or None


def test_names_of_a_certificate() -> None:
    """A certificate contains the addresses of its listener, if it is the listener's."""
    assert [(listener, names, missing(listener, names)) for listener, names, _ in LISTENERS] == LISTENERS


ALLOW: dict[str, object] = {"permission": "allow"}
DENY: dict[str, object] = {"permission": "deny"}
GONE: dict[str, object] = {"state": "absent"}


ACLS: list[tuple[dict[str, object], dict[str, object], list[str]]] = [
    ({}, {}, ["ACL_DUPLICATE"]),
    ({}, {"pattern": "literal", "host": "*", **ALLOW, "state": "present"}, ["ACL_DUPLICATE"]),
    ({}, DENY, ["ACL_CONTRADICTION"]),
    ({}, GONE, ["ACL_CONTRADICTION"]),
    (DENY, {**DENY, **GONE}, ["ACL_CONTRADICTION"]),
    (GONE, DENY, []),  # allowed no longer, and denied
    ({**DENY, **GONE}, {}, []),
    ({}, {"pattern": "prefixed"}, []),
    ({}, {"host": "198.18.1.7"}, []),
    ({}, {"resource": "group"}, []),
    ({}, {"name": "u"}, []),
    ({}, {"principal": "User:b"}, []),
    ({}, {"operations": ["WRITE"]}, []),
    ({}, {"operations": ["read"]}, ["ACL_DUPLICATE"]),
]


def codes(one: dict[str, object], other: dict[str, object]) -> list[str]:
    """Return the codes that two ACLs cause, given by their differences from a common one."""
    acl = {"principal": "User:a", "operations": ["READ"], "resource": "topic", "name": "t"}
    values = {"kafka_acls": [{**acl, **one}, {**acl, **other}]}
    model = Model({"k1": values}, {"kafka": ["k1"]}, {}, {}, {}, frozenset(), frozenset())
    return [problem.code for problem in contradictions(model)]


def test_contradictions() -> None:
    assert [(one, other, codes(one, other)) for one, other, _ in ACLS] == ACLS
