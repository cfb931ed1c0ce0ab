"""Check the filters that convert topics, grants and quotas to options of modules."""

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.millrace.kafka.plugins.filter.resources import FilterModule

FILTERS = FilterModule().filters()


def acls(*grants: dict[str, Any], **user: Any) -> list[tuple[str, str, str, list[str]]]:
    """Return the ACLs of a user's grants: resource, name, pattern, operations."""
    found = FILTERS["granted_acls"]([{"name": "orders", "grants": [*grants], **user}])
    assert {entry["principal"] for entry in found} == {"User:orders"}
    return [
        (entry["resource"], entry.get("name", ""), entry.get("pattern", ""), entry["operations"]) for entry in found
    ]


def test_a_topic_takes_profile_defaults_and_units() -> None:
    """Precedence: the topic, its profile, the defaults, the profile of the defaults."""
    defaults = {
        "partitions": 6,
        "replication_factor": 4,
        "profile": "event_log",
        "config": {"retention.ms": "2h", "max.message.bytes": "2MiB", "segment.bytes": "64MiB"},
    }
    plain, own = FILTERS["resolved_topics"](
        [
            {"name": "orders", "config": {"retention.ms": "30m"}},
            {"name": "state", "partitions": 12, "profile": "compacted_state", "config": {"segment.ms": None}},
        ],
        defaults,
    )
    assert plain == {
        "name": "orders",
        "partitions": 6,
        "replication_factor": 4,
        "config": {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "max.message.bytes": "2097152",
            "min.insync.replicas": "3",
            "retention.ms": "1800000",
            "segment.bytes": "67108864",
            "segment.ms": "86400000",
        },
        "state": "present",
        "manage": True,
        "allow_delete": False,
        "allow_more_partitions": False,
        "allow_data_loss": False,
    }
    assert own["partitions"] == 12
    assert own["config"]["cleanup.policy"] == "compact"
    assert own["config"]["max.message.bytes"] == "1048588"
    assert own["config"]["max.compaction.lag.ms"] == "604800000"
    assert "segment.ms" not in own["config"]


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("cleanup.policy", ["compact", "delete"], "compact,delete"),
        ("cleanup.policy", "compact, delete", "compact,delete"),
        ("preallocate", True, "true"),
        ("min.cleanable.dirty.ratio", "0.50", "0.5"),
        ("min.cleanable.dirty.ratio", 1, "1.0"),
        ("retention.ms", -1, "-1"),
        ("retention.ms", "1d", "86400000"),
        ("retention.ms", "90 s", "90000"),
        ("retention.ms", "12h", "43200000"),
        ("max.message.bytes", "64KiB", "65536"),
        ("segment.bytes", "1GiB", "1073741824"),
        ("segment.bytes", "+512", "512"),
        # A value with another unit is unchanged: preflight reports it.
        ("retention.bytes", "7d", "7d"),
        ("retention.ms", "7 days", "7 days"),
    ],
)
def test_a_value_is_written_as_brokers_report_it(name: str, value: Any, reported: str) -> None:
    (topic,) = FILTERS["resolved_topics"]([{"name": "t", "partitions": 1, "config": {name: value}}])
    assert topic["config"] == {name: reported}
    assert topic["replication_factor"] == 3


def test_topics_that_are_not_made_need_no_partitions() -> None:
    """An absent topic, or one that is not managed, needs only a name."""
    found = FILTERS["resolved_topics"](
        [{"name": "old", "state": "absent", "allow_delete": True}, {"name": "foreign", "manage": False}], None
    )
    assert [(topic["name"], topic["state"], topic["manage"], topic["allow_delete"]) for topic in found] == [
        ("old", "absent", True, True),
        ("foreign", "present", False, False),
    ]


def test_all_topics_that_are_wrong_are_named() -> None:
    with pytest.raises(AnsibleFilterError) as error:
        FILTERS["resolved_topics"]([{"name": "a"}, {"name": "b", "partitions": 1, "profile": "log"}])
    assert str(error.value).startswith(
        "kafka_topics: topic a: no number of partitions in the topic or in kafka_topic_defaults; topic b: profile "
        "log does not exist; use one of event_log, compacted_state"
    )


