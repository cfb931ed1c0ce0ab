"""What does not fit together over several words: said at its place, once; a warning begins with "warn"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, batched, judge
from model.mistakes import job_data
from model.mistakes.job_data import RELAY, TOPICS, archive
from model.mistakes.jobs import job
from model.test_meant import KAFKA, SPARK, config, kernel, reported, topics

BROKERS = "group kafka/site_firewall_rules"
PLACE = "group all/kafka_topics[scratch]"
JOBS = "group spark_consumer/spark_job_jobs"
MORE = "group kafka/site_listeners[MORE]"
OTHERS = job_data.job_entry(
    "other", "archive_events", input_topics=["elsewhere"], output_directory="/var/lib/spark-job/a"
)


def rules(*entries: dict[str, Any]) -> dict[str, Any]:
    """Return rules of brokers besides those of functions."""
    return {"kafka": {"site_firewall_rules": list(entries)}}


def overrides(broker: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return properties of one broker beside those of all."""
    return {**config(**others), "dc1-kafka1": {"kafka_config_overrides": broker}}


def gc(*options: str) -> dict[str, Any]:
    """Return what brokers are told of their collector."""
    return {"kafka": {"kafka_gc_options": list(options)}}


def spark(**properties: str) -> dict[str, Any]:
    """Return what the lab's consumer tells Spark, with _ for each dot."""
    return job(spark={name.replace("_", "."): value for name, value in properties.items()})


def more(listener: dict[str, Any], **properties: str) -> dict[str, Any]:
    """Return one listener more of all brokers, and properties."""
    there = {"name": "MORE", "address": "{{ client_address }}", "port": 9095, **listener}
    return {"kafka": {"site_listeners": [there], "kafka_config": properties}}


def jobs(*entries: dict[str, Any], **all_hosts: Any) -> dict[str, Any]:
    """Return the jobs of the lab's second node, with words of all hosts."""
    return {"spark_consumer": {"spark_job_jobs": list(entries)}, **({"all": all_hosts} if all_hosts else {})}


