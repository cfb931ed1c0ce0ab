"""Weakened security is refused in production unless the inventory names it as wanted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_archives import made_archives

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from model.batches import Batches, Row, batched, judge, variables
from model.mistakes.access import users
from model.mistakes.base import JOB, LAB, VAULT, spoil
from model.mistakes.insecure_settings import site_listeners
from model.mistakes.jobs import again
from model.preflight import preflight
from model.said import check

JMX = "-Dcom.sun.management.jmxremote"
OPEN = [f"{JMX}.port=9999", f"{JMX}.authenticate=false"]
EXPOSED: dict[str, Any] = {"kafka": {"kafka_java_options": OPEN}}
SITE = replace(LAB, inventory="stretch3")
# The job on one of its two nodes, as the inventory has it.
ONE = {**JOB, "state": "{{ 'stopped' if standby | default(false) | bool else 'started' }}"}
JOBS: tuple[dict[str, Any], ...] = (
    {
        "principal": "User:publish_lines",
        "operations": ["WRITE"],
        "resource": "topic",
        "name": "streams-plaintext-input",
    },
    {"principal": "User:count_words", "operations": ["READ"], "resource": "topic", "name": "streams-plaintext-input"},
    {
        "principal": "User:count_words",
        "operations": ["READ"],
        "resource": "group",
        "name": "spark-kafka-source",
        "pattern": "prefixed",
    },
    {"principal": "User:count_words", "operations": ["WRITE"], "resource": "topic", "name": "streams-wordcount-output"},
)


def said(folder: Path, mistake: Any = LAB, **variables: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the codes of what is said, each with whether it is a warning."""
    changed = {**mistake.variables, **variables}
    problems, _ = check(spoil(folder / "inventory", replace(mistake, variables=changed)))
    return sorted((problem.code, problem.warning) for problem in problems)


def test_refused_in_production_and_a_warning_in_a_lab(tmp_path: Path) -> None:
    assert said(tmp_path / "site", replace(SITE, variables=EXPOSED)) == [("JMX_OPEN", False)]
    assert said(tmp_path / "lab", replace(LAB, variables=EXPOSED)) == [("JMX_OPEN", True)]


def test_an_accepted_risk_is_printed_and_stops_nothing(tmp_path: Path) -> None:
    """By every run, with its place and its value."""
    wanted = {"kafka": {**EXPOSED["kafka"], "accept_risks": ["JMX_OPEN"]}}
    inventory = spoil(tmp_path / "inventory", replace(SITE, variables=wanted))
    done = preflight(inventory, "-e", json.dumps({"vault": VAULT}))
    assert done.returncode == 0, done.stdout
    assert f"JMX_OPEN group kafka/kafka_java_options = {JMX}.authenticate=false: " in done.stdout
    assert "accepted by accept_risks" in done.stdout


def test_a_risk_is_accepted_where_it_is_said(tmp_path: Path) -> None:
    """For the hosts that say so: the others are refused."""
    problems, _ = check(
        spoil(
            tmp_path / "inventory",
            replace(SITE, variables={**EXPOSED, "dc1-kafka1": {"accept_risks": ["JMX_OPEN"]}}),
        )
    )
    found = {problem.warning: problem.hosts for problem in problems}
    assert found[True] == ("dc1-kafka1",)
    assert "dc2-kafka1" in found[False]
    assert "dc1-kafka1" not in found[False]


