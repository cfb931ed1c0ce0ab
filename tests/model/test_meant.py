"""What products take, or refuse too late, and nobody means: said at its place, once; a warning begins with "warn"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, Row, batched, judge, variables
from model.mistakes.base import JOB, LAB, THERE, spoil
from model.mistakes.databases import OWN
from model.mistakes.databases import job as of_database
from model.mistakes.jobs import again, job
from model.said import check

KAFKA, SYSCTL = "group kafka/kafka_config", "group all/base_sysctl"
ZOOKEEPER, PLACE = "group zookeeper/zookeeper_config", "group all/kafka_topics[scratch]"
TOPIC = f"{PLACE}.config"
MIGRATE = "group spark_consumer/spark_job_jobs[project_orders].migrate"
OLD = {"name": "old", "state": "absent", "allow_delete": True}
QUOTA, SPARK = "group all/kafka_quotas[<default>]", "group spark_consumer/spark_job_jobs[count_words].config.spark"
MEMORY = "group spark_consumer/spark_job_jobs[count_words].config.spark[spark.driver.memory]"
OWNER = {"name": "orders_owner", "password": "{{ vault.database_passwords.orders_owner }}", "database": "orders"}
USER = {"name": "project_orders", "password": "{{ vault.database_passwords.project_orders }}", "database": "orders"}


def said(tmp_path: Path, variables: dict[str, Any], inventory: str = "lab") -> list[str]:
    """Return what is said of an inventory with these variables by group, each as code and place."""
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables, inventory=inventory)))
    return sorted(
        "warn " * problem.warning + " ".join(line.split(":")[0].split(" = ")[0].split())
        for problem, line in zip(problems, lines, strict=True)
    )


def reported(rows: Sequence[Row], folder: Path, inventory: str = "lab") -> None:
    """Compare what is reported of an inventory with what all rows want."""
    assert said(folder, variables(rows), inventory) == sorted(line for _, wanted in rows for line in wanted)


def config(**properties: Any) -> dict[str, Any]:
    """Return properties of brokers, with _ for each dot."""
    return {"kafka": {"kafka_config": {name.replace("_", "."): value for name, value in properties.items()}}}


def topics(
    properties: dict[str, Any], accepts: tuple[str, ...] | list[str] = (), defaults: Any = None, **said: Any
) -> dict[str, Any]:
    """Return a topic, which topics may stand still in a restart, and what is said of all topics."""
    topic = {"name": "scratch", "partitions": 1, **said, "config": properties}
    found = {"kafka_topics": [topic, *THERE], "kafka_restart_accepts": list(accepts)}
    return {"all": {**found, **({"kafka_topic_defaults": defaults} if defaults else {})}}


def relay(spark: dict[str, Any]) -> dict[str, Any]:
    """Return a job that hands on 12 partitions in real time."""
    config = {**JOB["config"], "trigger": "real-time", "spark": spark}
    return {"spark_consumer": {"spark_job_jobs": [{**JOB, "job": "relay", "config": config}]}}


def quota(rate: Any) -> dict[str, Any]:
    """Return a quota of everybody."""
    return {"all": {"kafka_quotas": [{"user": "<default>", "producer_byte_rate": rate}]}}


def kernel(**settings: Any) -> dict[str, Any]:
    """Return settings of the kernel, with the first and any __ for a dot."""
    return {"all": {"base_sysctl": {name.replace("__", "."): value for name, value in settings.items()}}}


@pytest.mark.parametrize(
    "batches",
    batched([
        # Classes that nobody has put there.
        (config(metric_reporters="io.confluent.metrics.reporter.ConfluentMetricsReporter"),
         [f"CLASS_MISSING {KAFKA}[metric.reporters]"]),
        (config(principal_builder_class="org.example.Names"), [f"CLASS_MISSING {KAFKA}[principal.builder.class]"]),
        (config(authorizer_class_name="org.example.Rules"), [f"CLASS_MISSING {KAFKA}[authorizer.class.name]"]),
        (config(create_topic_policy_class_name="org.example.Policy"),
         [f"CLASS_MISSING {KAFKA}[create.topic.policy.class.name]"]),
        (config(listener_name_client_plain_sasl_server_callback_handler_class="org.example.Handler"),
         [f"CLASS_MISSING {KAFKA}[listener.name.client.plain.sasl.server.callback.handler.class]"]),
        (config(metric_reporters="org.apache.kafka.common.metrics.JmxReporter"), []),
        ({"kafka": {"kafka_class_path": ["/opt/plugins/a.jar"], "kafka_config": {"metric.reporters": "org.x.Y"}}}, []),
        ({"kafka": {"kafka_class_path": ["/opt/plugins"]}}, ["CLASS_MISSING group kafka/kafka_class_path"]),
        ({"kafka": {"kafka_class_path": ["/opt/plugins/*", "/opt/a.jar", "/etc/kafka/classes/"]}}, []),
        # The memory of a job: the launcher makes -Xmx of it, where a number alone is bytes.
        (job(spark={"spark.driver.memory": 4096}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "4096m", "spark.driver.memoryOverhead": 512}), []),
        # Who becomes root.
        ({"all": {"ansible_user": "ops", "ansible_become": False}}, ["CONNECTION_WORD group all/ansible_become"]),
        ({"all": {"ansible_user": "root", "ansible_become": False}}, []),
        # The kernel.
        (kernel(net__ipv4__tcp_tw_recycle=1), [f"SYSCTL_VALUE {SYSCTL}[net.ipv4.tcp_tw_recycle]"]),
        (kernel(kernel__sched_migration_cost_ns=1), [f"SYSCTL_VALUE {SYSCTL}[kernel.sched_migration_cost_ns]"]),
        (kernel(net__ipv4__tcp_tw_reuse=1), []),
        (kernel(fs__nr_open=8192), [f"SYSCTL_VALUE {SYSCTL}[fs.nr_open]"]),
        (kernel(fs__nr_open=1048576), []),
        (kernel(net__ipv4__ip_local_port_range="1024 65535"),
         [f"warn SYSCTL_VALUE {SYSCTL}[net.ipv4.ip_local_port_range]"]),
        (kernel(net__ipv4__ip_local_port_range="65535 1024"), [f"SYSCTL_VALUE {SYSCTL}[net.ipv4.ip_local_port_range]"]),
        (kernel(net__ipv4__ip_local_port_range="15000\t65000"), []),
        (kernel(net__ipv4__ip_local_port_range="1024 65535", net__ipv4__ip_local_reserved_ports="2000-9999"), []),
        (kernel(vm__dirty_ratio=60, vm__dirty_bytes=1073741824), [f"SYSCTL_VALUE {SYSCTL}[vm.dirty_bytes]"]),
        # What topics and brokers want of one another.
        (config(log_cleaner_threads=8, log_cleaner_dedupe_buffer_size=8589934592),
         [f"CLEANER_BUFFER {KAFKA}[log.cleaner.dedupe.buffer.size]"]),
        (config(log_cleaner_threads=200), [f"CLEANER_BUFFER {KAFKA}[log.cleaner.threads]"]),
        ({"kafka": {"kafka_heap": "6g", "kafka_config": {"log.cleaner.dedupe.buffer.size": 8589934592}}}, []),
        ({"kafka": {"kafka_heap": "3g", "kafka_config": {"log.cleaner.dedupe.buffer.size": 8589934592}}},
         [f"warn CLEANER_BUFFER {KAFKA}[log.cleaner.dedupe.buffer.size]"]),
        ({**config(delete_topic_enable=False), "all": {"kafka_topics": [OLD, *THERE]}},
         [f"TOPIC_KEPT {KAFKA}[delete.topic.enable]"]),
        (config(delete_topic_enable=False), []),
        (topics({"remote.storage.enable": True}), [f"REMOTE_STORAGE {TOPIC}[remote.storage.enable]"]),
        (topics({"remote.storage.enable": False}), []),
        (config(remote_log_storage_system_enable=True), [f"REMOTE_STORAGE {KAFKA}[remote.log.storage.system.enable]"]),
        # Sessions: said where they are bounded.
        ({**config(), "zookeeper": {"zookeeper_config": {"tickTime": 2, "initLimit": 10, "syncLimit": 5}}},
         [f"SESSION_TIMEOUT {ZOOKEEPER}[tickTime]"]),
        ({**config(), "zookeeper": {"zookeeper_config": {"maxSessionTimeout": 20000}}},
         [f"SESSION_TIMEOUT {ZOOKEEPER}[maxSessionTimeout]"]),
        ({**config(), "zookeeper": {"zookeeper_config": {"minSessionTimeout": 40000, "maxSessionTimeout": 60000}}},
         [f"SESSION_TIMEOUT {ZOOKEEPER}[minSessionTimeout]"]),
        (config(zookeeper_session_timeout_ms=90000), [f"SESSION_TIMEOUT {KAFKA}[zookeeper.session.timeout.ms]"]),
        # A replica alone, taken so for restarts.
        (topics({"min.insync.replicas": 1}, replication_factor=1, accepts=["scr*"]),
         [f"warn TOPIC_REPLICATION_ONE {PLACE}.replication_factor"]),
        (topics({"min.insync.replicas": 1}, replication_factor=1, accepts=["streams-*"]),
         [f"TOPIC_REPLICATION_ONE {PLACE}.replication_factor"]),
        # Numbers whose unit is another one.
        (topics({"retention.ms": 604800}), [f"TOPIC_TIME_MEANT {TOPIC}[retention.ms]"]),
        (topics({"segment.ms": "43200"}), [f"TOPIC_TIME_MEANT {TOPIC}[segment.ms]"]),
        (topics({"retention.ms": "604800ms", "segment.ms": 1800000}),
         [f"warn TOPIC_RETENTION {TOPIC}[retention.ms]"]),
        (config(log_retention_ms=604800), [f"LIMIT_MEANT {KAFKA}[log.retention.ms]"]),
        (config(log_retention_ms=604800000), []),
        (quota(20), [f"warn QUOTA_VALUE {QUOTA}.producer_byte_rate"]),
        (quota("20KiB"), []),
        ({"zookeeper": {"zookeeper_java_options": ["-Djute.maxbuffer=4m"]}},
         ["OPTION_FORM group zookeeper/zookeeper_java_options"]),
        ({name: {f"{name}_java_options": ["-Djute.maxbuffer=4194304"]} for name in ("zookeeper", "kafka")}, []),
        # Who is told of whom.
        ({"all": {"broker_zookeeper_hosts": ["dc1-zk1"]}},
         ["warn ZOOKEEPER_CONNECT_PARTIAL group all/broker_zookeeper_hosts"]),
        ({"kafka": {"kafka_zookeeper_connect": ["198.18.1.11:2281"]}},
         ["warn ZOOKEEPER_CONNECT_PARTIAL group kafka/kafka_zookeeper_connect"]),
        # A policy of a topic's own, beside the profile of all.
        (topics({"cleanup.policy": "compact,delete"}, defaults={"profile": "event_log"}), []),
        (topics({"cleanup.policy": "compact"}, profile="event_log"), [f"warn TOPIC_POLICY {TOPIC}[cleanup.policy]"]),
        # Jobs of several nodes.
        (relay({"spark.master": "local[4]"}), [f"JOB_SLOTS {SPARK}[spark.master]"]),
        (relay({"spark.master": "local[12]"}), []),
        (relay({"spark.master": "local[12]", "spark.default.parallelism": 4}),
         [f"JOB_SLOTS {SPARK}[spark.default.parallelism]"]),
        (job(spark={"spark.master": "local[4]"}), []),
        (job(spark={"spark.master": "local[0]"}), [f"JOB_MASTER {SPARK}[spark.master]"]),
        (job(spark={"spark.master": "local[2,0]"}), [f"JOB_MASTER {SPARK}[spark.master]"]),
        ({"spark": job()["spark_consumer"]}, ["warn JOB_TWICE group spark/spark_job_jobs[count_words]"]),
        ({"spark": job()["spark_consumer"], "dc1-spark2": {"spark_job_jobs": [{**JOB, "state": "stopped"}]}}, []),
        (job(again(group="spark-kafka-source-a"), group="spark-kafka-source-a"),
         ["JOB_GROUP group spark_consumer/spark_job_jobs[again].config.group"]),
        ({"dc1-spark2": {"standby": True, "spark_job_jobs": [{**JOB, "state": "stopped"}]}},
         ["warn JOB_STANDBY dc1-spark2/standby"]),
        (kernel(vm__dirty_background_bytes=268435456, vm__dirty_bytes=1073741824), []),
    ]),
)  # fmt: skip
def test_of_hosts(batches: Batches, tmp_path: Path) -> None:
    judge(batches, reported, tmp_path)


def database(*users: dict[str, Any], **config: Any) -> dict[str, Any]:
    """Return users and settings of a database."""
    return {"all": {"postgresql_users": [{**OWNER, "owner": True}, *(users or [USER])], "postgresql_config": config}}


def migrated(by: str) -> dict[str, Any]:
    """Return a job whose tables are made by somebody, beside the users of two databases."""
    stock = {"name": "stock_owner", "password": "{{ vault.passwords.lab }}", "database": "stock", "owner": True}
    return {**database(USER, stock), **of_database(migrate=OWN.format(by))}


CONFIG, USERS = "group all/postgresql_config", "group all/postgresql_users"


@pytest.mark.parametrize(
    "batches",
    batched([
        (database(archive_mode="on"), [f"DATABASE_CONTRADICTION {CONFIG}[archive_mode]"]),
        (database(archive_mode="always", archive_command=""), [f"DATABASE_CONTRADICTION {CONFIG}[archive_mode]"]),
        (database(archive_mode=True, archive_command="cp %p /srv/wal/%f"), []),
        (database(archive_mode="on", archive_library="basic_archive"), []),
        (database(archive_mode="off"), []),
        (database({**USER, "database": "order"}), [f"DATABASE_OWNER {USERS}[project_orders].database"]),
        (database(USER, {**USER, "name": "report", "database": "stock"}), [f"DATABASE_OWNER {USERS}"]),
        (migrated("stock_owner"), [f"DATABASE_OTHER {MIGRATE}.dbname"]),
        (migrated("orders_owner"), []),
        (database(statement_timeout=30), [f"warn DATABASE_VALUE {CONFIG}[statement_timeout]"]),
        (database(lock_timeout="5"), [f"warn DATABASE_VALUE {CONFIG}[lock_timeout]"]),
        (database(lock_timeout="500ms", statement_timeout=0, idle_in_transaction_session_timeout=60000), []),
        (database(tcp_user_timeout="30", authentication_timeout=30),
         [f"warn DATABASE_VALUE {CONFIG}[tcp_user_timeout]"]),
    ]),
)  # fmt: skip
def test_of_databases(batches: Batches, tmp_path: Path) -> None:
    judge(batches, partial(reported, inventory="lab_orders"), tmp_path)
