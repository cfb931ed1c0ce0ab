"""Values of properties: refused with their reason and remedy, or taken; secrets are never shown."""

from __future__ import annotations

from typing import Any

from unit.judged import KAFKA, MEND, NO_SUCH, ZOOKEEPER, only

REFUSED: list[tuple[str, str, Any, str]] = [
    ("broker", "num.network.threads", 0, "not a whole number of at least 1"),
    ("broker", "num.network.threads", "three", "not a whole number of at least 1"),
    ("broker", "num.network.threads", "3_0", "not a whole number of at least 1"),
    ("broker", "num.network.threads", 3.0, "not a whole number of at least 1"),
    ("broker", "num.network.threads", True, "not a whole number of at least 1"),
    ("broker", "num.network.threads", [3, 4], "not a whole number of at least 1"),
    ("broker", "num.network.threads", {"a": 1}, "a mapping instead of one value"),
    ("broker", "min.insync.replicas", 0, "not a whole number of at least 1"),
    ("broker", "compression.lz4.level", 18, "not a whole number from 1 to 17"),
    ("broker", "compression.gzip.level", 0, "not a whole number from 1 to 9, or -1"),
    ("broker", "log.retention.hours", 2147483648, "does not fit into 32 bits"),
    ("broker", "log.retention.ms", 9223372036854775808, "does not fit into 64 bits"),
    ("broker", "transaction.state.log.replication.factor", 32768, "does not fit into 16 bits"),
    ("broker", "log.cleaner.min.cleanable.ratio", 1.5, "not a number from 0 to 1"),
    ("broker", "log.cleaner.min.cleanable.ratio", "half", "not a number from 0 to 1"),
    ("broker", "auto.create.topics.enable", "yes", "neither true nor false"),
    ("broker", "auto.create.topics.enable", 1, "neither true nor false"),
    ("broker", "compression.type", "none", "not one of gzip, lz4, producer, snappy, uncompressed, zstd"),
    ("broker", "log.cleanup.policy", ["compact", "keep"], "keep: not one of compact, delete"),
    ("broker", "log.cleanup.policy", "keep", "not one of compact, delete"),
    ("broker", "security.inter.broker.protocol", "ssl", "not one of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL"),
    ("broker", "inter.broker.protocol.version", "9.9", "an unknown version"),
    ("broker", "listener.name.client.ssl.client.auth", "maybe", "not one of none, requested, required"),
    ("broker", "group.consumer.migration.policy", "both", "not one of BIDIRECTIONAL, DISABLED, DOWNGRADE, UPGRADE"),
    ("broker", "remote.log.manager.task.retry.jitter", 0.6, "not a number from 0 to 0.5"),
    ("broker", "remote.log.manager.copier.thread.pool.size", 0, "not a whole number of at least 1, or -1"),
    ("topic", "min.insync.replicas", "0", "not a whole number of at least 1"),
    ("topic", "segment.bytes", 13, "not a whole number of at least 14"),
    ("producer", "acks", 2, "not one of -1, 0, 1, all"),
    ("producer", "transactional.id", "", "empty"),
    ("client", "linger.ms", -1, "not a whole number of at least 0"),
    ("consumer", "auto.offset.reset", "first", "not one of earliest, latest, none"),
    ("consumer", "security.protocol", "tls", "not one of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL"),
    ("zookeeper", "tickTime", 0, "not a whole number of at least 1"),
    ("zookeeper", "clientPort", 65536, "not a whole number from 0 to 65535"),
    ("zookeeper", "autopurge.snapRetainCount", 2, "not a whole number of at least 3"),
    ("zookeeper", "standaloneEnabled", "no", "neither true nor false"),
    ("zookeeper", "peerType", "leader", "not one of observer, participant"),
    ("zookeeper", "electionAlg", 1, "not 3"),
]


def test_values_that_are_refused() -> None:
    found = [(section, name, value, only(section, name, value)) for section, name, value, _ in REFUSED]
    assert [one[3].kind for one in found] == ["value"] * len(REFUSED)
    assert [(*place, said.shown, said.message) for *place, _, said in found] == [
        (section, name, value, wrong) for section, name, value, wrong in REFUSED
    ]


TAKEN: list[tuple[str, str, Any]] = [
    ("broker", "num.network.threads", None),
    ("broker", "no.such.name", None),
    ("broker", "num.network.threads", "3"),
    ("broker", "num.network.threads", " 3 "),
    ("broker", "compression.gzip.level", -1),
    ("broker", "log.retention.ms", -1),
    ("broker", "log.retention.ms", 9223372036854775807),
    ("broker", "log.cleaner.min.cleanable.ratio", "1e-1"),
    ("broker", "log.cleaner.min.cleanable.ratio", 0.5),
    ("broker", "auto.create.topics.enable", "FALSE"),
    ("broker", "auto.create.topics.enable", False),
    ("broker", "log.cleanup.policy", ["compact", "delete"]),
    ("broker", "log.cleanup.policy", "compact, delete"),
    ("broker", "log.dirs", ["/data/1", "/data/2"]),
    ("broker", "inter.broker.protocol.version", "3.9"),
    ("broker", "inter.broker.protocol.version", 3.9),
    ("broker", "inter.broker.protocol.version", "3.9.2"),
    ("broker", "inter.broker.protocol.version", "3.9-IV0"),
    ("broker", "inter.broker.protocol.version", "0.10.0-IV1"),
    ("topic", "retention.bytes", -1),
    ("producer", "acks", "all"),
    ("producer", "acks", -1),
    ("client", "security.protocol", "sasl_ssl"),
    ("client", "group.protocol", "CLASSIC"),
    ("broker", "group.coordinator.rebalance.protocols", " classic "),
    ("zookeeper", "peerType", "Observer"),
    ("zookeeper", "4lw.commands.whitelist", ["srvr", "mntr"]),
    ("zookeeper", "admin.enableServer", False),
    ("zookeeper", "electionAlg", 3),
]