@pytest.mark.parametrize(
    "batches",
    batched([
        # Rules of a port add up: one is idle where others let everybody in whom it names, or rejects whom they let in.
        (rules({"port": 9092, "from": ["198.18.1.0/25", "198.18.1.31"]}), [f"warn FIREWALL_IDLE {BROKERS}[9092]"]),
        (rules({"port": 9092, "from": ["198.18.1.31", "192.0.2.7"]}), []),
        (rules({"port": 9092, "from": ["198.18.1.31"], "action": "reject"}), [f"FIREWALL_IDLE {BROKERS}[9092]"]),
        (rules({"port": 9092, "from": ["192.0.2.7"], "action": "reject"}), []),
        (rules({"port": 9100, "from": ["198.18.1.31"]}), []),
        # Milliseconds that are the usual number of seconds.
        (config(transaction_max_timeout_ms=900), [f"warn LIMIT_MEANT {KAFKA}[transaction.max.timeout.ms]"]),
        (config(zookeeper_connection_timeout_ms=30), [f"warn LIMIT_MEANT {KAFKA}[zookeeper.connection.timeout.ms]"]),
        (config(request_timeout_ms=20000, connections_max_idle_ms=60000), []),
        # Slips in the names of Kafka's own classes.
        (config(replica_selector_class="org.apache.kafka.common.replica.RackAwareReplicaSelectors"),
         [f"warn CLASS_MISSING {KAFKA}[replica.selector.class]"]),
        (config(replica_selector_class="org.apache.kafka.common.replica.RackAwareReplicaSelector"), []),
        # The largest batch: brokers' requests, and segments, which topics may have smaller ones of.
        (topics({"max.message.bytes": "200MiB"}), [f"TOPIC_MESSAGE {PLACE}.config[max.message.bytes]"]),
        (topics({"segment.bytes": "512KiB"}), [f"warn TOPIC_MESSAGE {PLACE}.config[segment.bytes]"]),
        (topics({"segment.bytes": "64MiB", "max.message.bytes": "8MiB"}), []),
        ({**topics({}, profile="large_messages"), **config(socket_request_max_bytes=10485760)},
         [f"TOPIC_MESSAGE {PLACE}.profile"]),
        # What brokers have apart.
        (overrides({"log.retention.hours": 24}, log_retention_hours="24"), []),
        (overrides({"num.io.threads": 24}), []),
        (overrides({"message.max.bytes": 2097152}),
         ["warn PROPERTY_APART dc1-kafka1/kafka_config_overrides[message.max.bytes]"]),
        # Servers' buffers, and the time that they wait for one another.
        ({"dc1-zk1": {"zookeeper_java_options": ["-Djute.maxbuffer=4194304"]}},
         ["BUFFER_DIFFERS dc1-zk1/zookeeper_java_options"]),
        ({"zookeeper": {"zookeeper_config": {"initLimit": 20, "syncLimit": 10}}}, []),
        ({"zookeeper": {"zookeeper_config": {"maxClientCnxns": 1}}},
         ["warn ZOOKEEPER_LIMIT group zookeeper/zookeeper_config[maxClientCnxns]"]),
        ({"zookeeper": {"zookeeper_java_options": ["-Dzookeeper.snapCount=10"]}},
         ["warn ZOOKEEPER_LIMIT group zookeeper/zookeeper_java_options"]),
        ({"zookeeper": {"zookeeper_config": {"maxClientCnxns": 0, "snapCount": 50000}}}, []),
        # Names as other programs write them.
        ({"kafka": {"kafkaConfig": {"num.io.threads": 16}}}, ["VARIABLE_SUSPECT group kafka/kafkaConfig"]),
        # The kernel.
        (kernel(vm__swappiness=60), ["warn SYSCTL_UNFIT group all/base_sysctl[vm.swappiness]"]),
        (kernel(vm__swappiness=10, vm__max_map_count=1048576), []),
        # What a JVM leaves behind when it ends.
        ({"kafka": {"kafka_java_options": ["-XX:HeapDumpPath=/data/kafka10"]}}, []),
        ({"kafka": {"kafka_java_options": ["-Xlog:safepoint:file=/data/kafka1/a.log"]}},
         ["DUMP_AMONG_DATA group kafka/kafka_java_options"]),
        # Protocols, while an upgrade lasts and after it.
        (config(inter_broker_protocol_version="3.9"), []),
        # One collector in a JVM, and flags of this one alone.
        (gc("-XX:+UseZGC", "-XX:MaxGCPauseMillis=20", "-XX:ConcGCThreads=2", "-XX:+ZUncommit"), []),
        (gc("-XX:+UseG1GC", "-XX:G1HeapRegionSize=16m", "-XX:ParallelGCThreads=4"), []),
        (gc("-XX:G1HeapRegionSize=16m"), []),  # which collector runs, Java decides
        ({"kafka": {**gc("-XX:+UseZGC")["kafka"], "kafka_java_options": ["-XX:InitiatingHeapOccupancyPercent=35"]}},
         ["warn OPTION_IDLE group kafka/kafka_java_options"]),
        ({"zookeeper": {"zookeeper_gc_options": ["-XX:+UseParallelGC", "-XX:ZCollectionInterval=5"]}},
         ["warn OPTION_IDLE group zookeeper/zookeeper_gc_options"]),
        (spark(spark_driver_extraJavaOptions="-XX:+UseZGC -XX:+UseG1GC"),
         [f"OPTION_COLLECTOR {SPARK}[spark.driver.extraJavaOptions]"]),
        (spark(spark_driver_extraJavaOptions="-XX:+UseSerialGC -XX:G1HeapRegionSize=4m"),
         [f"warn OPTION_IDLE {SPARK}[spark.driver.extraJavaOptions]"]),
        (spark(spark_driver_extraJavaOptions="-XX:+UseSerialGC -XX:TieredStopAtLevel=1"), []),
        # What is said of logins and of TLS, of a listener without.
        (config(sasl_mechanism_inter_broker_protocol="SCRAM-SHA-512"),
         [f"warn LISTENER_IDLE {KAFKA}[sasl.mechanism.inter.broker.protocol]"]),
        (config(sasl_server_max_receive_size=1048576, connections_max_reauth_ms=3600000), []),
        (config(listener_name_client_connections_max_reauth_ms=3600000, ssl_enabled_protocols="TLSv1.3"), []),
        (more({"protocol": "PLAINTEXT"}, **{"listener.name.more.ssl.client.auth": "required"}),
         [f"LISTENER_IDLE {KAFKA}[listener.name.more.ssl.client.auth]"]),
        (more({"protocol": "PLAINTEXT", "client_auth": "required", "sasl_mechanisms": ["SCRAM-SHA-512"]}),
         [f"warn LISTENER_IDLE {MORE}.client_auth",
          f"warn MECHANISM_IDLE {MORE}.sasl_mechanisms"]),
        (more({"protocol": 5, "client_auth": 7}),
         [f"INPUT_REFUSED {MORE}"] * 2),
        ({"all": {"security_profile": "plaintext"}}, []),
        # Ports of jobs.
        (spark(spark_driver_bindAddress="127.0.0.1", spark_driver_host="localhost", spark_driver_port="4050"), []),
        (spark(spark_driver_host="{{ client_address }}"), [f"warn JOB_OPEN {SPARK}[spark.driver.host]"]),
        (spark(spark_ui_enabled="true"), [f"warn JOB_OPEN {SPARK}[spark.ui.enabled]"]),
        ({**spark(spark_ui_enabled="true"),
          "spark": {"spark_job_unit_overrides": {"Service": {"Environment": "SPARK_LOCAL_IP=127.0.0.1"}}}}, []),
        # Jobs: who shares a folder, and what hands on records.
        (jobs(archive("first"), {**archive("second"), "state": "stopped"}), []),
        (jobs(archive("first"), OTHERS),  # and no more: each has topics of its own
         [f"JOB_ACL {JOBS}[other]", f"warn JOB_TOPIC {JOBS}[other].config.input_topics"]),
        (jobs(RELAY, kafka_topics=[TOPICS[0], {**TOPICS[1], "profile": "large_messages"}]), []),
    ]),
)  # fmt: skip
def test_of_hosts(batches: Batches, tmp_path: Path) -> None:
    """The mistake is said where it is made; what is meant is not said at all."""
    judge(batches, reported, tmp_path)
