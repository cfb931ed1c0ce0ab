"""Twelve mistakes of one inventory, in places that do not touch each other: all are said at once."""

from __future__ import annotations

from model.mistakes.base import Mistake

TWELVE = Mistake(
    "TWELVE",
    "",
    "",
    hosts={
        "kafka_broker_id: 2": "kafka_broker_id: 1",
        "zookeeper_id: 3": "zookeeper_id: 1",
        "198.18.2.23": "198.18.3.23",
        "replication_address: 198.18.2.12": "replication_address: 198.18.2.11",
        "{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-zk2: {}}",
    },
    variables={
        "kafka": {
            "kafka_heep": "1g",
            "kafka_min_insync_replicas": 3,
            "kafka_limit_nofile": "many",
            "kafka_inter_broker_listener": "REPLICATE",
            "kafka_config": {"min.insync.replica": 2, "num.network.threads": 0},
        },
        "zookeeper": {"zookeeper_version": "3.8.4", "zookeeper_archive": "/srv/apache-zookeeper-3.8.4-bin.tar.gz"},
    },
)
SAID_OF_TWELVE = (
    "KAFKA_ID_DUPLICATE",
    "ZOOKEEPER_ID_DUPLICATE",
    "ADDRESS_OUTSIDE",
    "ADDRESS_DUPLICATE",
    "RACK_MISSING",
    "VARIABLE_UNKNOWN",
    "MIN_ISR_EQUAL",
    "INPUT_REFUSED",
    "LISTENER_UNKNOWN",
    "KAFKA_PROPERTY_UNKNOWN",
    "KAFKA_PROPERTY_VALUE",
    "ZOOKEEPER_VERSION",
)
