"""A mistake is said once, at the word that is to be changed, and advised what then is right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import INVENTORIES, LAB, kafka, spoil
from model.said import check

PARTNERS = {
    "name": "PARTNERS",
    "address": "{{ client_address }}",
    "port": 9095,
    "protocol": "SASL_SSL",
    "advertised_address": "{{ inventory_hostname }}.partners.example.org",
    "advertised_port": 19095,
    "keystore": "/etc/kafka/partners/keystore.pem",
}
OWN_NAME = {
    "name": "partners",
    "subject": "CN={{ inventory_hostname }},OU=partners,O={{ organization }}",
    "authority": "infra",
    "names": ["{{ inventory_hostname }}.partners.example.org"],
    "usage": ["server"],
    "path": "/etc/kafka/partners/keystore.pem",
    "group": "kafka",
}
BEHIND_NAT = {"site_listeners": [PARTNERS], "site_certificates": [OWN_NAME]}
MTLS = {
    "name": "MTLS",
    "address": "{{ client_address }}",
    "port": 9094,
    "protocol": "SSL",
    "truststore": "/etc/kafka/tls/clients.pem",
    "principal_mapping_rules": ["RULE:^CN=([^,]+),OU=clients,O={{ organization }}$/$1/"],
}
OTHER_ID = {"kafka_broker_id: 3": "kafka_broker_id: 1003"}


def said(inventory: str, hosts: dict[str, str], variables: dict[str, Any], folder: Path) -> list[str]:
    """Return the lines of a wrong inventory, warnings marked, without what dc1 says of its racks."""
    wrong = replace(LAB, inventory=inventory, hosts=hosts, variables=variables)
    problems, lines = check(spoil(folder / "inventory", wrong))
    return [
        f"{'warn ' if problem.warning else ''}{line}"
        for problem, line in zip(problems, lines, strict=True)
        if problem.code != "RACK_UNEVEN"
    ]


@pytest.mark.parametrize(
    ("inventory", "hosts", "variables", "begin", "end"),
    [
        # Servers that do not vote, and not the number of those that are left.
        (
            "stretch3",
            {},
            {"zookeeper": {"zookeeper_observers": [5]}},
            "ZOOKEEPER_DATACENTER_MAJORITY group zookeeper/zookeeper_observers = 5: dc3-zk1 does not vote: if "
            "dc1 or dc2 fails, the quorum is lost",
            "remove it",
        ),
        (
            "dc1",
            {},
            {"zookeeper": {"zookeeper_observers": [5]}},
            "ZOOKEEPER_EVEN group zookeeper/zookeeper_observers = 5: dc1-zk5 does not vote, and the 4 servers that ",
            "so that an odd number of servers votes",
        ),
        # A port of the cluster, at the one host that has another.
        (
            "lab_stretch2",
            {"dc1-kafka2: {": "dc1-kafka2: {client_port: 9192, "},
            {},
            "SITE_DIFFERS dc1-kafka2/client_port = 9192: other hosts have 9092",
            "set it once, for all hosts",
        ),
        (
            "lab_stretch2",
            {"dc1-kafka2: {": "dc1-kafka2: {replication_port: 9193, "},
            {},
            "SITE_DIFFERS dc1-kafka2/replication_port = 9193: other hosts have 9093",
            "set it once, for all hosts",
        ),
        ("lab", {}, kafka(client_port=9192), "SITE_DIFFERS group kafka/client_port = 9192: other hosts have 9092", ""),
        (
            "dc2",
            {},
            {"database": {"postgresql_port": 5433}},
            "SITE_DIFFERS group database/postgresql_port = 5433: other hosts have 5432",
            "set it once, for all hosts",
        ),
        # What one question of a roll asks for several brokers.
        (
            "dc2",
            {"dc2-kafka3: {": "dc2-kafka3: {kafka_restart_margin: 1, "},
            {},
            "SITE_DIFFERS dc2-kafka3/kafka_restart_margin = 1: other brokers have 0",
            "set it once, for all brokers",
        ),
        # One number of one host.
        (
            "dc2",
            {"dc2-kafka3: {": "dc2-kafka3: {kafka_min_insync_replicas: 1, "},
            {},
            "BROKERS_DIFFER dc2-kafka3/kafka_min_insync_replicas = 1",
            "for all brokers",
        ),
        # A list of all hosts, once.
        (
            "stretch2",
            {},
            {"all": {"base_firewall_rules": [{"port": 9100, "from": ["192.0.2.7"]}]}},
            "FIREWALL_FORGOTTEN group all/base_firewall_rules: these rules replace the rules of "
            "functions/*.yml, and no rule is for 2281, 2888, 3888, 9092, 9093",
            "remove base_firewall_rules",
        ),
        # What a profile asks for, where it is named.
        (
            "stretch3",
            {},
            kafka(kafka_replication_factor=5, kafka_min_insync_replicas=3),
            "TOPIC_DATACENTER_STOPS group all/kafka_topic_defaults.profile = event_log: the profile requires 4 of "
            "5 in-sync replicas, and overrides kafka_min_insync_replicas (3), but if a datacenter is lost, 3 remain",
            "set config[min.insync.replicas] to 3",
        ),
        # A dict of the project that the site has as a whole.
        (
            "dc1",
            {},
            {"all": {"product_versions": {"kafka": "3.9.1"}}},
            "DEFAULTS_REPLACED group all/product_versions: this dict replaces the project's dict, and does not "
            "contain scala, zookeeper, spark, jobs, java",
            "set kafka_version: 3.9.1 instead",
        ),
        (
            "dc1",
            {},
            {"all": {"product_versions": {
                "kafka": "3.9.2", "scala": "2.13", "zookeeper": "3.8.6", "spark": "4.2.0", "jobs": "0.1.0"}}},
            "DEFAULTS_REPLACED group all/product_versions: this dict replaces the project's dict, and does not "
            "contain java",
            "",
        ),
        # Addresses of a user of the database.
        (
            "dc1",
            {},
            {"all": {"postgresql_users": [
                {"name": "orders_owner", "password": "{{ vault.database_passwords.orders_owner }}",
                 "database": "orders", "owner": True},
                {"name": "project_orders", "password": "{{ vault.database_passwords.project_orders }}",
                 "database": "orders", "from": ["198.19.2.0/24"]}]}},
            "DATABASE_SOURCE group all/postgresql_users[project_orders].from = 198.19.2.0/24: does not include "
            "dc1-spark3 (198.19.1.33) and dc1-spark4 (198.19.1.34), where job project_orders logs in as this user",
            "add these addresses, or remove the key `from`: then the hosts of all jobs are allowed",
        ),
        (
            "dc1",
            {},
            {"all": {"postgresql_users": [
                {"name": "orders_owner", "password": "{{ vault.database_passwords.orders_owner }}",
                 "database": "orders", "owner": True, "from": ["198.19.1.33"]},
                {"name": "project_orders", "password": "{{ vault.database_passwords.project_orders }}",
                 "database": "orders"}]}},
            "DATABASE_SOURCE group all/postgresql_users[orders_owner].from = 198.19.1.33: does not include dc1-spark4 "
            "(198.19.1.34), where job project_orders logs in as this user",
            "add this address, or remove the key `from`: then the hosts of all jobs are allowed",
        ),
        # The list that adds, and not the one that replaces.
        (
            "dc1",
            {},
            kafka(site_listeners=[MTLS]),
            "warn TRUSTSTORE_UNKNOWN group kafka/site_listeners[MTLS].truststore = /etc/kafka/tls/clients.pem",
            "add an entry to site_truststores, which is part of pki_truststores, or install the file yourself",
        ),
        # One standby, whatever it runs.
        (
            "dc1",
            {"198.19.1.34, standby: true": "198.19.1.34"},
            {},
            "warn JOB_TWICE dc1-spark4/standby: dc1-spark3 and this host both run count_words, whose results are "
            "written twice, and project_orders, of which one instance waits for the other",
            "set state: stopped on one of the two hosts, or make it a standby",
        ),
    ],
)  # fmt: skip
def test_it_is_said_once(
    inventory: str, hosts: dict[str, str], variables: dict[str, Any], begin: str, end: str, tmp_path: Path
) -> None:
    lines = said(inventory, hosts, variables, tmp_path)
    assert len(lines) == 1, lines
    assert lines[0].startswith(begin), lines
    assert end in lines[0].rpartition("; ")[2], lines


@pytest.mark.parametrize(
    ("inventory", "hosts", "variables"),
    [
        ("lab", OTHER_ID, {}),  # ids that another cluster generated, and kept
        ("dc1", {}, kafka(**BEHIND_NAT)),
        (
            "dc1",
            {},
            {"all": {"postgresql_users": [
                {"name": "orders_owner", "password": "{{ vault.database_passwords.orders_owner }}",
                 "database": "orders", "owner": True},
                {"name": "project_orders", "password": "{{ vault.database_passwords.project_orders }}",
                 "database": "orders", "from": ["198.19.1.33", "198.19.1.34"]}]}},
        ),
        ("dc2", {}, {"all": {"postgresql_port": 5433}}),
        ("lab", {}, {"all": {"client_port": 9192}}),
        (  # said where it is used
            "lab_stretch2",
            {"dc1-kafka2: {": "dc1-kafka2: {client_port: 9192, "},
            {"all": {"client_bootstrap": "198.18.51.22:9192,198.18.51.23:9092"}},
        ),
    ],
    ids=["ids", "behind NAT", "from", "database", "port", "bootstrap"],
)  # fmt: skip
def test_it_is_right(inventory: str, hosts: dict[str, str], variables: dict[str, Any], tmp_path: Path) -> None:
    lines = said(inventory, hosts, variables, tmp_path)
    assert [line for line in lines if not line.startswith("warn ")] == []


def test_the_user_who_has_the_rights_of_a_job_is_named(tmp_path: Path) -> None:
    """It is told once to log in as that one, and not three times to grant its rights to another."""
    folder = "group_vars/spark_consumer"
    text = (INVENTORIES / "dc2" / f"{folder}.yml").read_text(encoding="utf-8")
    wrong = text.replace("kafka_login('project_orders')", "kafka_login('count_words')")
    assert wrong != text
    lines = check(spoil(tmp_path / "inventory", replace(LAB, inventory="dc2", files={f"{folder}/a.yml": wrong})))[1]
    assert [line for line in lines if "RACK_UNEVEN" not in line] == [
        "JOB_ACL group spark_consumer/spark_job_jobs[project_orders].config.kafka: the job logs in as "
        "count_words, but project_orders has the permissions that the job needs (READ on topic orders, READ on "
        "group project_orders, WRITE on topic orders-dead); log in as project_orders: "
        "kafka_login('project_orders')"
    ]


def test_who_has_no_rights_here_may_have_them_from_elsewhere(tmp_path: Path) -> None:
    """As where a run is given the users alone: a job that logs in as its own user is warned about, and goes on."""
    users = [
        {"name": name, "password": f"{{{{ vault.passwords.{name} }}}}"} for name in ("publish_lines", "count_words")
    ]
    everything = [
        {"operations": ["ALL"], "resource": kind, "name": "*", "pattern": "literal"} for kind in ("topic", "group")
    ]
    acls = [{"principal": "User:lab", "permission": "allow", **one} for one in everything]
    lab = {"name": "lab", "password": "{{ vault.passwords.lab }}"}
    lines = said("lab", {}, {"all": {"kafka_users": [lab, *users], "kafka_acls": acls}}, tmp_path)
    found = [line for line in lines if "JOB_ACL" in line]
    assert found and all(line.startswith("warn ") and "log in as" not in line for line in found), lines