def test_produce_and_consume() -> None:
    """A star at the end makes a name a prefix; alone it matches all names."""
    assert acls({"produce": ["orders", "payments.*", "*"]}, {"consume": ["returns"], "group": "orders-*"}) == [
        ("topic", "orders", "literal", ["WRITE"]),
        ("topic", "payments.", "prefixed", ["WRITE"]),
        ("topic", "*", "literal", ["WRITE"]),
        ("topic", "returns", "literal", ["READ"]),
        ("group", "orders-", "prefixed", ["READ"]),
    ]


def test_transactions_and_streams() -> None:
    assert acls({"transactional_id": "orders-*"}, {"streams": "count"}) == [
        ("transactional_id", "orders-", "prefixed", ["WRITE", "DESCRIBE"]),
        ("topic", "count-", "prefixed", ["ALL"]),
        ("group", "count", "literal", ["READ", "DELETE"]),
        ("transactional_id", "count-", "prefixed", ["WRITE", "DESCRIBE"]),
    ]


def test_connect() -> None:
    assert acls({"connect": "etl", "topics": ["etl-configs"]}) == [
        ("topic", "etl-configs", "literal", ["READ", "WRITE", "DESCRIBE_CONFIGS"]),
        ("group", "etl", "literal", ["READ"]),
        ("transactional_id", "connect-cluster-etl", "literal", ["WRITE", "DESCRIBE"]),
        ("transactional_id", "etl-", "prefixed", ["WRITE", "DESCRIBE"]),
        ("group", "connect-", "prefixed", ["READ", "DELETE"]),
    ]


def test_an_exporter_reads_nothing() -> None:
    assert acls({"exporter": True}) == [
        ("cluster", "", "", ["DESCRIBE"]),
        ("topic", "*", "literal", ["DESCRIBE"]),
        ("group", "*", "literal", ["DESCRIBE"]),
    ]
    (*_, own) = acls({"exporter": True, "canary": "c"})
    assert own == ("topic", "c", "literal", ["READ", "WRITE"])
    assert acls({"produce": ["t"]}, {"exporter": False}) == [("topic", "t", "literal", ["WRITE"])]


def test_each_acl_is_there_once() -> None:
    """Overlapping grants, and an entry of kafka_acls that repeats one of them, result in one ACL."""
    grant, literal = {"produce": ["t"]}, {"principal": "User:b", "operations": ["READ"], "resource": "cluster"}
    entry = {
        "principal": "User:orders",
        "operations": ["WRITE"],
        "resource": "topic",
        "name": "t",
        "pattern": "literal",
    }
    users = [{"name": "orders", "grants": [grant, grant]}, {"name": "nobody"}]
    assert FILTERS["granted_acls"](users, [literal, entry]) == [entry, literal]


def test_a_user_who_is_absent_loses_what_was_granted() -> None:
    user = {
        "name": "old",
        "state": "absent",
        "grants": [{"produce": ["t"]}],
        "quotas": {"producer_byte_rate": "1KiB"},
    }
    assert [entry["state"] for entry in FILTERS["granted_acls"]([user])] == ["absent"]
    gone: dict[str, Any] = {"user": "old", "client_id": None, "values": {}, "state": "absent", "every_client": True}
    assert FILTERS["resolved_quotas"]([user]) == [gone]
    assert FILTERS["resolved_quotas"]([{"name": "old", "state": "absent"}]) == [gone]
    assert FILTERS["resolved_quotas"]([{"name": "old", "state": "absent", "mechanism": "SCRAM-SHA-256"}]) == []


def test_users_without_what_they_are_granted() -> None:
    users = [{"name": "a", "password": "x", "grants": [{"exporter": True}], "quotas": {}, "credential": False}]
    assert FILTERS["scram_users"](users) == [{"name": "a", "password": "x", "credential": False}]


def test_quotas() -> None:
    """Quotas of users, of clients and of both; the default is an empty name."""
    users = [{"name": "orders", "quotas": {"producer_byte_rate": "20MiB", "request_percentage": 50}}, {"name": "b"}]
    entries = [
        {"user": "<default>", "consumer_byte_rate": 1024},
        {"user": "orders", "client_id": "<default>", "controller_mutation_rate": "0.5"},
        {"client_id": "batch", "state": "absent"},
    ]
    assert FILTERS["resolved_quotas"](users, entries) == [
        {
            "user": "orders",
            "client_id": None,
            "values": {"producer_byte_rate": 20971520.0, "request_percentage": 50.0},
            "state": "present",
        },
        {"user": "", "client_id": None, "values": {"consumer_byte_rate": 1024.0}, "state": "present"},
        {"user": "orders", "client_id": "", "values": {"controller_mutation_rate": 0.5}, "state": "present"},
        {"user": None, "client_id": "batch", "values": {}, "state": "absent"},
    ]


