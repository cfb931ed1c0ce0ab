"""Wrong inventories: words of the site, and secrets."""

from __future__ import annotations

from model.mistakes.base import BROKERS, INVENTORIES, JOB, Mistake, kafka

WITHOUT_SHARED = {f'shared: ["{INVENTORIES.parent}/lab/shared"]\n': ""}

MISTAKES: tuple[Mistake, ...] = (
    # Words
    Mistake("VARIABLE_UNKNOWN", f"{BROKERS}/kafka_heep", "did you mean kafka_heap?", variables=kafka(kafka_heep="1g")),
    Mistake(
        "VARIABLE_SUSPECT",
        "dc1-kafka1/replication_adress",
        "did you mean replication_address?",
        variables={"dc1-kafka1": {"replication_adress": "198.18.2.21"}},
        hosts={", replication_address: 198.18.2.21": ""},
    ),
    Mistake(
        "SECRET_DEFAULT",
        f"{BROKERS}/kafka_client_properties[ssl.key.password]",
        "vaulted file",
        variables=kafka(kafka_client_properties={"ssl.key.password": "changeme"}),
        also=frozenset({"SECRET_CLEAR"}),
    ),
    Mistake(
        "SECRET_CLEAR",
        f"{BROKERS}/kafka_client_properties[ssl.key.password]",
        "ansible-vault encrypt_string",
        variables=kafka(kafka_client_properties={"ssl.key.password": "Guoph0Eeshi7"}),
    ),
    Mistake(
        "VARIABLE_UNREAD",
        "group zookeeper/kafka_heap",
        "set it for group kafka",
        variables={"zookeeper": {"kafka_heap": "1g"}},
    ),
    Mistake(
        "VARIABLE_MISSING",
        "group all/archives",
        "set it",
        hosts={"    archives: ": "    folder_of_archives: "},
    ),
    Mistake(
        "NOT_COMPUTED",
        f"{BROKERS}/kafka_heap",
        "group_vars/kafka/z.yml",
        variables=kafka(kafka_heap="{{ memory | half }}"),
    ),
    Mistake(
        "INPUT_REFUSED",
        f"{BROKERS}/kafka_limit_nofile",
        "roles/kafka/README.md",
        variables=kafka(kafka_limit_nofile="many"),
    ),
    Mistake(
        "INPUT_NOT_A_LIST",
        f"{BROKERS}/kafka_log_dirs",
        "[/data/kafka1]",
        variables=kafka(kafka_log_dirs="/data/kafka1"),
    ),
    Mistake(
        "BOOLEAN_TEXT",
        "group spark_consumer/standby",
        "without quotes",
        variables={
            "spark_consumer": {
                "standby": "false",
                "spark_job_jobs": [{**JOB, "state": "{{ 'stopped' if standby | default(false) else 'started' }}"}],
            }
        },
    ),
    Mistake(
        "LIST_REPLACED",
        "group kafka/kafka_listeners",
        "remove kafka_listeners",
        variables=kafka(
            kafka_listeners="{{ standard_listeners }}",
            site_listeners=[{"name": "EXTRA", "address": "{{ client_address }}", "port": 9094, "protocol": "SSL"}],
        ),
    ),
    # Where variables come from
    Mistake(
        "FILE_UNREAD",
        "group_vars/zookeper",
        "did you mean zookeeper?",
        hosts={"    datacenter: dc1\n": ""},
        variables={"zookeper": {"datacenter": "dc1", "archivs": "/srv"}},
    ),
    Mistake(
        "WIRING_MISSING",
        "group all",
        "plugin: millrace.kafka.site",
        hosts={"plugin: millrace.kafka.site\n": "", **WITHOUT_SHARED},
    ),
    Mistake(
        "INVENTORY_FAMILY",
        "the whole inventory",
        "pass one of them",
        files={"west/hosts.yml": "kafka: {hosts: {west-kafka1: {kafka_broker_id: 1}}}\n"},
    ),
    # Secrets
    Mistake(
        "VAULT_MISSING",
        "group all/vault",
        "inventories/README.md",
        inventory="dc1",
        extra={},
        also=frozenset({"RACK_UNEVEN"}),
    ),
    Mistake(
        "RESOURCES_REPLACED",
        f"{BROKERS}/kafka_topics",
        "join the two",
        variables=kafka(kafka_topics=[{"name": "orders", "partitions": 6}]),
    ),
    Mistake(
        "DICT_REPLACED",
        "dc1-kafka2/kafka_config_overrides",
        "add the keys that you need",
        variables={
            "kafka": {"kafka_config_overrides": {"num.io.threads": 16, "num.network.threads": 8}},
            "dc1-kafka2": {"kafka_config_overrides": {"num.io.threads": 12}},
        },
    ),
    Mistake(
        "GROUP_SHADOWED",
        "group rack_b/kafka_heap",
        "set it in group_vars/rack_b.yml",
        hosts={"      vars: {rack: b}": "      vars: {rack: b, kafka_heap: 1g}"},
        variables=kafka(kafka_heap="512m"),
    ),
    Mistake(
        "DEFAULTS_REPLACED",
        "group all/product_versions",
        "set kafka_version: 3.9.1 instead",
        variables={"all": {"product_versions": {"kafka": "3.9.1"}}},
    ),
    Mistake(
        "GROUP_RIVALS",
        "dc1-kafka2/site_firewall_rules",
        "set it in one of the two groups",
        variables={
            "kafka": {"site_firewall_rules": [{"port": 9100, "from": ["198.18.7.1"]}]},
            "rack_b": {"site_firewall_rules": [{"port": 9101, "from": ["198.18.7.2"]}]},
        },
    ),
    Mistake("VALUE_NONE", f"{BROKERS}/kafka_heap", "remove the line", variables=kafka(kafka_heap=None)),
    Mistake(
        "FILE_RIVALS",
        "group_vars/kafka/more/b.yml/kafka_heap",
        "in one of the two",
        files={"group_vars/kafka/a.yml": "kafka_heap: 512m\n", "group_vars/kafka/more/b.yml": "kafka_heap: 768m\n"},
    ),
)
