"""What is wrong is said once, of the line of the inventory that is wrong, and not of what follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, THERE, config, kafka, spoil, zookeeper
from model.said import check
from model.test_reached import said

PARTNERS = {
    "site_listeners": [
        {"name": "PARTNERS", "address": "{{ client_address }}", "port": 9095, "protocol": "SASL_SSL",
         "keystore": "/etc/kafka/partners/keystore.pem"},
    ],
    "site_certificates": [
        {"name": "partners", "subject": "CN=kafka.example.org,OU=brokers,O={{ organization }}", "authority": "infra",
         "names": ["kafka.example.org"], "path": "/etc/kafka/partners/keystore.pem", "group": "kafka"},
    ],
}  # fmt: skip
CAS = [{"name": name, "subject": f"CN={name},O=lab"} for name in ("infra", "infra-2027", "clients")]


@pytest.mark.parametrize(
    ("inventory", "variables", "wanted"),
    [
        (
            "lab_stretch2",
            zookeeper(zookeeper_observers=[6]),
            "ZOOKEEPER_GROUP_EVEN group zookeeper/zookeeper_observers = 6: dc2-zk3 does not vote, so the 2 servers of "
            "dc2 survive no more failures than 1; remove it, or choose",
        ),
        (
            "lab_stretch2",
            zookeeper(zookeeper_observers=[5, 6]),
            "ZOOKEEPER_GROUP_SIZES group zookeeper/zookeeper_observers = 5, 6: dc2-zk2 and dc2-zk3 do not vote, so dc2 "
            "survives fewer failures than the other datacenter; remove it, or choose",
        ),
        (
            "lab",
            config("replica.lag.time.max.ms", 30),
            "PROPERTY_ORDER group kafka/kafka_config[replica.lag.time.max.ms] = 30: less than "
            "replica.fetch.wait.max.ms (100), so Kafka would not start; write 30000 if you mean seconds: the unit is",
        ),
        (
            "lab",
            config("replica.fetch.wait.max.ms", 60000),
            "PROPERTY_ORDER group kafka/kafka_config[replica.fetch.wait.max.ms] = 60000: more than "
            "replica.lag.time.max.ms (30000), so Kafka would not start; set at most 30000",
        ),
        (
            "lab",
            kafka(
                kafka_config_overrides={"group.min.session.timeout.ms": 60000, "group.max.session.timeout.ms": 50000}
            ),
            "PROPERTY_ORDER group kafka/kafka_config_overrides[group.min.session.timeout.ms] = 60000: more than "
            "group.max.session.timeout.ms (50000), so Kafka would not start; correct this property or "
            "group.max.session.timeout.ms",
        ),
        (
            "lab",
            {"all": {"infra_authority": "clients"}},
            "AUTHORITY_NONE group all/infra_authority = clients: this CA signs, but hosts do not trust it "
            "(infra_trusted is infra): they would reject each other; remove it, so that infra signs, or add the "
            "CA to infra_trusted if",
        ),
        (
            "lab",
            {"all": {"infra_trusted": ["infra-2027"], "pki_authorities": CAS}},
            "AUTHORITY_NONE group all/infra_trusted = infra-2027: does not contain infra, the CA that signs "
            "(infra_authority): hosts would reject each other; write [infra], or add infra to the list",
        ),
        (
            "lab",
            zookeeper(zookeeper_truststore="/etc/ca.pem"),
            "warn TRUSTSTORE_UNKNOWN group zookeeper/zookeeper_truststore = /etc/ca.pem: no entry of pki_truststores "
            "has this path, but no server starts without this file; add an entry to",
        ),
        (
            "lab",
            kafka(kafka_truststore="/etc/ca.pem"),
            "warn TRUSTSTORE_UNKNOWN group kafka/kafka_truststore = /etc/ca.pem: no entry of pki_truststores has "
            "this path, but no broker starts without this file; add an entry to",
        ),
        (
            "lab_stretch2",
            kafka(**PARTNERS),
            "CERTIFICATE_NAMES group kafka/site_certificates[partners]: `names` does not contain 198.18.51.21 of "
            "dc1-kafka1, 198.18.51.22 of dc1-kafka2, 198.18.51.23 of dc2-kafka1, 198.18.51.24 of dc2-kafka2: peers "
            "that reach the host there, or see it connect from there, would reject the certificate; "
            'add "{{ client_address }}" to `names`',
        ),
        (
            "stretch2",
            kafka(**PARTNERS),
            "CERTIFICATE_NAMES group kafka/site_certificates[partners]: `names` does not contain 198.19.51.21 of "
            "dc1-kafka1, 198.19.51.22 of dc1-kafka2, 198.19.51.23 of dc1-kafka3, and those of 3 more: peers",
        ),
    ],
)
def test_said_once(inventory: str, variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path, inventory)
    assert len(lines) == 1, lines
    assert lines[0].startswith(wanted), lines


def lines_of(inventory: str, hosts: dict[str, str], folder: Path) -> list[str]:
    """Return the lines of a wrong hosts.yml."""
    return check(spoil(folder / "inventory", replace(LAB, inventory=inventory, hosts=hosts)))[1]


def test_a_group_that_repeats_a_datacenter(tmp_path: Path) -> None:
    """Of the line that says it, and not of the layout."""
    assert lines_of("lab_stretch2_5", {"vars: {datacenter: dc3}": "vars: {datacenter: dc1}"}, tmp_path) == [
        "LAYOUT_DATACENTERS group dc3/datacenter = dc1: group dc1 has the same datacenter, but layout stretch2_5 "
        "requires 2 datacenters with brokers and one witness; did you mean dc3?"
    ]


def test_a_layout_that_is_another(tmp_path: Path) -> None:
    """Each group says its own datacenter: it is the layout that does not fit."""
    lines = lines_of("lab_stretch2_5", {"layout: stretch2_5": "layout: stretch3"}, tmp_path)
    assert lines[0].startswith("LAYOUT_DATACENTERS layout = stretch3: brokers are in dc1, dc2, ZooKeeper servers"), (
        lines
    )


def test_a_broker_of_the_wrong_datacenter(tmp_path: Path) -> None:
    """What a datacenter holds then is no mistake of min.insync.replicas."""
    hosts = {"dc1-kafka2: {}, dc1-kafka3: {}": "dc1-kafka2: {}, dc1-kafka3: {}, dc2-kafka3: {}",
             "dc2-kafka2: {}, dc2-kafka3: {}": "dc2-kafka2: {}"}  # fmt: skip
    lines = lines_of("stretch2", hosts, tmp_path)
    assert len(lines) == 1 and lines[0].startswith("RACK_UNEVEN group kafka/kafka_rack = dc1 4, dc2 2: the data"), lines


def of_defaults(defaults: dict[str, Any], **config: Any) -> dict[str, dict[str, Any]]:
    """Return the topic that the lab's job writes, declared, beside what is said of all topics."""
    topic = {"name": "streams-wordcount-output", "partitions": 1, "config": dict(config)}
    return {"all": {"kafka_topics": [THERE[0], topic], "kafka_topic_defaults": defaults}}


