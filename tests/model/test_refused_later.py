"""What a run, a JVM or a client refuses only after hosts were changed is said before, with the word that is meant."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, batched, judge
from model.mistakes.access import GRANTS, users
from model.mistakes.base import LAB, THERE, Mistake, kafka, spoil
from model.mistakes.jobs import again, job
from model.said import check
from model.test_meant import KAFKA, MEMORY, TOPIC, config, reported, topics

CONFIG = "group spark_consumer/spark_job_jobs[count_words].config"
RSA, ECDSA = (f"TLS_ECDHE_{kind}_WITH_AES_256_GCM_SHA384" for kind in ("RSA", "ECDSA"))

LARGE = {"spark.driver.memory": "4g"}
COMPACTED = {"profile": "compacted_state"}

TWICE = {
    "name": "other",
    "subject": "CN=x,O=lab",
    "names": ["x"],
    "authority": "infra",
    "path": "/etc/kafka/tls/keystore.pem",
}


def starred(topic: str) -> dict[str, Any]:
    """Return the users of the lab; the job may write to other topics only."""
    (known,) = (found["kafka_users"] for found in users().values())
    grants = [GRANTS["count_words"][0], {"produce": [topic]}]
    return {"all": {"kafka_users": [*known[:2], {**known[2], "grants": grants}]}}


def connect(which: str, said: dict[str, Any]) -> dict[str, Any]:
    """Return workers of Connect and the topics of their state, and what is said of one of those."""
    found = {
        name: {"name": f"etl-{name}", "partitions": 1 if name == "configs" else 6, **COMPACTED}
        for name in ("configs", "offsets", "status")
    }
    one = {key: value for key, value in found[which].items() if key != "profile"}
    known = [*found.values()]
    known[[*found].index(which)] = {**one, **said}
    grant = {"connect": "etl", "topics": [f"etl-{name}" for name in found]}
    user = {"name": "etl", "password": "{{ vault.passwords.generate_orders }}", "grants": [grant]}
    return {"all": {"kafka_topics": [*THERE, *known], **users(user)["all"]}}


@pytest.mark.parametrize(
    "batches",
    batched([
        # The launcher makes -Xmx of it, and the JVM takes one letter.
        (job(spark={"spark.driver.memory": "2gb"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "1024b"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.memory.offHeap.size": "1073741824b"}), []),
        (job(spark={"spark.master": "local[4, 2]"}), []),
        (job(spark={"spark.driver.memory": "2048MB"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "2G", "spark.driver.memoryOverhead": "512mb"}), []),
        # YAML makes a date of what has no quotes, which no file of a job can hold.
        (job(input_start={"timestamp": datetime(2026, 1, 31, 12, tzinfo=UTC)}),
         [f"JOB_CONFIG {CONFIG}.input_start[timestamp]"]),
        (job(input_start={"timestamp": "2026-01-31T12:00:00Z"}), []),
        # What may stand still while a broker is restarted is named.
        (topics({"min.insync.replicas": 2}, replication_factor=2),
         [f"TOPIC_MIN_ISR_EQUAL {TOPIC}[min.insync.replicas]"]),
        (topics({"min.insync.replicas": 2}, ["scratch"], replication_factor=2),
         [f"warn TOPIC_MIN_ISR_EQUAL {TOPIC}[min.insync.replicas]"]),
        (topics({}, ["scratch"], {"config": {"min.insync.replicas": 2}}, replication_factor=2),
         ["warn TOPIC_MIN_ISR_EQUAL group all/kafka_topics[scratch].replication_factor"]),
        # Suites that do not go with the kind of the key.
        (config(ssl_cipher_suites=ECDSA), [f"CIPHER_UNFIT {KAFKA}[ssl.cipher.suites]"]),
        (config(ssl_cipher_suites=f"{ECDSA},TLS_AES_256_GCM_SHA384"), []),
        (config(ssl_cipher_suites=f"{ECDSA},TLS_AES_256_GCM_SHA384", ssl_enabled_protocols="TLSv1.2"),
         [f"CIPHER_UNFIT {KAFKA}[ssl.cipher.suites]"]),
        (config(ssl_cipher_suites=f"{ECDSA},{RSA}"), []),
        (config(listener_name_client_ssl_cipher_suites=ECDSA),
         [f"CIPHER_UNFIT {KAFKA}[listener.name.client.ssl.cipher.suites]"]),
        (config(zookeeper_ssl_cipher_suites=ECDSA), [f"CIPHER_UNFIT {KAFKA}[zookeeper.ssl.cipher.suites]"]),
        ({"zookeeper": {"zookeeper_config": {"ssl.quorum.ciphersuites": ECDSA}}},
         ["CIPHER_UNFIT group zookeeper/zookeeper_config[ssl.quorum.ciphersuites]"]),
        ({**config(ssl_cipher_suites=RSA), "all": {"pki_key": "ec-p256"}},
         [f"CIPHER_UNFIT {KAFKA}[ssl.cipher.suites]"]),
        ({**config(ssl_cipher_suites=ECDSA), "all": {"pki_key": "ec-p256"}}, []),
        ({"kafka": {"kafka_keystore": "/srv/kafka.pem", **config(ssl_cipher_suites=ECDSA)["kafka"]}},
         ["warn KEYSTORE_UNKNOWN group kafka/kafka_keystore"]),
        # Hours or days where milliseconds are read.
        (config(log_retention_ms=168), [f"LIMIT_MEANT {KAFKA}[log.retention.ms]"]),
        (config(log_retention_ms=7), [f"LIMIT_MEANT {KAFKA}[log.retention.ms]"]),
        (config(log_roll_ms=24), [f"LIMIT_MEANT {KAFKA}[log.roll.ms]"]),
        (config(log_retention_ms=120000), [f"warn RETENTION_SHORT {KAFKA}[log.retention.ms]"]),
        # What workers of Connect keep their state in.
        (connect("configs", COMPACTED), []),
        (connect("status", {"profile": "event_log"}), ["TOPIC_STATE group all/kafka_topics[etl-status]"]),
        (connect("offsets", {"config": {"cleanup.policy": "compact,delete"}}),
         ["TOPIC_STATE group all/kafka_topics[etl-offsets]"]),
        (connect("configs", {**COMPACTED, "partitions": 6}),
         ["TOPIC_STATE group all/kafka_topics[etl-configs].partitions"]),
        (connect("status", {"manage": False}), []),
        # The host itself needs some of its memory.
        ({**job(again(spark=LARGE), spark=LARGE), "dc1-spark2": {"memory": "8g"}},
         ["JOB_MEMORY_SUM dc1-spark2/memory"]),
        ({**job(again(spark=LARGE), spark=LARGE), "dc1-spark2": {"memory": "9g"}}, []),
        ({"kafka": {"kafka_heap": "6g", "memory": "6g"}}, ["HEAP_MEMORY group kafka/kafka_heap"]),
        ({"kafka": {"kafka_heap": "6g", "memory": "7g"}}, ["warn HEAP_HALF group kafka/kafka_heap"]),
        # Milliseconds where seconds are read.
        *[({group: {name: value}}, [f"warn TIMEOUT_LONG {place}/{name}"]) for group, place, name, value in (
            ("kafka", "group kafka", "kafka_restart_timeout", 300000),
            ("kafka", "group kafka", "kafka_unregistered_timeout", 60000),
            ("all", "group all", "kafka_write_timeout", 60000),
            ("spark", "group spark", "spark_job_stop_timeout", 120000),
            ("zookeeper", "group zookeeper", "zookeeper_stop_timeout", 60000),
        )],
        ({"kafka": {"kafka_stop_timeout": 7200, "kafka_restart_timeout": 14400}}, []),
        # One word is wrong, and what it stands on is said alone.
        (job(output_topic="streams-wordcount-outputs"), [f"JOB_TOPIC {CONFIG}.output_topic"]),
        (starred("*-output"), ["GRANT_STAR group all/kafka_users[count_words].grants[produce].produce"]),
        (kafka(site_certificates=[TWICE]), ["CERTIFICATE_DUPLICATE group kafka/site_certificates[other].path"]),
        ({"all": {"client_network": "198.18.1.16/29"}}, ["NETWORK_ELSEWHERE group all/client_network"]),
    ]),
)  # fmt: skip
def test_of_the_lab(batches: Batches, tmp_path: Path) -> None:
    """The mistake is said where it is made; what is meant is not said at all."""
    judge(batches, reported, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "wanted"),
    [
        (Mistake("", "", "", variables={"all": {"client_network": "198.19.55.0/27"}}, inventory="stretch3"),
         {"NETWORK_ELSEWHERE group all/client_network = 198.19.55.0/27"}),
        (Mistake("", "", "", {"vars: {datacenter: dc2}": "vars: {datacentre: dc2}"}, inventory="stretch2"),
         {"VARIABLE_SUSPECT group dc2/datacentre"}),
    ],
)  # fmt: skip
def test_of_production(wrong: Mistake, wanted: set[str], tmp_path: Path) -> None:
    """What follows is not said as well."""
    found = check(spoil(tmp_path / "inventory", wrong))[1]
    codes = {line.split(" ")[0] for line in wanted}
    follow = {"ADDRESS_RESERVED", "ADDRESS_OUTSIDE", "ZOOKEEPER_GROUPS_MISSING"}
    assert all(any(text.startswith(line) for text in found) for line in wanted), found
    assert codes == {text.split(" ")[0] for text in found} & (codes | follow), found


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        (kafka(kafka_replication_factor=6, kafka_min_insync_replicas=3), "MIN_ISR_TOO_LOW"),
        (kafka(kafka_replication_factor=6, kafka_min_insync_replicas=4), "MIN_ISR_STOPS"),
        (topics({"min.insync.replicas": 3}, replication_factor=6), "TOPIC_DATACENTER_LOSS"),
        (topics({"min.insync.replicas": 4}, replication_factor=6), "TOPIC_DATACENTER_STOPS"),
    ],
)
def test_no_two_rules_send_in_a_circle(variables: dict[str, Any], code: str, tmp_path: Path) -> None:
    """Where no min.insync.replicas is right, its number is in no advice."""
    found = check(spoil(tmp_path / "inventory", replace(LAB, inventory="stretch3", variables=variables)))[1]
    (line,) = (text for text in found if " no min.insync.replicas keeps " in text)
    assert not any(re.search(r"(use|to) 3$|(use|to) 4\b", text) for text in found), found
    assert re.match(rf"{code} group (all|kafka)/", line)
    assert "replication_factor = 6: no min.insync.replicas keeps both records and writes with 6 replicas on 9" in line
    assert line.endswith("; use 3 or 9 replicas"), line