def test_settings_of_running_brokers() -> None:
    """Values are texts in Kafka's units; null removes a setting."""
    said = {"log.segment.bytes": "1GiB", "log.roll.ms": "7d", "log.cleaner.dedupe.buffer.size": "16MiB", 5: None}
    assert FILTERS["resolved_broker_config"]({**said, "log.preallocate": True, "num.io.threads": 16}) == {
        "log.segment.bytes": "1073741824",
        "log.roll.ms": "604800000",
        "log.cleaner.dedupe.buffer.size": "16777216",
        "5": None,
        "log.preallocate": "true",
        "num.io.threads": "16",
    }


def test_all_quotas_that_are_no_numbers_are_named() -> None:
    with pytest.raises(AnsibleFilterError) as error:
        FILTERS["resolved_quotas"](
            [{"name": "a", "quotas": {"producer_byte_rate": "much"}}], [{"client_id": "b", "request_percentage": True}]
        )
    assert str(error.value) == (
        "quotas: kafka_users[a].quotas: producer_byte_rate = much: not a number or a size such as 20MiB; "
        "kafka_quotas[b]: request_percentage = True: not a number or a size such as 20MiB"
    )


def test_an_exported_name_that_is_a_template_is_none_when_it_is_loaded(tmp_path: Path) -> None:
    """Loaded and templated by Ansible, names are unchanged; only the passwords are templates."""
    name = "{{ lookup('pipe', 'echo run') }}"
    variables = {
        "kafka_users": [{"name": "a'", "password": "{{ vault.passwords['YSc=' | b64decode] }}"}],
        "kafka_acls": [{"principal": "User:a", "operations": ["READ"], "resource": "group", "name": name}],
        "kafka_quotas": [{"user": "{% if x %}", "client_id": "#jinja2: variable_start_string: '(('", "rate": 1}],
        "kafka_topics": [{"name": "orders", "partitions": 1, "config": {"cleanup.policy": "compact,delete"}}],
    }
    text = FILTERS["exported_yaml"](variables)
    assert "name: !unsafe '{{ lookup(''pipe'', ''echo run'') }}'" in text
    assert "- name: orders\n  partitions: 1" in text
    (tmp_path / "resources.yml").write_text(text)
    loaded = DataLoader().load_from_file(str(tmp_path / "resources.yml"), trusted_as_template=True)
    templar = Templar(variables={"vault": {"passwords": {"a'": "secret"}}})
    users = [{"name": "a'", "password": "secret"}]
    assert templar.template(loaded) == {**variables, "kafka_users": users}


LISTENERS = [
    {"name": "ADMIN", "protocol": "SSL", "principal_mapping_rules": ["RULE:^CN=([^,]+),OU=admins,O=x$/$1/L"]},
    {"name": "PLAIN", "protocol": "SSL"},
    {"name": "CLIENT", "protocol": "SASL_SSL"},
    {"name": "OPEN", "protocol": "PLAINTEXT"},
]
CERTIFICATES = [{"name": "ops", "subject": "CN=Olga, OU=admins, O=x"}, {"name": "kafka", "subject": "CN=kafka,O=x"}]
TLS = {"ssl.certificate.location": "/srv/pki/certificates/dc1-zk1/ops.pem"}


@pytest.mark.parametrize(
    ("name", "admin", "config", "who"),
    [
        ("ADMIN", TLS, {}, "User:olga"),
        ("PLAIN", TLS, {}, "User:CN=Olga,OU=admins,O=x"),
        ("PLAIN", TLS, {"ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/,DEFAULT"}, "User:Olga"),
        ("ADMIN", TLS, {"listener.name.admin.ssl.principal.mapping.rules": "DEFAULT"}, "User:CN=Olga,OU=admins,O=x"),
        ("ADMIN", {"ssl.certificate.location": "/elsewhere/somebody.pem"}, {}, ""),
        ("CLIENT", {"sasl.username": "root"}, {}, "User:root"),
        ("OPEN", {}, {}, "User:ANONYMOUS"),
        ("NONE", TLS, {}, ""),
    ],
)
def test_whom_brokers_take_the_admin_for(name: str, admin: dict[str, str], config: dict[str, str], who: str) -> None:
    assert FILTERS["admin_principal"]({name: admin, "LATER": {}}, LISTENERS, CERTIFICATES, config) == who