KAFKA = [
    # At each place where it can be set: a listener, the client of ZooKeeper, an option of the JVM.
    (
        {"kafka_config": {"listener.name.replication.ssl.endpoint.identification.algorithm": ""}},
        "HOSTNAME_UNCHECKED",
    ),
    ({"kafka_config": {"zookeeper.ssl.endpoint.identification.algorithm": "none"}}, "HOSTNAME_UNCHECKED"),
    ({"kafka_config": {"listener.name.replication.ssl.client.auth": "requested"}}, "CLIENT_AUTH_NONE"),
    ({"kafka_config": {"zookeeper.set.acl": False}}, "ZNODES_OPEN"),
    ({"kafka_java_options": [" ".join(OPEN)]}, "JMX_OPEN"),
    (
        {"kafka_unit_overrides": {"Service": {"Environment": '"JAVA_TOOL_OPTIONS=-agentlib:jdwp=server=y"'}}},
        "DEBUGGER_OPEN",
    ),
    (
        {"kafka_config": {"listener.name.replication.ssl.principal.mapping.rules": "RULE:^.*$/kafka-broker/"}},
        "PRINCIPAL_ANYBODY",
    ),
    ({"kafka_config": {"super.users": "User:orders"}}, "PROPERTY_TWICE"),
    ({"kafka_config": {"super.users": None}}, "AUTHORIZER_SUPER_USERS"),
    ({"kafka_config": {"node.id": 7}}, "PROPERTY_TWICE"),
    ({"kafka_java_options": [f"{JMX}.port=9092"]}, "PORT_CLASH"),
    ({"kafka_zookeeper_chroot": "/kafka/../other"}, "CHROOT_INVALID"),
    ({"kafka_archive_checksum": "sha512:http://m.example.org/kafka.sha512"}, "ARCHIVE_CLEAR"),
]
ZOOKEEPER = [
    ({"zookeeper_java_options": ["-Dzookeeper.skipACL=yes"]}, "ZNODES_OPEN"),
    ({"zookeeper_java_options": ["-Dzookeeper.forceSync=no"]}, "ZOOKEEPER_UNSAFE"),
    ({"zookeeper_config": {"sslQuorum": False}}, "ZOOKEEPER_CLEAR"),
    ({"zookeeper_config": {"ssl.quorum.hostnameVerification": False}}, "HOSTNAME_UNCHECKED"),
    ({"zookeeper_config": {"admin.enableServer": None}}, "ZOOKEEPER_ADMIN_SERVER"),
    ({"zookeeper_client_port": 2181}, "ZOOKEEPER_CLEAR"),
]
EVERYWHERE = [
    ({"ansible_password": "Guoph0Eeshi7"}, "SECRET_CLEAR"),
    ({"ansible_become_pass": 827364518273}, "SECRET_CLEAR"),
    ({"ansible_sudo_password": "eiNgah2Wie8u"}, "SECRET_CLEAR"),
    ({"ansible_ssh_password": "Quai7Ohsh9ah"}, "SECRET_CLEAR"),
    ({"site_environment": "Production"}, "INPUT_REFUSED"),
    ({"ansible_connection": "local"}, "MACHINE_TWICE"),
]
BY_GROUP = {"kafka": KAFKA, "zookeeper": ZOOKEEPER, "all": EVERYWHERE}


def refused(rows: Sequence[Row], folder: Path) -> None:
    """Compare what is reported of a production site with the codes of all rows; each is refused."""
    assert said(folder, SITE, **variables(rows)) == sorted((code, False) for _, code in rows if code)


@pytest.mark.parametrize("batches", batched([({name: own}, code) for name in BY_GROUP for own, code in BY_GROUP[name]]))
def test_refused_in_production(batches: Batches, tmp_path: Path) -> None:
    judge(batches, refused, tmp_path)


def test_a_secret_that_is_a_number(tmp_path: Path) -> None:
    """It stands in the clear as any other."""
    variables = users({"name": "orders", "password": 8273645182736451})
    assert said(tmp_path, LAB, **variables) == [("SECRET_CLEAR", True)]


@pytest.mark.parametrize("inventory", ["lab_stretch2", "lab_stretch2_5", "lab_stretch3"])
@pytest.mark.parametrize("weights", [{}, {1: 2, 2: 2, 3: 2}, {4: 0, 5: 0, 6: 0}, {1: 0, 2: 0}, {6: 3}])
def test_the_table_keeps_the_promise(inventory: str, weights: dict[int, int], tmp_path: Path) -> None:
    """Where nothing is said, the loss of no server and no datacenter loses what was acknowledged."""
    mistake = replace(LAB, inventory=inventory, variables={"zookeeper": {"zookeeper_weights": weights}})
    silent = not {code for code, _ in said(tmp_path, mistake)} & {"ZOOKEEPER_DECISIVE", "ZOOKEEPER_INDISPENSABLE"}
    rows = survival(layout_of(load(tmp_path / "inventory", {"vault": VAULT}).read()))
    lost = [row.failure for row in rows if row.kind in ("server", "datacenter") and not row.zero_loss]
    assert not (silent and lost)
    assert silent or weights


