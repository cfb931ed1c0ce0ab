"""Wrong inventories: directories as they are written."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, Mistake, kafka, zookeeper

LOG_DIRS = f"{BROKERS}/kafka_log_dirs"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "PATH_RELATIVE",
        f"{SERVERS}/zookeeper_data_dir",
        "an absolute path",
        variables=zookeeper(zookeeper_data_dir="data/zookeeper"),
    ),
    Mistake(
        "PATH_SIGNS", LOG_DIRS, "one entry for each", variables=kafka(kafka_log_dirs=["/data/kafka1,/data/kafka2"])
    ),
    Mistake("PATH_FORM", LOG_DIRS, "write /data/kafka1", variables=kafka(kafka_log_dirs=["/data//kafka1/"])),
    Mistake(
        "PATH_EMPTIED",
        f"{SERVERS}/zookeeper_data_log_dir",
        "a directory on a disk",
        variables=zookeeper(zookeeper_data_log_dir="/tmp/zookeeper"),
    ),
    Mistake("PATH_SYSTEM", LOG_DIRS, "a directory on a disk", variables=kafka(kafka_log_dirs=["/etc/kafka-logs"])),
    Mistake(
        "PATH_ROOT", f"{SERVERS}/zookeeper_data_dir", "the mount point", variables=zookeeper(zookeeper_data_dir="/")
    ),
    Mistake(
        "LOCK_DIRECTORY",
        f"{BROKERS}/run_lock_directory",
        "set it once",
        variables=kafka(run_lock_directory="/srv/locks"),
    ),
    Mistake(
        "DIRECTORIES_NESTED",
        f"{SERVERS}/zookeeper_data_dir",
        "neither contains the other",
        variables=zookeeper(zookeeper_data_dir="/data/zookeeper-log/data"),
    ),
    Mistake(
        "DUMP_AMONG_DATA",
        f"{BROKERS}/kafka_java_options",
        "another disk",
        variables=kafka(kafka_java_options=["-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=/data/kafka1"]),
    ),
)
