"""What follows from a wrong word is not said besides it, and the word is named with what is true of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import users
from model.mistakes.base import LAB, config, kafka, spoil
from model.said import check
from model.test_reached import said
from model.test_said_in_place import MTLS

BUNDLE = {"path": "/etc/kafka/tls/ca.pem", "authorities": ["clients"], "group": "kafka"}
TRANSACTIONS = "transaction.state.log.replication.factor"
OFFSETS = "offsets.topic.replication.factor"


def of_hosts(inventory: str, hosts: dict[str, str], folder: Path) -> list[str]:
    """Return the lines of a wrong hosts.yml."""
    problems, lines = check(spoil(folder / "inventory", replace(LAB, inventory=inventory, hosts=hosts)))
    return [
        f"{'warn ' if problem.warning else ''}{line}"
        for problem, line in zip(problems, lines, strict=True)
        if problem.code != "RACK_UNEVEN" or inventory == "stretch3"
    ]


@pytest.mark.parametrize(
    ("inventory", "hosts", "wanted"),
    [
        (  # a host of two groups, each with its jobs
            "dc2",
            {"            dc2-spark2: {client_address: 198.19.11.32}\n":
             "            dc2-spark2: {client_address: 198.19.11.32}\n            dc2-spark3: {}\n"},
            "GROUP_RIVALS dc2-spark3/spark_job_jobs: groups spark_consumer and spark_producer both set this "
            "variable, and spark_producer overrides spark_consumer: the host loses count_words, project_orders; "
            "remove the host from spark_consumer or spark_producer, or set it in one",
        ),
        ("stretch2", {"standby: true": "standbye: true"}, "VARIABLE_SUSPECT dc2-spark2/standbye: nothing of this"),
        ("stretch2", {"{datacenter: dc2}": "{datacentre: dc2}"}, "VARIABLE_SUSPECT group dc2/datacentre: nothing of"),
        ("stretch2", {"    layout: stretch2": "    layot: stretch2"}, "VARIABLE_SUSPECT group all/layot: nothing of"),
        (
            "stretch3",
            {"hosts: {dc2-zk1: {}, dc2-zk2: {}, ": "hosts: {dc2-zk1: {}, dc2-zk2: {}, dc1-kafka3: {}, "},
            "DATACENTER_GROUP dc1-kafka3/datacenter = dc2: the host is in group dc1, which sets dc1, and in group "
            "dc2, which overrides this value; remove the host from dc2 if it is in dc1, else remove it from dc1",
        ),
        (  # and not what of the quorum would be wrong with it
            "stretch3",
            {"hosts: {dc2-zk1: {}, dc2-zk2: {}, ": "hosts: {dc2-zk1: {}, dc2-zk2: {}, dc1-zk2: {}, "},
            "DATACENTER_GROUP dc1-zk2/datacenter = dc2: the host is in group dc1, which sets dc1, and in group dc2",
        ),
    ],
    ids=["jobs", "standby", "place", "layout", "datacenter", "server"],
)  # fmt: skip
def test_of_hosts(inventory: str, hosts: dict[str, str], wanted: str, tmp_path: Path) -> None:
    lines = of_hosts(inventory, hosts, tmp_path)
    assert len(lines) == 1, lines
    assert lines[0].startswith(wanted), lines


def grant(*grants: dict[str, Any]) -> dict[str, Any]:
    """Return the lab's users, that of the job with other grants."""
    found = users()
    found["all"]["kafka_users"][2]["grants"] = [*grants, {"produce": ["streams-wordcount-output"]}]
    return found


