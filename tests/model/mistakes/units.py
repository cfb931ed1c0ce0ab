"""Wrong inventories: timeouts, log levels and drop-ins of systemd units."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, Mistake, kafka, zookeeper

MISTAKES: tuple[Mistake, ...] = (
    Mistake("TIMEOUT_NONE", f"{BROKERS}/kafka_restart_timeout", "at least 1", variables=kafka(kafka_restart_timeout=0)),
    Mistake(
        "STOP_TIMEOUT_SHORT", f"{BROKERS}/kafka_stop_timeout", "stops sooner", variables=kafka(kafka_stop_timeout=5)
    ),
    Mistake(
        "TIMEOUT_LONG", f"{BROKERS}/kafka_stop_timeout", "write 300 if", variables=kafka(kafka_stop_timeout=300000)
    ),
    Mistake(
        "UNIT_SECRET",
        f"{BROKERS}/kafka_unit_overrides[Service][Environment]",
        "EnvironmentFile",
        variables=kafka(kafka_unit_overrides={"Service": {"Environment": "AWS_SECRET_ACCESS_KEY=Guoph0Eeshi7"}}),
        inventory="stretch3",
    ),
    Mistake(
        "UNIT_SECTION",
        f"{BROKERS}/kafka_unit_overrides[CPUQuota]",
        "into its section",
        variables=kafka(kafka_unit_overrides={"CPUQuota": "400%"}),
    ),
    Mistake(
        "SECTION_UNKNOWN",
        f"{BROKERS}/kafka_unit_overrides[service]",
        "did you mean Service?",
        variables=kafka(kafka_unit_overrides={"service": {"CPUQuota": "400%"}}),
    ),
    Mistake(
        "UNIT_OWNED",
        f"{BROKERS}/kafka_unit_overrides[Service][User]",
        "remove it",
        variables=kafka(kafka_unit_overrides={"Service": {"User": "root"}}),
    ),
    Mistake(
        "UNIT_INPUT",
        f"{SERVERS}/zookeeper_unit_overrides[Service][LimitNOFILE]",
        "set zookeeper_limit_nofile",
        variables=zookeeper(zookeeper_unit_overrides={"Service": {"LimitNOFILE": 1024}}),
    ),
    Mistake(
        "UNIT_STOPS",
        f"{BROKERS}/kafka_unit_overrides[Service][Restart]",
        "on-failure",
        variables=kafka(kafka_unit_overrides={"Service": {"Restart": "no"}}),
    ),
    Mistake(
        "UNIT_MEMORY",
        f"{BROKERS}/kafka_unit_overrides[Service][MemoryMax]",
        "more than 6.2G",
        variables=kafka(kafka_heap="6g", kafka_unit_overrides={"Service": {"MemoryMax": "4G"}}),
    ),
    Mistake(
        "UNIT_SETTING",
        f"{BROKERS}/kafka_unit_overrides[Service][CpuQuota]",
        "did you mean CPUQuota?",
        variables=kafka(kafka_unit_overrides={"Service": {"CpuQuota": "400%"}}),
    ),
    Mistake(
        "UNIT_SPECIFIER",
        f"{SERVERS}/zookeeper_unit_overrides[Service][Environment]",
        "write %%p",
        variables=zookeeper(zookeeper_unit_overrides={"Service": {"Environment": "SITE_TITLE=20%p"}}),
    ),
    Mistake(
        "UNIT_ENVIRONMENT",
        f"{BROKERS}/kafka_unit_overrides[Service][Environment]",
        "use kafka_heap",
        variables=kafka(kafka_unit_overrides={"Service": {"Environment": "KAFKA_HEAP_OPTS=-Xmx8g"}}),
    ),
    Mistake(
        "SANDBOX_OPEN",
        f"{BROKERS}/kafka_unit_overrides[Service][ProtectSystem]",
        "ReadWritePaths",
        variables=kafka(kafka_unit_overrides={"Service": {"ProtectSystem": "full"}}),
        inventory="stretch3",
    ),
    Mistake(
        "LOG_LEVEL",
        f"{BROKERS}/kafka_log_levels[root]",
        "did you mean DEBUG?",
        variables=kafka(kafka_log_levels={"root": "DEBG"}),
    ),
    Mistake(
        "UNIT_VALUE",
        f"{BROKERS}/kafka_unit_overrides[Service][CPUQuota]",
        "as 400%",
        variables=kafka(kafka_unit_overrides={"Service": {"CPUQuota": 4}}),
    ),
)
