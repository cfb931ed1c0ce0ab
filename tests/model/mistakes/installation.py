"""Wrong inventories: disks, memory and versions."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, ZK3, Mistake, kafka, zookeeper

MISTAKES: tuple[Mistake, ...] = (
    Mistake("LOG_DIRS_EMPTY", f"{BROKERS}/kafka_log_dirs", "at least one", variables=kafka(kafka_log_dirs=[])),
    Mistake(
        "LOG_DIRS_DUPLICATE",
        f"{BROKERS}/kafka_log_dirs",
        "once",
        variables=kafka(kafka_log_dirs=["/data/kafka1", "/data/kafka1"]),
    ),
    Mistake(
        "LOG_DIRS_PATH", f"{BROKERS}/kafka_log_dirs", "/data/kafka1", variables=kafka(kafka_log_dirs=["data/kafka1"])
    ),
    Mistake(
        "LOG_DIRS_NESTED",
        f"{BROKERS}/kafka_log_dirs",
        "beside each other",
        variables=kafka(kafka_log_dirs=["/data/kafka", "/data/kafka/2"]),
    ),
    Mistake(
        "LOG_DIRS_ZOOKEEPER",
        "dc1-kafka3/kafka_log_dirs",
        "one file system for Kafka and another for ZooKeeper",
        hosts={
            ZK3: "        dc1-kafka3: "
            "{zookeeper_id: 3, allow_colocated: true, kafka_log_dirs: [/data/zookeeper-log]}\n",
            "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}",
        },
    ),
    Mistake(
        "GC_LOG_DIR",
        f"{BROKERS}/kafka_gc_log_dir",
        "a directory of its own",
        variables=kafka(kafka_gc_log_dir="/var/log"),
    ),
    Mistake(
        "ZOOKEEPER_DIRS_SAME",
        f"{SERVERS}/zookeeper_data_log_dir",
        "a directory on a separate device",
        variables=zookeeper(zookeeper_data_log_dir="/var/lib/zookeeper"),
    ),
    Mistake("HEAP_INVALID", f"{BROKERS}/kafka_heap", "512m or 6g", variables=kafka(kafka_heap="6 gigs")),
    Mistake("HEAP_LARGE", f"{BROKERS}/kafka_heap", "at most 31g", variables=kafka(kafka_heap="48g")),
    Mistake("MEMORY_INVALID", f"{BROKERS}/memory", "64g", variables=kafka(memory="lots")),
    Mistake(
        "HEAP_MEMORY",
        f"{BROKERS}/kafka_heap",
        "at most half of the memory",
        variables=kafka(memory="4g", kafka_heap="6g"),
    ),
    Mistake(
        "HEAP_HALF",
        f"{BROKERS}/kafka_heap",
        "at most half of the memory",
        variables=kafka(memory="8g", kafka_heap="6g"),
    ),
    Mistake(
        "KAFKA_VERSION",
        f"{BROKERS}/kafka_version",
        "3.9.2",
        variables=kafka(kafka_version="3.9.1", kafka_archive="/srv/kafka_2.13-3.9.1.tgz"),
    ),
    Mistake(
        "VERSION_UNFIT",
        f"{BROKERS}/kafka_version",
        "3.9.2",
        variables=kafka(kafka_version="4.0.0", kafka_archive="/srv/kafka_2.13-4.0.0.tgz"),
    ),
    Mistake(
        "ZOOKEEPER_VERSION",
        f"{SERVERS}/zookeeper_version",
        "3.8.6",
        variables=zookeeper(zookeeper_version="3.8.4", zookeeper_archive="/srv/apache-zookeeper-3.8.4-bin.tar.gz"),
    ),
    Mistake(
        "VERSION_DIFFERS",
        f"{BROKERS}/kafka_archive",
        "correct the archive or kafka_version",
        variables=kafka(kafka_archive="/srv/kafka_2.13-3.9.1.tgz"),
    ),
)