RIGHT: dict[str, dict[str, dict[str, Any]]] = {
    "JMX on the loopback, an agent and ZGC": {
        "kafka": {
            "kafka_gc_options": ["-XX:+UseZGC"],
            "kafka_java_options": [*OPEN, f"{JMX}.host=127.0.0.1", "-javaagent:/opt/exporter.jar=9404:/etc/x.yml"],
        }
    },
    "a privileged port with its capability": {
        "kafka": {
            **site_listeners({"port": 443})["kafka"],
            "client_bootstrap": "198.19.55.21:443",
            "kafka_unit_overrides": {
                "Service": {
                    "AmbientCapabilities": "CAP_NET_BIND_SERVICE",
                    "CapabilityBoundingSet": "CAP_NET_BIND_SERVICE",
                }
            },
        },
        "spark": {"client_bootstrap": "198.19.55.21:443"},
        "zookeeper": {"client_bootstrap": "198.19.55.21:443"},
    },
    "a checkpoint on a disk that the unit may write, a standby of the same group, and a job that is taken away": {
        "spark_consumer": {
            "spark_job_jobs": [
                {**ONE, "config": {**JOB["config"], "checkpoint": "/data/spark/words"}},
                {**again(), "state": "stopped"},
                {"name": "old", "job": "no_more", "state": "absent", "config": {**JOB["config"], "spark": {"a": 1}}},
            ],
            "spark_job_unit_overrides": {"Service": {"ReadWritePaths": "/data/spark"}},
        }
    },
    "a checkpoint on a disk that this job's unit alone may write": {
        "spark_consumer": {
            "spark_job_jobs": [
                {
                    **ONE,
                    "config": {**JOB["config"], "checkpoint": "/data/spark/words"},
                    "unit_overrides": {"Service": {"ReadWritePaths": ["/data/spark"]}},
                }
            ],
        }
    },
    "ACLs by prefix, for everybody on one address, and a denial of something else": {
        "all": {
            "kafka_users": [{**user, "grants": []} for user in users()["all"]["kafka_users"]],
            "kafka_acls": [
                *(entry for entry in JOBS if entry["resource"] == "group"),
                {**JOBS[0], "name": "streams-", "pattern": "prefixed"},
                {**JOBS[1], "name": "streams-", "pattern": "prefixed", "operations": ["all"]},
                {**JOBS[1], "name": "secrets", "permission": "deny"},
            ],
        }
    },
    "another super user of certificates, and old synonyms of good values": {
        "kafka": {
            "kafka_super_users": ["User:kafka-broker", "User:admin", "User:CN=ops,OU=admins,O=example"],
            "kafka_config": {
                "ssl.enabled.protocols": "TLSv1.3,TLSv1.2",
                "ssl.endpoint.identification.algorithm": "HTTPS",
                "inter.broker.protocol.version": "3.8",
                "log.retention.ms": -1,
            },
        },
        "zookeeper": {"zookeeper_config": {"4lw.commands.whitelist": "mntr", "forceSync": "yes"}},
    },
    "passwords of JMX in a file, and the AdminServer on the loopback": {
        "kafka": {"kafka_java_options": [f"{JMX}.password.file=/etc/kafka/jmx.password"]},
        "zookeeper": {"zookeeper_config": {"admin.enableServer": True, "admin.serverAddress": "127.0.0.1"}},
    },
    "a job that reads another cluster, which has its own ways": {
        "spark_consumer": {
            "spark_job_jobs": [
                {**ONE, "config": {**JOB["config"], "kafka": {"bootstrap.servers": "old1.example.com:9092"}}},
            ]
        }
    },
    "log dirs with a slash at the end": {"kafka": {"kafka_log_dirs": ["/data/kafka1/", "/data/kafka2/"]}},
    "one machine behind several ports of a gateway": {
        "dc1-kafka1": {"ansible_host": "192.0.2.1", "ansible_port": 2201},
        "dc2-kafka1": {"ansible_host": "192.0.2.1", "ansible_port": 2202},
    },
}


@pytest.mark.parametrize("batches", batched([(site, "") for site in RIGHT.values()]))
def test_unusual_and_right(batches: Batches, tmp_path: Path) -> None:
    judge(batches, refused, tmp_path)


THREE_IN_ONE = {
    "        dc1-zk1: {zookeeper_id: 1, client_address: 198.18.1.11, replication_address: 198.18.2.11}\n": (
        "        dc1-kafka1: {zookeeper_id: 1}\n"
    ),
    "{dc1-zk1: {}, dc1-kafka1: {}}": "{dc1-kafka1: {}}",
    "            dc1-spark1: {client_address: 198.18.1.31}\n": "            dc1-kafka1: {}\n",
}


def test_a_host_of_three_functions(tmp_path: Path) -> None:
    """The first server, which has the admin's certificate, a broker and a Spark node; each with its own keys."""
    assert said(tmp_path, replace(LAB, hosts=THREE_IN_ONE), **{"dc1-kafka1": {"allow_colocated": True}}) == []


def test_files_that_are_somebody_elses(tmp_path: Path) -> None:
    """The control node's variables are read; those of a group that is not in this inventory are a warning."""
    files = {"host_vars/localhost.yml": "answer: 42\n", "group_vars/office.yml": "answer: 42\n"}
    assert said(tmp_path, replace(LAB, files=files)) == [("FILE_UNREAD", True)]


