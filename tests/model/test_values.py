"""Values of one kind of mistake said in several ways: each is refused at its place; what is right is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, Row, batched, judge, variables
from model.mistakes.base import LAB, VAULT, spoil
from model.mistakes.mirrors import GROUP, flow, workers
from model.said import check

KAFKA, SERVICE = "group kafka", "kafka_unit_overrides[Service]"
OWNER = {"name": "orders_owner", "password": "{{ vault.database_passwords.orders_owner }}", "database": "orders"}
USER = {"name": "project_orders", "password": "{{ vault.database_passwords.project_orders }}", "database": "orders"}


def said(tmp_path: Path, given: dict[str, Any], inventory: str) -> list[str]:
    """Return the mistakes of an inventory with these variables by group, each as code and place."""
    spoiled = replace(LAB, variables=given, inventory=inventory)
    problems, lines = check(spoil(tmp_path / "inventory", spoiled))
    shown = [line for problem, line in zip(problems, lines, strict=True) if not problem.warning]
    return sorted(" ".join(line.split(":")[0].split(" = ")[0].split()) for line in shown)


def refused(rows: Sequence[Row], folder: Path, inventory: str = "lab") -> None:
    """Compare the mistakes of an inventory with what all rows want."""
    assert said(folder, variables(rows), inventory) == sorted(line for _, wanted in rows for line in wanted)


def service(**settings: Any) -> dict[str, Any]:
    """Return a drop-in of brokers."""
    return {"kafka_unit_overrides": {"Service": settings}}


def database(*users: dict[str, Any], **config: Any) -> dict[str, Any]:
    """Return users and settings of a database."""
    return {"postgresql_users": [{**OWNER, "owner": True}, *(users or [USER])], "postgresql_config": config}


@pytest.mark.parametrize(
    "batches",
    batched(
        [
            ({group: own}, [wanted])
            for group, own, wanted in [
                # Nothing is written, and the default does not hold.
                ("kafka", {"kafka_log_dirs": None}, f"INPUT_REFUSED {KAFKA}/kafka_log_dirs"),
                ("kafka", {"kafka_archive": ""}, f"VALUE_NONE {KAFKA}/kafka_archive"),
                ("kafka", {"kafka_gc_log_dir": ""}, f"VALUE_NONE {KAFKA}/kafka_gc_log_dir"),
                ("all", {"client_port": None}, "VALUE_NONE group all/client_port"),
                ("all", {"organization": None}, "ORGANIZATION_INVALID group all/organization"),
                # Numbers.
                ("kafka", {"kafka_restart_margin": -1}, f"NUMBER_RANGE {KAFKA}/kafka_restart_margin"),
                ("all", {"ansible_port": 0}, "NUMBER_RANGE group all/ansible_port"),
                ("all", {"pki_renew_days": 0}, "NUMBER_RANGE group all/pki_renew_days"),
                ("kafka", {"kafka_write_timeout": 0}, f"NUMBER_RANGE {KAFKA}/kafka_write_timeout"),
                # Names of variables.
                ("all", {"Kafka_heap": "6g"}, "VARIABLE_SUSPECT group all/Kafka_heap"),
                ("all", {"kafka-heap": "6g"}, "VARIABLE_SUSPECT group all/kafka-heap"),
                ("all", {"postgres_config": {}}, "VARIABLE_SUSPECT group all/postgres_config"),
                ("all", {"kafka": {"heap": "6g"}}, "VARIABLE_SUSPECT group all/kafka"),
                ("all", {"site_enviroment": "lab"}, "VARIABLE_SUSPECT group all/site_enviroment"),
                ("spark", {"kafka_prune": {"topics": ["a-*"]}}, "VARIABLE_UNREAD group spark/kafka_prune"),
                # How Ansible connects.
                ("all", {"ansible_connection": "shh"}, "CONNECTION_WORD group all/ansible_connection"),
                ("all", {"ansible_connection": "winrm"}, "CONNECTION_WORD group all/ansible_connection"),
                ("dc1-kafka1", {"ansible_host": "198.18.1.999"}, "CONNECTION_WORD dc1-kafka1/ansible_host"),
                ("dc1-kafka1", {"ansible_host": "kafka1:22"}, "CONNECTION_WORD dc1-kafka1/ansible_host"),
                ("all", {"ansible_user": ""}, "CONNECTION_WORD group all/ansible_user"),
                ("all", {"ansible_become": "perhaps"}, "INPUT_REFUSED group all/ansible_become"),
                # The host's own.
                ("all", {"base_sysctl": {"vm.swappiness": "low"}}, "SYSCTL_VALUE group all/base_sysctl[vm.swappiness]"),
                ("all", {"base_sysctl": {"vm.swappiness": 300}}, "SYSCTL_VALUE group all/base_sysctl[vm.swappiness]"),
                (
                    "all",
                    {"base_hosts": [{"address": "a.b", "names": ["c"]}]},
                    "HOSTS_LINE group all/base_hosts[0].address",
                ),
                (
                    "all",
                    {"base_hosts": [{"address": "192.0.2.9", "names": ["my host"]}]},
                    "HOSTS_LINE group all/base_hosts[192.0.2.9].names",
                ),
                # A drop-in.
                ("kafka", service(Nice=40), f"UNIT_VALUE {KAFKA}/{SERVICE}[Nice]"),
                ("kafka", service(RestartSec="soon"), f"UNIT_VALUE {KAFKA}/{SERVICE}[RestartSec]"),
                ("kafka", service(Environment={"A": 1}), f"UNIT_VALUE {KAFKA}/{SERVICE}[Environment]"),
                (
                    "kafka",
                    {"kafka_unit_overrides": {"Unit": {"After": "remote-fs"}}},
                    f"UNIT_VALUE {KAFKA}/kafka_unit_overrides[Unit][After]",
                ),
                # Properties of brokers.
                (
                    "kafka",
                    {"kafka_config": {"max.connections.per.ip": 0}},
                    f"LIMIT_MEANT {KAFKA}/kafka_config[max.connections.per.ip]",
                ),
                (
                    "kafka",
                    {"kafka_config": {"socket.request.max.bytes": 1024}},
                    f"LIMIT_MEANT {KAFKA}/kafka_config[socket.request.max.bytes]",
                ),
                (
                    "kafka",
                    {"kafka_config": {"sasl.enabled.mechanisms": "PLAIN"}},
                    f"PROPERTY_LISTENER {KAFKA}/kafka_config[sasl.enabled.mechanisms]",
                ),
                ("kafka", {"kafka_zookeeper_chroot": "/zookeeper"}, f"CHROOT_INVALID {KAFKA}/kafka_zookeeper_chroot"),
                (
                    "kafka",
                    {"kafka_client_properties": {"acks": 1}},
                    f"ACKS_NOT_ALL {KAFKA}/kafka_client_properties[acks]",
                ),
                ("kafka", {"kafka_archive": "/srv/kafka-3.9.2-src.tgz"}, f"VERSION_DIFFERS {KAFKA}/kafka_archive"),
                (
                    "kafka",
                    {"kafka_super_users": ["User:kafka-broker", "User:admin", "Group:ops"]},
                    f"SUPER_USER_INVALID {KAFKA}/kafka_super_users",
                ),
                (
                    "dc1-kafka2",
                    {"kafka_topics": [{"name": "x", "partitions": 1}]},
                    "BROKERS_DIFFER dc1-kafka2/kafka_topics",
                ),
                # ZooKeeper.
                (
                    "zookeeper",
                    {"zookeeper_config": {"4lw.commands.whitelist": "srvr, mntr, ruk"}},
                    "WORDS_UNANSWERED group zookeeper/zookeeper_config[4lw.commands.whitelist]",
                ),
                (
                    "zookeeper",
                    {"zookeeper_config": {"peerType": "observer"}},
                    "PROPERTY_TWICE group zookeeper/zookeeper_config[peerType]",
                ),
                # Certificates.
                ("all", {"infra_trusted": ["clients"]}, "AUTHORITY_NONE group all/infra_trusted"),
                ("all", {"pki_authorities": []}, "AUTHORITY_NONE group all/pki_authorities"),
                (
                    "all",
                    {"site_truststores": [{"path": "/etc/a/x.pem"}]},
                    "INPUT_REFUSED group all/site_truststores[0]",
                ),
                # Others.
                ("kafka", {"java_package": "default-jre-headles"}, f"JAVA_PACKAGE {KAFKA}/java_package"),
                ("kafka", {"java_package": "postgresql-15"}, f"JAVA_PACKAGE {KAFKA}/java_package"),
                (
                    "kafka",
                    {"kafka_prune": {"users": ["User:a-*"], "max_deletes": 3}},
                    f"PRUNE_SCOPE {KAFKA}/kafka_prune.users",
                ),
            ]
        ]
    ),
)
def test_refused(batches: Batches, tmp_path: Path) -> None:
    """Once, and nothing else: what follows from it is not said."""
    judge(batches, refused, tmp_path)


@pytest.mark.parametrize(
    "batches",
    batched([
        ({"all": own}, [wanted]) for own, wanted in [
        (
            database(min_wal_size="2GB", max_wal_size="1GB"),
            "DATABASE_CONTRADICTION group all/postgresql_config[min_wal_size]",
        ),
        (database(full_page_writes=False), "DATABASE_UNSAFE group all/postgresql_config[full_page_writes]"),
        (database(timezone="Europe/Berln"), "DATABASE_VALUE group all/postgresql_config[timezone]"),
        (database({**USER, "from": []}), "DATABASE_SOURCE group all/postgresql_users[project_orders].from"),
        (database({**USER, "from": ["0.0.0.0/0"]}), "DATABASE_SOURCE group all/postgresql_users[project_orders].from"),
        (database({**USER, "from": ["192.0.2.7"]}), "DATABASE_SOURCE group all/postgresql_users[project_orders].from"),
        ({"postgresql_version": 9}, "DATABASE_VERSION group all/postgresql_version"),
        (
            {**database(shared_buffers="1GB"), "postgresql_unit_overrides": {"Service": {"MemoryMax": "512M"}}},
            "UNIT_MEMORY group all/postgresql_unit_overrides[Service][MemoryMax]",
        ),
        (database({**USER, "database": "orders", "password": ""}),
         "DATABASE_PASSWORD_NONE group all/postgresql_users[project_orders].password"),
        (
            {"postgresql_users": [{"user": "orders_owner", **{k: v for k, v in OWNER.items() if k != "name"}}, USER]},
            "INPUT_REFUSED group all/postgresql_users[0]",
        ),
    ]]),
)  # fmt: skip
def test_refused_of_a_database(batches: Batches, tmp_path: Path) -> None:
    judge(batches, partial(refused, inventory="lab_orders"), tmp_path)


def test_refused_numbers_of_a_flow(tmp_path: Path) -> None:
    """Entries of a list have limits, too, here each number of two flows."""
    west = flow(sync_interval=0, tasks=0, round_trip_ms=-0.5, max_read_again="0")
    wrong = workers(west, flow(source="north", round_trip_ms="inf"))
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, hosts=GROUP, variables=wrong)))
    found = sorted(line.split(":")[0] for problem, line in zip(problems, lines, strict=True) if not problem.warning)
    flows = "NUMBER_RANGE group mirror_maker/mirror_maker_flows"
    assert found == [
        f"{flows}[north].round_trip_ms = inf",
        f"{flows}[west].max_read_again = 0",
        f"{flows}[west].round_trip_ms = -0.5",
        f"{flows}[west].sync_interval = 0",
        f"{flows}[west].tasks = 0",
    ]


ALERTS = "MONITORING_ALERTS group monitoring/prometheus_alertmanager_config"
TWO = {"route": {"receiver": "a"}, "receivers": [{"name": "a"}, {"name": "b"}]}


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ({"lag_exporter_groups": []}, ["MONITORING_GROUPS group monitoring/lag_exporter_groups"]),
        ({"lag_exporter_groups_exclude": ["a("]}, ["MONITORING_GROUPS group monitoring/lag_exporter_groups_exclude"]),
        ({"lag_exporter_interval": 0}, ["NUMBER_RANGE group monitoring/lag_exporter_interval"]),
        ({"prometheus_retention": "15d --web.admin"}, ["MONITORING_VALUE group monitoring/prometheus_retention"]),
        (
            {"prometheus_scrape_configs": [{"job_name": "node"}, {"job_name": "mine"}]},
            ["MONITORING_VALUE group monitoring/prometheus_scrape_configs"],
        ),
        ({"prometheus_interval": 15}, ["MONITORING_VALUE group monitoring/prometheus_interval"]),
        ({"prometheus_retention_size": "10 GB"}, ["MONITORING_VALUE group monitoring/prometheus_retention_size"]),
        ({"lag_exporter_address": "{{ client_address }}"}, ["MONITORING_OPEN group monitoring/lag_exporter_address"]),
        (
            {"prometheus_alertmanager_address": "::1"},
            ["MONITORING_OPEN group monitoring/prometheus_alertmanager_address"],
        ),
        ({"prometheus_alertmanager_config": {"receivers": [{"name": "a"}]}}, [ALERTS]),
        ({"prometheus_alertmanager_config": {"route": {"receiver": "a"}}}, [ALERTS]),
        ({"prometheus_alertmanager_config": {**TWO, "route": {"routes": [{"receiver": "b"}]}}}, [f"{ALERTS}.route"]),
        (
            {"prometheus_alertmanager_config": {**TWO, "route": {"receiver": "a", "routes": [{"receiver": "x"}]}}},
            [f"{ALERTS}.route"],
        ),
        ({"prometheus_alertmanager_config": {**TWO, "recievers": []}}, [f"{ALERTS}.recievers"]),
        ({"prometheus_alertmanager_config": {**TWO, "global": {"smtp_from": "a@example.org"}}}, []),
        ({"lag_exporter_user": "nobody"}, ["LOGIN_UNKNOWN group monitoring/lag_exporter_user"]),
        ({"lag_exporter_canary_topic": ""}, []),
        (
            {"lag_exporter_canary_topic": "orders"},
            ["MONITORING_CANARY_TOPIC group monitoring/lag_exporter_canary_topic"],
        ),
        (
            {"lag_exporter_canary_topic": "streams-plaintext-input"},
            ["MONITORING_CANARY_SHARED group monitoring/lag_exporter_canary_topic"],
        ),
        ({"prometheus_retention": "1y6w", "lag_exporter_groups": ["billing-.*"], "lag_exporter_interval": 60}, []),
        ({"prometheus_retention": "1s2d"}, ["MONITORING_VALUE group monitoring/prometheus_retention"]),
        (
            {"prometheus_retention_size": "1.5TB", "lag_exporter_groups": [r"\w*"], "prometheus_address": "localhost"},
            [],
        ),
        ({"prometheus_retention_size": 0, "prometheus_interval": "1m30s"}, []),
    ],
)
def test_a_monitoring_host(own: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    assert said(tmp_path, {"monitoring": own}, "lab_monitoring") == wanted


def test_a_denial_of_the_canary(tmp_path: Path) -> None:
    """It overrides the grant."""
    acl = {"principal": "User:monitoring", "operations": ["WRITE"], "resource": "topic", "name": "can"}
    own = {"all": {"kafka_acls": [{**acl, "pattern": "prefixed", "permission": "deny"}]}}
    assert said(tmp_path, own, "lab_monitoring") == ["MONITORING_CANARY_USER group all/lag_exporter_canary_topic"]


@pytest.mark.parametrize(
    ("acl", "shared"),
    [
        ({"operations": ["WRITE"], "name": "canary"}, True),
        ({"operations": ["ALL"], "name": "can", "pattern": "prefixed"}, True),
        ({"operations": ["WRITE"], "name": "canaries", "pattern": "prefixed"}, False),
        ({"operations": ["READ"], "name": "canary"}, False),
        ({"operations": ["WRITE"], "name": "canary", "permission": "deny"}, False),
        ({"operations": ["WRITE"], "name": "*"}, False),
    ],
)
def test_a_canary_in_the_topic_of_an_application(acl: dict[str, Any], shared: bool, tmp_path: Path) -> None:
    """A topic that somebody else may write by its name holds the records of an application."""
    own = {"all": {"kafka_acls": [{"principal": "User:lab", "resource": "topic", **acl}]}}
    found = [line for line in said(tmp_path, own, "lab_monitoring") if "CANARY" in line]
    assert found == ["MONITORING_CANARY_SHARED group all/lag_exporter_canary_topic"] * shared


def test_a_low_port_of_a_unit_without_overrides(tmp_path: Path) -> None:
    """No input of its role could give it the capability."""
    low = replace(LAB, inventory="lab_monitoring", variables={"monitoring": {"prometheus_port": 90}})
    lines = check(spoil(tmp_path / "inventory", low))[1]
    (line,) = (line for line in lines if line.startswith("PORT_PRIVILEGED"))
    assert line.startswith("PORT_PRIVILEGED group monitoring/prometheus_port = 90: ") and line.endswith(
        "; use a higher port"
    )


@pytest.mark.parametrize(
    "batches",
    batched(
        [
            ({group: own}, [])
            for group, own in [
                ("all", {"base_sysctl": {"vm.swappiness": "1", "net.ipv4.tcp_rmem": "4096 87380 16777216"}}),
                ("all", {"base_hosts": [{"address": "203.0.113.5", "names": ["mirror", "mirror.example.org"]}]}),
                ("all", {"my_racks": ["a"], "backup_host": "x", "datacenter_room": 12}),
                ("all", {"rackk": "a", "note": "{{ rackk }}"}),
                ("all", {"ansible_user": "ops", "ansible_become": True, "ansible_become_method": "sudo"}),
                ("all", {"ansible_connection": "community.docker.docker"}),
                ("kafka", {"java_package": "temurin-21-jdk"}),
                ("kafka", {"java_package": "openjdk-17-jre-headless=17.0.12+7-2"}),
                (
                    "kafka",
                    service(CPUQuota="250%", Nice=-5, TimeoutStartSec="2min 30s", IOWeight=200, LimitMEMLOCK="64G"),
                ),
                ("kafka", service(Environment=["A=1", '"B=x y"'], MemoryHigh="90%", TasksMax="infinity")),
                ("kafka", {"kafka_unit_overrides": {"Unit": {"After": ["remote-fs.target", "data-kafka1.mount"]}}}),
                ("kafka", {"kafka_config": {"log.retention.hours": -1, "max.connections.per.ip": 200}}),
                ("kafka", {"kafka_config": {"listener.name.client.connections.max.reauth.ms": 3600000}}),
                ("kafka", {"kafka_unregistered_timeout": 12}),
                ("kafka", {"kafka_cluster_id": "Wd2xkzkvT0mJ0y4JxQ3u2Q"}),
                ("all", {"expected_bytes_per_second": None, "memory": None}),
            ]
        ]
    ),
)
def test_taken(batches: Batches, tmp_path: Path) -> None:
    """What is unusual and right."""
    judge(batches, refused, tmp_path)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"User": "root"}, ["UNIT_OWNED"]),
        ({"CPUQouta": "50%"}, ["UNIT_SETTING"]),
        ({"Restart": "no"}, ["UNIT_STOPS"]),
        ({"Environment": "JAVA_HOME=/opt/jdk"}, ["UNIT_ENVIRONMENT"]),
        # What inputs say for all jobs, it says for this one.
        ({"LimitNOFILE": 4096, "MemoryMax": "2G", "TimeoutStopSec": 300}, []),
    ],
)
def test_a_drop_in_of_one_job_is_judged_as_those_of_all(
    settings: dict[str, Any], wanted: list[str], tmp_path: Path
) -> None:
    job = {"name": "count_words", "config": {}, "unit_overrides": {"Service": settings}}
    found = said(tmp_path, {"spark_consumer": {"spark_job_jobs": [job]}}, "lab")
    place = f"spark_job_jobs[count_words].unit_overrides[Service][{next(iter(settings))}]"
    units = [line.split() for line in found if line.startswith("UNIT_")]
    assert [code for code, *_ in units] == wanted, found
    assert all(where.endswith(place) for *_, where in units), found


def test_what_a_verb_is_told_is_no_slip_of_a_name(tmp_path: Path) -> None:
    """As `reassign.yml -e topic=orders -e replication_factor=3`."""
    moves = "topic replication_factor declared drain add replace rate plan disk empty disks cancel user step"
    words = dict.fromkeys(f"{moves} broker log_dir lost server new_address".split(), "1")
    assert check(spoil(tmp_path / "inventory", LAB), {"vault": VAULT, **words})[1] == []