@pytest.mark.parametrize(
    ("defaults", "own", "wanted"),
    [
        (
            {"config": {"retention.ms": "2d"}},
            {"segment.ms": "30d"},
            "TOPIC_RETENTION group all/{}.config[segment.ms] = 30d: more than retention.ms (2d): Kafka deletes",
        ),
        (
            {"config": {"min.compaction.lag.ms": "2h"}},
            {"max.compaction.lag.ms": "1h"},
            "TOPIC_CONTRADICTION group all/{}.config[max.compaction.lag.ms] = 1h: less than min.compaction.lag.ms (2h)",
        ),
        (
            {"config": {"max.message.bytes": "4MiB"}},
            {"segment.bytes": "2MiB"},
            "TOPIC_MESSAGE group all/{}.config[segment.bytes] = 2MiB: a batch must fit into a segment",
        ),
        (
            {"config": {"retention.ms": "2d", "segment.ms": "30d"}},
            {},
            "TOPIC_RETENTION group all/kafka_topic_defaults.config[retention.ms] = 2d: less than segment.ms (30d)",
        ),
    ],
)
def test_a_topic_that_differs_from_all(
    defaults: dict[str, Any], own: dict[str, Any], wanted: str, tmp_path: Path
) -> None:
    """Of its own word, and not of what fits all others; of what is said of all, where that alone is wrong."""
    lines = said(of_defaults(defaults, **own), tmp_path, "lab")
    assert len(lines) == 1, lines
    told = lines[0].removeprefix("warn ")
    assert told.startswith(wanted.format("kafka_topics[streams-wordcount-output]")), lines


def test_a_topic_of_events_where_all_are_compacted(tmp_path: Path) -> None:
    """It is told to say otherwise: the default may be right for the others."""
    topics = [{"name": name, "partitions": 6} for name in ("streams-plaintext-input", "streams-wordcount-output")]
    defaults = {"profile": "compacted_state"}
    lines = said({"all": {"kafka_topics": topics, "kafka_topic_defaults": defaults}}, tmp_path, "lab")
    (line,) = [line for line in lines if "TOPIC_COMPACTED " in line]
    assert line.startswith(
        "warn TOPIC_COMPACTED group all/kafka_topics[streams-plaintext-input]: the topic is compacted"
    ), line
    assert line.endswith("set profile: event_log for this topic (kafka_topic_defaults.profile is for all topics)")
