"""Names of properties: known, unknown with what was meant, and those that do nothing here."""

from __future__ import annotations

import pytest
from unit.judged import BROKER_PAGE, KAFKA, broker, only

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Finding, nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("min_insync_replica", "min.insync.replicas"),
        ("min.insync.replica", "min.insync.replicas"),
        ("minInsyncReplicas", "min.insync.replicas"),
        ("log.retention.hour", "log.retention.hours"),
        ("num.io.thread", "num.io.threads"),
        ("zookeeper.session.timeout", "zookeeper.session.timeout.ms"),
        ("replication.factor", "default.replication.factor"),
        ("NUM.IO.THREADS", "num.io.threads"),
        ("foo.bar", None),
    ],
)
def test_nearest(name: str, meant: str | None) -> None:
    assert nearest(name, KAFKA.sections["broker"]) == meant


@pytest.mark.parametrize(
    ("section", "name", "advice"),
    [
        ("broker", "min_insync_replicas", "did you mean min.insync.replicas?"),
        ("broker", "foo.bar", f"see {BROKER_PAGE}"),
        ("broker", "retention.ms", "move it to the topics, or use log.retention.ms, the broker's name for it"),
        ("broker", "max.message.bytes", "move it to the topics, or use message.max.bytes, the broker's name for it"),
        ("broker", "remote.storage.enable", "move it to the topics"),
        ("broker", "acks", "move it to the clients (producer)"),
        ("broker", "bootstrap.servers", "move it to the clients (producer, consumer, admin)"),
        ("topic", "log.retention.ms", "use retention.ms, the topic's name for it"),
        ("topic", "linger.ms", "move it to the clients (producer)"),
        ("topic", "retention_ms", "did you mean retention.ms?"),
        ("producer", "group.id", "move it to other clients (consumer)"),
        ("consumer", "log.dirs", "move it to the brokers"),
        ("client", "retention.ms", "move it to the topics"),
        ("client", "nonsense", "see https://kafka.apache.org/39/documentation.html#configuration"),
        ("zookeeper", "ticktime", "did you mean tickTime?"),
        ("zookeeper", "maxClientConns", "did you mean maxClientCnxns?"),
        ("zookeeper", "zookeeper.snapCount", "did you mean snapCount?"),
        ("zookeeper", "server.one", "see https://zookeeper.apache.org/doc/r3.8.6/zookeeperAdmin.html#sc_configuration"),
        ("zookeeper", "group.x", "see https://zookeeper.apache.org/doc/r3.8.6/zookeeperAdmin.html#sc_configuration"),
        (
            "broker",
            "listener.name.CLIENT.max.connections",
            "write listener.name.client.max.connections: a listener's name is in lower case here",
        ),
        ("broker", "listener.name.client.max.connection", "did you mean listener.name.client.max.connections?"),
        ("broker", "listener.name.client.log.dirs", "use log.dirs: it applies to the whole broker"),
        (
            "broker",
            "listener.name.client.SCRAM-SHA-512.sasl.jaas.config",
            "write listener.name.client.scram-sha-512.sasl.jaas.config: the name of a SASL mechanism is in lower case "
            "here",
        ),
        (
            "broker",
            "scram-sha-512.sasl.jaas.config",
            "use listener.name.<listener>.scram-sha-512.sasl.jaas.config: a broker reads it for a listener",
        ),
    ],
)
def test_an_unknown_name_comes_with_what_was_meant(section: str, name: str, advice: str) -> None:
    finding = only(section, name)
    assert (finding.kind, finding.name, finding.advice) == ("unknown", name, advice)


def test_an_unknown_name_says_what_has_no_such_property() -> None:
    kinds = {"broker": "broker", "topic": "topic", "admin": "admin client", "client": "client"}
    assert {section: only(section, "foo.bar").message for section in kinds} == {
        section: f"Kafka 3.9.2 has no {kind} property of that name" for section, kind in kinds.items()
    }
    assert only("broker", "foo.bar", 7).shown == 7
    assert only("zookeeper", "foo.bar").message == "ZooKeeper 3.8.6 has no server property of that name"


@pytest.mark.parametrize(
    "name",
    [
        "listener.name.client.ssl.keystore.location",
        "listener.name.client.scram-sha-512.sasl.jaas.config",
        "listener.name.client.oauthbearer.connections.max.reauth.ms",
        "listener.name.client.max.connections",
        "listener.name.client.max.connection.creation.rate",
        "metrics.context.site",
        "config.providers.file.class",
        "rsm.config.bucket",
    ],
)
def test_names_of_a_pattern_are_known(name: str) -> None:
    assert KAFKA.judge("broker", {name: 5}) == []


def test_the_prefix_of_remote_storage_is_a_setting() -> None:
    prefix = {"remote.log.storage.manager.impl.prefix": "ours."}
    assert [finding.name for finding in KAFKA.judge("broker", {"ours.bucket": "x"})] == ["ours.bucket"]
    assert KAFKA.judge("broker", {**prefix, "ours.bucket": "x"}) == []


def test_what_only_a_jvm_option_sets_is_said_to_do_nothing() -> None:
    """ZooKeeper Administrator's Guide, jute.maxbuffer: it can only be set as a Java system property."""
    assert only("zookeeper", "jute.maxbuffer", 5000000) == Finding(
        "unknown",
        "jute.maxbuffer",
        5000000,
        "ZooKeeper 3.8.6 reads it only as an option of its JVM, so it has no effect in zoo.cfg",
        "add -Djute.maxbuffer=5000000 to zookeeper_java_options",
    )


def test_kraft_is_not_for_a_broker_with_zookeeper() -> None:
    kraft = ("value", "only for KRaft, this broker runs with ZooKeeper", "remove it")
    assert broker(process_roles="broker", controller_quorum_voters="1@a:9093", node_id=1) == [kraft, kraft]
    assert broker(process_roles="") == []
    assert broker(controller_listener_names="CONTROLLER", zookeeper_metadata_migration_enable=True) == []