CONSUME = {"consume": ["streams-plaintext-input"]}
OF_GRANT = "GRANT_BESIDE group all/kafka_users[count_words].grants[consume]"


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (grant({**CONSUME, "groups": ["spark-kafka-source*"]}),
         f"{OF_GRANT} = groups: has no effect in a grant of consume; did you mean group: spark-kafka-source*?"),
        (grant(CONSUME), "GRANT_LACKS group all/kafka_users[count_words].grants[consume]"),
        (kafka(site_listeners=[{**MTLS, "truststore": BUNDLE["path"]}], site_truststores=[BUNDLE]),
         "CERTIFICATE_DUPLICATE group kafka/site_truststores[0].path = /etc/kafka/tls/ca.pem: two files have"),
        (kafka(site_listeners=[{"name": "EXTRA", "address": "{{ client_address }}", "port": 9095,
                                "protocol": "SASL_SSL", "advertised_address": "{{ inventory_hostname }}.example.org"}]),
         "CERTIFICATE_NAMES group kafka/site_listeners[EXTRA].advertised_address = "
         "{{ inventory_hostname }}.example.org: "),
        (config("listener.name.CLIENT.ssl.client.auth", "required"),
         "KAFKA_PROPERTY_UNKNOWN group kafka/kafka_config[listener.name.CLIENT.ssl.client.auth] = required: "),
        # The true reason.
        (kafka(kafka_class_path=["/opt/metrics/*.jar"]),
         "PATH_SIGNS group kafka/kafka_class_path = /opt/metrics/*.jar: Java expands * to all jars of a folder "
         "only if * is the whole last part of the path; write /opt/metrics/* for all jars of this folder, or"),
        (kafka(kafka_class_path=["/opt/metrics*"]),
         "PATH_SIGNS group kafka/kafka_class_path = /opt/metrics*: Java expands *"),
        (users({"name": "order-writer"}),
         "USER_PASSWORD group all/kafka_users[order-writer].password: the user has no password; "
         "set password: \"{{ vault.passwords['order-writer'] }}\", and"),
        (kafka(kafka_class_path=["lib/*.jar"]), "PATH_RELATIVE group kafka/kafka_class_path = lib/*.jar: not an"),
        (kafka(kafka_class_path=["/opt/x:/opt/y"]), "PATH_SIGNS group kafka/kafka_class_path = /opt/x:/opt/y: "),
        ({"zookeeper": {"zookeeper_config": {"maxClientCnxns": 1}}},
         "warn ZOOKEEPER_LIMIT group zookeeper/zookeeper_config[maxClientCnxns] = 1: the server"),
        ({"zookeeper": {"zookeeper_java_options": ["-Dzookeeper.snapCount=100"]}},
         "warn ZOOKEEPER_LIMIT group zookeeper/zookeeper_java_options = snapCount=100: "),
        ({"zookeeper": {"zookeeper_java_options": ["-Dzookeeper.forceSync=no"]}},
         "ZOOKEEPER_UNSAFE group zookeeper/zookeeper_java_options = forceSync=no: "),
        (kafka(kafka_config={"ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}),
         "CIPHER_UNFIT group kafka/kafka_config[ssl.cipher.suites] = TLS_AES_256_GCM_SHA384: none of these suites is "
         "for TLSv1.2, the only protocol enabled: no connection could be made; add a suite of TLSv1.2, as "
         "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, or remove it"),
        ({"all": {"base_sysctl": {"vm.dirty_ratio": 5, "vm.dirty_background_ratio": 10}}},
         "SYSCTL_VALUE group all/base_sysctl[vm.dirty_background_ratio] = 10: not less than vm.dirty_ratio (5): "
         "writers would have to wait before the kernel starts to write; set less than 5"),
        ({"zookeeper": {"zookeeper_class_path": ["/opt/a*/metrics"]}},
         "PATH_SIGNS group zookeeper/zookeeper_class_path = /opt/a*/metrics: Java expands *"),
        ({"all": {"organization": "example (EU)"}},
         "ORGANIZATION_INVALID group all/organization = 'example (EU)': '(' ')': special in the rules that derive "
         "names from subjects (principal_mapping_rules): these would not match; use a name of letters"),
        ({"all": {"organization": "a+b*"}},
         "ORGANIZATION_INVALID group all/organization = 'a+b*': '+' would break the subjects of certificates, and '*': "
         "special in the rules"),
        (config(TRANSACTIONS, 2),
         f"INTERNAL_TOPICS_DIFFER group kafka/kafka_config[{TRANSACTIONS}] = 2: {TRANSACTIONS} is 2, but "
         "default.replication.factor is 3: 2 replicas have to be in sync, so no transaction would begin or end while "),
        (config(OFFSETS, 2),
         f"INTERNAL_TOPICS_DIFFER group kafka/kafka_config[{OFFSETS}] = 2: {OFFSETS} is 2, but "
         "default.replication.factor is 3: a failure that loses no records could lose offsets"),
    ],
)  # fmt: skip
def test_once(variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    assert len(lines) == 1, lines
    assert lines[0].startswith(wanted), lines


def test_all_jars_of_a_folder_are_right(tmp_path: Path) -> None:
    assert said(kafka(kafka_class_path=["/opt/metrics/*"]), tmp_path) == []


def test_who_runs_a_job_is_not_judged_by_a_list_that_cannot_be_read(tmp_path: Path) -> None:
    """One host of the two has no word `standby`, and the other is the true one."""
    found = spoil(tmp_path / "inventory", replace(LAB, inventory="dc2"))
    file = found / "group_vars" / "spark_consumer" / "a.yml"
    file.write_text(file.read_text().replace("standby | default(false) | bool", "standby"))
    problems, lines = check(found)
    assert [problem.code for problem in problems if problem.code != "RACK_UNEVEN"] == ["VARIABLE_MISSING"], lines