def test_a_file_may_say_the_logins(tmp_path: Path) -> None:
    """Kafka reads it where kafka_config says nothing; nobody here does, so that is a warning."""
    options = {"kafka_java_options": ["-Djava.security.auth.login.config=/etc/kafka/jaas.conf"]}
    listener = site_listeners({"protocol": "SASL_SSL", "sasl_mechanisms": ["PLAIN"]})["kafka"]
    for own, warning in (({}, False), (options, True)):
        folder = tmp_path / str(warning)
        assert ("MECHANISM_SETTINGS", warning) in said(folder, SITE, kafka={**listener, **own})


def test_the_scenario_of_molecule(tmp_path: Path) -> None:
    """More listeners, each with what it needs and no more."""
    folder = Path(__file__).parents[2] / "molecule" / "datacenter" / "inventory"
    passwords = {**VAULT["passwords"], "mirror_reader": "aiGh7ohC4eiw", "mirror_maker": "Ohr2eenahz0k"}
    extra = {
        "vault": {**VAULT, "passwords": passwords},
        "pki_store_password": "Eep6quiZohD0",
        "lab_directory": str(tmp_path),
    }
    (accepted,) = check(folder, {**extra, "archives": str(made_archives())})[1]
    assert accepted.startswith("MIRROR_ITSELF group mirror_maker/mirror_maker_flows[west].bootstrap")
    assert accepted.endswith("accepted by accept_risks")


def test_a_denial_on_another_address_shuts_nobody_out(tmp_path: Path) -> None:
    """A job is judged by the addresses of its node."""
    denial = {**JOBS[1], "permission": "deny", "host": "192.0.2.9"}
    assert said(tmp_path, LAB, all={"kafka_acls": [*JOBS, denial]}) == []


FIVE = {
    "        dc1-kafka3:\n": "".join(
        f"        dc1-kafka{n}: {{kafka_broker_id: {n}, client_address: 198.18.1.2{n}, "
        f"replication_address: 198.18.2.2{n}}}\n"
        for n in (4, 5)
    )
    + "        dc1-kafka3:\n",
    "hosts: {dc1-zk1: {}, dc1-kafka1: {}}": "hosts: {dc1-zk1: {}, dc1-kafka1: {}, dc1-kafka4: {}}",
    "hosts: {dc1-zk2: {}, dc1-kafka2: {}}": "hosts: {dc1-zk2: {}, dc1-kafka2: {}, dc1-kafka5: {}}",
}
SIX = {"        dc1-kafka1:": "        dc1-kafka9: {kafka_broker_id: 9, client_address: 198.18.51.29, "
       "replication_address: 198.18.52.29, datacenter: dc1}\n        dc1-kafka1:"}  # fmt: skip
ACCEPTED = {"accept_risks": ["RACK_UNEVEN"]}


@pytest.mark.parametrize(
    ("inventory", "hosts", "of_all", "begins"),
    [
        ("lab", FIVE, {}, ["RACK_UNEVEN group kafka/kafka_rack = dc1-a 2, dc1-b 2, dc1-c 1: the racks have different "
                           "numbers of brokers: with 3 replicas, dc1-kafka3 has a replica of 100 % of the partitions"]),
        ("lab", FIVE, ACCEPTED, []),
        ("lab", FIVE, {"kafka_replication_factor": 5, "kafka_min_insync_replicas": 3}, []),  # each broker has all
        ("lab", {}, ACCEPTED, ["RISK_IDLE group all/accept_risks = RACK_UNEVEN: no setting has this risk any more"]),
        ("lab_stretch2", SIX, {}, ["RACK_UNEVEN group kafka/kafka_rack = dc1 3, dc2 2: the datacenters have different "
                                   "numbers of brokers, so some partitions have up to 3 of 4 replicas"]),
        ("lab_stretch2", SIX, ACCEPTED, ["RACK_UNEVEN group kafka/kafka_rack = dc1 3, dc2 2: the datacenters have "]),
    ],
)  # fmt: skip
def test_racks_of_different_sizes(
    inventory: str, hosts: dict[str, str], of_all: dict[str, Any], begins: list[str], tmp_path: Path
) -> None:
    """An error where a datacenter may hold too many replicas; else a warning that goes once it is accepted."""
    site = replace(LAB, inventory=inventory, hosts=hosts, variables={"all": of_all})
    problems, lines = check(spoil(tmp_path / "inventory", site))
    assert len(lines) == len(begins), lines
    assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True)), lines
    assert [problem.warning for problem in problems] == [inventory == "lab" or bool(of_all)] * len(begins)
    wanted = "accepted by accept_risks" if of_all else "(3 or 6 brokers in all), or accept_risks: [RACK_UNEVEN]"
    wanted = wanted if inventory == "lab" or of_all else "(4 or 6 brokers in all), or accept_risks: [RACK_UNEVEN]"
    assert all(line.endswith(wanted) for line in lines if line.startswith("RACK_UNEVEN")), lines
