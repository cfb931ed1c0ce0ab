"""Wrong inventories: properties of brokers, servers and clients."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, Mistake, config, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "CONFIG_REPLACED",
        "dc1-kafka2/kafka_config",
        "kafka_config_overrides",
        variables={"dc1-kafka2": {"kafka_config": {"num.io.threads": 16}}},
    ),
    Mistake(
        "KAFKA_PROPERTY_UNKNOWN",
        f"{BROKERS}/kafka_config[min.insync.replica]",
        "did you mean min.insync.replicas?",
        variables=config("min.insync.replica", 2),
    ),
    Mistake(
        "KAFKA_PROPERTY_VALUE",
        f"{BROKERS}/kafka_config[num.network.threads]",
        "correct it, or remove it",
        variables=config("num.network.threads", 0),
    ),
    Mistake(
        "ZOOKEEPER_PROPERTY_UNKNOWN",
        f"{SERVERS}/zookeeper_config[autopurge.purgeIntervall]",
        "did you mean autopurge.purgeInterval?",
        variables=config("autopurge.purgeIntervall", 24, "zookeeper"),
    ),
    Mistake(
        "ZOOKEEPER_PROPERTY_VALUE",
        f"{SERVERS}/zookeeper_config[syncLimit]",
        "correct it, or remove it",
        variables=config("syncLimit", "five", "zookeeper"),
    ),
    Mistake(
        "CLIENT_PROPERTY_UNKNOWN",
        f"{BROKERS}/kafka_client_properties[request.timeout]",
        "did you mean request.timeout.ms?",
        variables=kafka(kafka_client_properties={"request.timeout": 5000}),
    ),
    Mistake(
        "CLIENT_PROPERTY_VALUE",
        f"{BROKERS}/kafka_client_properties[request.timeout.ms]",
        "correct it, or remove it",
        variables=kafka(kafka_client_properties={"request.timeout.ms": "soon"}),
    ),
    Mistake(
        "PROPERTY_TWICE",
        f"{BROKERS}/kafka_config[log.dirs]",
        "set kafka_log_dirs",
        variables=config("log.dirs", "/data"),
    ),
    Mistake(
        "KAFKA_MIGRATION",
        f"{BROKERS}/kafka_config[zookeeper.metadata.migration.enable]",
        "remove it",
        variables=config("zookeeper.metadata.migration.enable", True),
    ),
    Mistake(
        "KAFKA_PROTOCOL",
        f"{BROKERS}/kafka_config[inter.broker.protocol.version]",
        "remove it",
        variables=config("inter.broker.protocol.version", "4.0"),
    ),
    Mistake(
        "PROPERTY_SYNONYM",
        f"{BROKERS}/kafka_config[log.retention.ms]",
        "keep one of them",
        variables=kafka(kafka_config={"log.retention.hours": 24, "log.retention.ms": 3600000}),
    ),
    Mistake(
        "PROPERTY_ORDER",
        f"{BROKERS}/kafka_config[group.min.session.timeout.ms]",
        "set at most 1800000",
        variables=config("group.min.session.timeout.ms", 2000000),
    ),
    Mistake(
        "AUTHORIZER_SUPER_USERS",
        f"{BROKERS}/kafka_config[authorizer.class.name]",
        "set kafka_super_users to the principals",
        variables=kafka(
            kafka_super_users=[], kafka_config={"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
        ),
    ),
    Mistake(
        "ZOOKEEPER_MULTIADDRESS",
        f"{SERVERS}/zookeeper_config[multiAddress.enabled]",
        "the role then sets the flag",
        variables=config("multiAddress.enabled", True, "zookeeper"),
    ),
    Mistake(
        "ZOOKEEPER_RECONFIG",
        f"{SERVERS}/zookeeper_config[reconfigEnabled]",
        "remove it",
        variables=config("reconfigEnabled", True, "zookeeper"),
    ),
)
