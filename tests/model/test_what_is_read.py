"""Files that nobody reads where they stand, or nobody may read: of variables, of keys, of what jobs read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import JOB, LAB, kafka, spoil, zookeeper
from model.mistakes.jobs import PLACE, job
from model.said import check
from model.test_said_in_place import MTLS

CLIENTS = {"path": "/etc/kafka/tls/clients.pem", "authorities": ["clients"]}
PARTNERS = {
    "name": "PARTNERS",
    "address": "{{ client_address }}",
    "port": 9095,
    "protocol": "SASL_SSL",
    "keystore": "/etc/kafka/partners/keystore.pem",
}
CERTIFICATE = {
    "name": "partners",
    "subject": "CN={{ inventory_hostname }},OU=partners,O={{ organization }}",
    "authority": "infra",
    "names": ["{{ inventory_hostname }}", "{{ client_address }}", "{{ replication_address }}"],
    "path": "/etc/kafka/partners/keystore.pem",
}
SERVER = {**CERTIFICATE, "path": "/etc/zookeeper/own/keystore.pem"}
BUNDLE = {"path": "/etc/millrace/tls/old.pem", "authorities": ["infra"]}
JOB_BUNDLE = "{{ kafka_client | combine({'ssl.truststore.location': '/etc/millrace/tls/old.pem'}, "
JOB_BUNDLE += "kafka_users | millrace.kafka.kafka_login('count_words')) }}"
INPUT = f"JOB_DIRECTORY {PLACE}.input_directory = "
UNSEEN = "the unit does not see the host's "
SEES = "use a path below /var/lib/spark-job or /srv, or add this path to BindReadOnlyPaths in unit_overrides of the job"


def said(variables: dict[str, Any], folder: Path, files: dict[str, str] | None = None) -> list[str]:
    """Return the lines of a wrong inventory."""
    return check(spoil(folder / "inventory", replace(LAB, variables=variables, files=files or {})))[1]


@pytest.mark.parametrize(
    ("files", "where", "advice"),
    [
        (
            ["kafka.yml", "kafka/more.yml"],
            "kafka.yml: Ansible reads the folder group_vars/kafka/ instead",
            "the folder",
        ),
        (
            ["kafka.yaml", "kafka/more.yml"],
            "kafka.yaml: Ansible reads the folder group_vars/kafka/ instead",
            "the folder",
        ),
        (["all.json", "all/more.yml"], "all.json: Ansible reads the folder group_vars/all/ instead", "the folder"),
        (["rack_a.yml", "rack_a"], "rack_a.yml: Ansible reads group_vars/rack_a instead", "to group_vars/rack_a"),
        (["rack_a.yaml", "rack_a.yml"], "rack_a.yaml: Ansible reads group_vars/rack_a.yml instead", "rack_a.yml"),
    ],
)
def test_a_file_beside_the_one_that_is_read(files: list[str], where: str, advice: str, tmp_path: Path) -> None:
    """It is said once, at the file; and what it would have set is not missed."""
    text = '{"kafka_heap": "768m"}\n'
    lines = said({}, tmp_path, {f"group_vars/{file}": text for file in files})
    assert len(lines) == 1 and lines[0].startswith(f"FILE_UNREAD group_vars/{where} of this file"), lines
    assert advice in lines[0].rpartition("; ")[2], lines


def test_of_a_host_as_well(tmp_path: Path) -> None:
    files = {
        "host_vars/dc1-kafka1.yml": "kafka_heap: 768m\n",
        "host_vars/dc1-kafka1/a.yml": "kafka_limit_nofile: 20000\n",
    }
    (line,) = said({}, tmp_path, files)
    assert line.startswith(
        "FILE_UNREAD host_vars/dc1-kafka1.yml: Ansible reads the folder host_vars/dc1-kafka1/ instead"
    )


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (
            kafka(site_listeners=[MTLS], site_truststores=[CLIENTS]),
            "STORE_GROUP group kafka/site_truststores[/etc/kafka/tls/clients.pem].group = root: "
            "/etc/kafka/tls/clients.pem is readable by only root (0640), and kafka, which reads it for listener MTLS, ",
        ),
        (
            kafka(site_listeners=[MTLS], site_truststores=[{**CLIENTS, "group": "zookeeper"}]),
            "STORE_GROUP group kafka/site_truststores[/etc/kafka/tls/clients.pem].group = zookeeper: "
            "/etc/kafka/tls/clients.pem is readable by root and group zookeeper (0640)",
        ),
        (
            kafka(site_listeners=[PARTNERS], site_certificates=[CERTIFICATE]),
            "STORE_GROUP group kafka/site_certificates[partners].group = root: ",
        ),
        (
            zookeeper(zookeeper_keystore=SERVER["path"], site_certificates=[SERVER]),
            "STORE_GROUP group zookeeper/site_certificates[partners].group = root: /etc/zookeeper/own/keystore.pem is "
            "readable by only root (0640), and zookeeper, which reads it for its zookeeper_keystore, could not",
        ),
        (
            {"spark": {"site_truststores": [BUNDLE]}, **job(kafka=JOB_BUNDLE)},
            "STORE_GROUP group spark/site_truststores[/etc/millrace/tls/old.pem].group = root: "
            "/etc/millrace/tls/old.pem is readable by only root (0640), and spark, which reads it for job count_words",
        ),
    ],
)
def test_a_key_that_its_reader_may_not_read(variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    assert len(lines) == 1 and lines[0].startswith(wanted), lines


@pytest.mark.parametrize(
    "variables",
    [
        kafka(site_listeners=[MTLS], site_truststores=[{**CLIENTS, "group": "kafka"}]),
        kafka(site_listeners=[MTLS], site_truststores=[{**CLIENTS, "group": "ssl-cert"}]),  # of the site's own
        kafka(
            site_listeners=[MTLS],
            site_truststores=[{**CLIENTS, "group": "spark"}],
            kafka_unit_overrides={"Service": {"SupplementaryGroups": ["spark"]}},
        ),
        kafka(site_truststores=[CLIENTS]),  # nobody of ours reads it
    ],
    ids=["its own", "another's", "supplementary", "nobody's"],
)  # fmt: skip
def test_who_may_read_it(variables: dict[str, Any], tmp_path: Path) -> None:
    assert said(variables, tmp_path) == []


def publish(path: str, **service: Any) -> dict[str, Any]:
    """Return a job that reads files, and what its unit has besides."""
    config = {"input_directory": path, "output_topic": "streams-wordcount-output", "input_topic": None, **KAFKA}
    made = job(**config)["spark_consumer"]["spark_job_jobs"][0]
    return {"spark_consumer": {"spark_job_jobs": [
        {**made, "job": "publish_lines", "unit_overrides": {"Service": service}}]}}  # fmt: skip


KAFKA = {"kafka": JOB["config"]["kafka"]}


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (publish("/home/etl/outbox"), [f"{INPUT}/home/etl/outbox: {UNSEEN}/home (ProtectHome)"]),
        (publish("/tmp/outbox"), [f"{INPUT}/tmp/outbox: {UNSEEN}/tmp (PrivateTmp)"]),
        (publish("/var/tmp/outbox"), [f"{INPUT}/var/tmp/outbox: {UNSEEN}/var/tmp (PrivateTmp)"]),
        (publish("/home/etl/outbox", PrivateTmp="no"), [f"{INPUT}/home/etl/outbox: the unit does not see"]),
        (publish("/home/etl/outbox", ReadWritePaths="/home/etl"), [f"{INPUT}/home/etl/outbox: the unit does not see"]),
        (publish("/home/etl/outbox", ProtectHome="read-only"), []),
        (publish("/home/etl/outbox", BindReadOnlyPaths=["/home/etl/outbox"]), []),
        (publish("/tmp/outbox", PrivateTmp=False), []),
        (publish("/srv/outbox"), []),
        # What is written there, too: a home stays closed, whatever may be written.
        (
            {
                **job(checkpoint="/home/etl/words"),
                "spark": {"spark_job_unit_overrides": {"Service": {"ReadWritePaths": "/home/etl"}}},
            },
            [f"JOB_DIRECTORY {PLACE}.checkpoint = /home/etl/words: the unit does not see the host's /home"],
        ),
        (
            job(kafka=JOB_BUNDLE.replace("/etc/millrace", "/root")),
            [f"JOB_DIRECTORY {PLACE}.kafka[ssl.truststore.location] = /root/tls/old.pem: the unit does not see"],
        ),
        # Of brokers and servers.
        (
            kafka(kafka_listeners=[{**MTLS, "name": "REPLICATION", "port": 9093, "address": "{{ replication_address }}",
                                    "truststore": "/home/ops/clients.pem"}]),
            ["PATH_SYSTEM group kafka/kafka_listeners[REPLICATION].truststore = /home/ops/clients.pem: below /home"],
        ),
        (
            zookeeper(zookeeper_truststore="/root/ca.pem"),
            ["PATH_SYSTEM group zookeeper/zookeeper_truststore = /root/ca.pem: below /root, which the unit does not"],
        ),
    ],
)  # fmt: skip
def test_what_a_unit_does_not_see(variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    found = [line for line in lines if "does not see" in line or "do not see" in line]
    assert len(found) == len(wanted), lines
    assert all(line.startswith(begin) for line, begin in zip(found, wanted, strict=True)), lines
    assert all(SEES in line for line in found if "input_directory" in line), lines