def test_values_that_are_taken() -> None:
    found = [
        (ZOOKEEPER if section == "zookeeper" else KAFKA).judge(section, {name: value}) for section, name, value in TAKEN
    ]
    assert [finding for findings in found for finding in findings] == []


def test_the_advice_names_the_default() -> None:
    assert only("broker", "num.network.threads", 0).advice == "correct it, or remove it (default: 3)"
    assert only("broker", "auto.create.topics.enable", "x").advice == "correct it, or remove it (default: true)"
    assert only("broker", "log.retention.ms", "x").advice == MEND


def test_a_boolean_that_yaml_made_of_yes_is_explained() -> None:
    assert (
        only("zookeeper", "forceSync", False).advice
        == "write 'no' in quotes: YAML reads an unquoted yes or no as a boolean"
    )


def test_a_value_from_a_provider_is_not_judged() -> None:
    indirect = {"num.network.threads": "${file:/etc/kafka/sizes:threads}"}
    assert [finding.name for finding in KAFKA.judge("broker", indirect)] == ["num.network.threads"]
    assert KAFKA.judge("broker", {**indirect, "config.providers": "file"}) == []


SECRETS: list[tuple[str, str]] = [
    ("broker", "ssl.keystore.password"),
    ("broker", "listener.name.client.scram-sha-512.sasl.jaas.config"),
    ("broker", "ssl.keystore.pasword"),
    ("broker", "listener.name.client.ssl.keystore.passwd"),
    ("broker", "plain.sasl.jaas.config"),
    ("broker", "our.plugin.password"),
    ("broker", "ssl.truststore.pasword"),
    ("client", "sasl_jaas_config"),
    ("zookeeper", "ssl.quorum.keystore.pasword"),
    ("zookeeper", "DigestAuthenticationProvider.superDigest"),
]


def test_secrets_are_never_shown() -> None:
    shown = []
    for section, name in SECRETS:
        found = (ZOOKEEPER if section == "zookeeper" else KAFKA).judge(section, {name: {"hidden": "hunter2"}})
        if [finding.shown for finding in found] != [None] or "hunter2" in repr(found):
            shown.append((section, name, found))
    assert shown == []


def test_a_name_that_yaml_made_a_number_is_unknown() -> None:
    mistyped: dict[Any, Any] = {1: "x"}
    assert [(finding.kind, finding.name) for finding in KAFKA.judge("broker", mistyped)] == [("unknown", "1")]


def test_every_finding_is_reported_together() -> None:
    found = KAFKA.judge("broker", {"foo.bar": 1, "num.io.threads": 0, "log.dirs": "/x", "acks": 1})
    assert [(finding.kind, finding.name) for finding in found] == [
        ("unknown", "foo.bar"),
        ("value", "num.io.threads"),
        ("unknown", "acks"),
    ]
    assert found[0].message == NO_SUCH


KRAFT: list[tuple[str, Any, str]] = [
    ("broker", "classic,consumer", "consumer: only for KRaft, this broker runs with ZooKeeper and would not start"),
    ("broker", ["classic", "share"], "share: only for KRaft, this broker runs with ZooKeeper and ignores it"),
    ("broker", "classic, unknown", "unknown: only for KRaft, this broker runs with ZooKeeper and ignores it"),
    ("broker", "consumer", "without classic Kafka would not start"),
    ("broker", "", "without classic Kafka would not start"),
    ("client", "consumer", "only for KRaft: brokers with ZooKeeper do not support this protocol"),
    ("consumer", "Consumer", "only for KRaft: brokers with ZooKeeper do not support this protocol"),
]


def test_values_that_are_for_kraft_alone() -> None:
    """KafkaConfig.validateValues of 3.9; a broker without KRaft answers no ConsumerGroupHeartbeat."""
    names = {"broker": "group.coordinator.rebalance.protocols"}
    found = [only(section, names.get(section, "group.protocol"), value) for section, value, _ in KRAFT]
    assert [(one.shown, one.advice) for one in found] == [
        (value, "remove it (default: classic)") for _, value, _ in KRAFT
    ]
    assert [
        one.message for one, (*_, wrong) in zip(found, KRAFT, strict=True) if not one.message.startswith(wrong)
    ] == []
