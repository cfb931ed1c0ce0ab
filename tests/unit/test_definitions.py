"""packaging/definitions.py and millrace.definitions: the lists are those of the jars, and a mistake is named with its remedy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import definitions as generator
import pytest
from archives import BuildError
from classfile import JavaClass
from unit.effort import cpu_seconds

from millrace import definitions
from millrace.definitions import Definitions, Finding, nearest

ROOT = Path(__file__).resolve().parents[2]
KAFKA, ZOOKEEPER = Definitions.load("kafka", "3.9.2"), Definitions.load("zookeeper", "3.8.6")
NO_SUCH = "Kafka 3.9.2 has no broker property of that name"
BROKER_PAGE = "https://kafka.apache.org/39/documentation.html#brokerconfigs"
MEND = "mend it, or leave it out"
# Of the ZooKeeper Administrator's Guide, Configuration Parameters.
ADMIN_GUIDE = [
    "4lw.commands.whitelist", "DigestAuthenticationProvider.superDigest", "admin.enableServer", "admin.serverPort", "authProvider.sasl",
    "autopurge.purgeInterval", "autopurge.snapRetainCount", "client.certReload", "clientPort", "clientPortAddress", "cnxTimeout", "dataDir",
    "dataLogDir", "electionAlg", "extendedTypesEnabled", "fips-mode", "forceSync", "fsync.warningthresholdms", "globalOutstandingLimit", "group.1",
    "initLimit", "leaderServes", "localSessionsEnabled", "maxClientCnxns", "maxSessionTimeout", "metricsProvider.className",
    "metricsProvider.httpPort", "minSessionTimeout", "multiAddress.enabled", "observerMasterPort", "peerType", "portUnification", "preAllocSize",
    "quorum.auth.enableSasl", "quorumListenOnAllIPs", "reconfigEnabled", "secureClientPort", "server.1", "serverCnxnFactory", "skipACL",
    "snapCount", "snapshot.trust.empty", "ssl.allowReverseDnsLookup", "ssl.clientAuth", "ssl.keyStore.password", "ssl.quorum.keyStore.location",
    "sslQuorum", "sslQuorumReloadCertFiles", "standaloneEnabled", "syncLimit", "tickTime", "weight.1",
]  # fmt: skip


def broker(**settings: Any) -> list[tuple[str, str, str]]:
    """Return what is wrong with broker properties given with underscores: kind, text and advice."""
    found = KAFKA.judge("broker", {name.replace("_", "."): value for name, value in settings.items()})
    return [(finding.kind, finding.wrong, finding.advice) for finding in found]


def only(section: str, name: str, value: Any = "x") -> Finding:
    """Return the one finding about one setting."""
    judge = ZOOKEEPER if section == "zookeeper" else KAFKA
    (finding,) = judge.judge(section, {name: value})
    return finding


# The lists


def test_the_lists_are_those_of_the_jars() -> None:
    """What a person runs to find out; without the archives or Java it says what to do."""
    command = [sys.executable, str(ROOT / "packaging" / "definitions.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_absent_archive_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"kafka_2\.13-3\.9\.2\.tgz is absent.*run `make archives`"):
        generator.definitions("kafka", tmp_path)


def test_check_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plugins").mkdir()
    file = tmp_path / "plugins" / "definitions" / "zookeeper-1.2.3.json"
    found = {"product": "zookeeper", "version": "1.2.3", "sections": {"zookeeper": {"b": {"type": "int"}, "a": {"type": "string"}}}}
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "READERS", {"zookeeper": None})
    monkeypatch.setattr(generator, "definitions", lambda target, archives: found)
    assert (generator.main(["--check"]), file.exists()) == (1, False)
    assert (generator.main([]), generator.main(["--check"])) == (0, 0)
    assert file.read_text().splitlines()[2:4] == ['"a": {"type": "string"},', '"b": {"type": "int"}']
    assert json.loads(file.read_text()) == found
    file.write_text("{}\n")
    assert (generator.main(["--check"]), file.read_text()) == (1, "{}\n")
    name = "plugins/definitions/zookeeper-1.2.3.json"
    assert capsys.readouterr().out.splitlines() == [
        f"{name}: differs; run `make definitions`", f"{name}: written", f"{name}: differs; run `make definitions`",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("", {}),
        ("[0,...]", {"min": 0}),
        ("[1,...,9] or -1", {"min": 1, "max": 9, "also": -1}),
        ("[0.5,...,1.0]", {"min": 0.5, "max": 1.0}),
        ("[compact, delete]", {"choices": ["compact", "delete"]}),
        ("(case insensitive) [SSL, PLAINTEXT]", {"choices": ["PLAINTEXT", "SSL"], "ignorecase": True}),
        ("[0.8.0, 3.9-IV0]", {"versions": ["0.8.0", "3.9", "3.9-IV0"]}),
        ("non-empty string", {"nonempty": True}),
    ],
)
def test_valid_values(text: str, spec: dict[str, Any]) -> None:
    assert generator.valid_values("x", text) == spec


def test_a_new_form_of_valid_values_stops_the_command() -> None:
    with pytest.raises(BuildError, match="x: the valid values 'prime numbers' are of no known form"):
        generator.valid_values("x", "prime numbers")


def test_instructions_are_cut_where_they_end() -> None:
    """Opcodes whose length depends on their place or their operands (JVM specification, 6.5)."""
    table = bytes([0x00, 0xAA, 0, 0]) + b"".join(number.to_bytes(4, "big") for number in (9, 1, 2, 7, 8)) + b"\x04"
    lookup = bytes([0xAB, 0, 0, 0]) + b"".join(number.to_bytes(4, "big") for number in (9, 1, 5, 7)) + b"\x05"
    wide = bytes([0xC4, 0x84, 0, 1, 0, 2, 0x06, 0xC4, 0x15, 1, 0, 0x07])
    opcodes = [[opcode for opcode, _ in JavaClass.instructions(code)] for code in (table, lookup, wide)]
    assert opcodes == [[0x00, 0xAA, 0x04], [0xAB, 0x05], [0xC4, 0x06, 0xC4, 0x07]]


@pytest.mark.parametrize("name", ADMIN_GUIDE)
def test_zookeeper_knows_what_its_guide_describes(name: str) -> None:
    assert [finding for finding in ZOOKEEPER.judge("zookeeper", {name: "x"}) if finding.kind == "unknown"] == []


@pytest.mark.parametrize(
    ("section", "name", "default"),
    [
        ("broker", "num.network.threads", 3),
        ("broker", "log.retention.hours", 168),
        ("broker", "auto.create.topics.enable", True),
        ("broker", "log.cleaner.min.cleanable.ratio", 0.5),
        ("broker", "log.retention.ms", None),
        ("broker", "no.such", None),
        ("topic", "retention.ms", 604800000),
        ("producer", "acks", "all"),
        ("consumer", "auto.offset.reset", "latest"),
        ("client", "bootstrap.servers", ""),
        ("client", "receive.buffer.bytes", None),
        ("broker", "listener.name.client.num.network.threads", 3),
    ],
)
def test_defaults_are_those_of_the_documentation(section: str, name: str, default: Any) -> None:
    found = KAFKA.default(section, name)
    assert (found, type(found)) == (default, type(default))


def test_clients_of_one_file_agree_on_what_is_valid() -> None:
    clients = [KAFKA.sections[section] for section in ("producer", "consumer", "admin")]
    for name in set().union(*clients):
        specs = [{**client[name], "default": None} for client in clients if name in client]
        assert specs == specs[:1] * len(specs), name


def test_zookeeper_defaults() -> None:
    names = ("globalOutstandingLimit", "snapCount", "forceSync", "admin.serverPort", "sessionRequireClientSASLAuth")
    assert [ZOOKEEPER.default("zookeeper", name) for name in names] == [1000, 100000, "yes", 8080, False]


def test_broker_properties_that_only_plugins_read_and_internal_ones() -> None:
    names = ["super.users", "authorizer.zookeeper.url", "metrics.jmx.include", "config.providers", "unstable.api.versions.enable"]
    assert KAFKA.judge("broker", dict.fromkeys(names, "true")) == []
    assert broker(allow_everyone_if_no_acl_found="ja") == [("value", "neither true nor false", MEND)]


@pytest.mark.parametrize(
    ("asked", "given"), [("3.9.2", "3.9.2"), ("3.9.1", "3.9.2"), ("3.2.0", "3.6.1"), ("4.1.0", "3.9.2"), ("3.10.0", "3.9.2"), ("0.8", "3.6.1")]
)
def test_the_nearest_version_serves(asked: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("3.6.1", "3.9.2"):
        (tmp_path / f"kafka-{version}.json").write_text(json.dumps({"product": "kafka", "version": version, "sections": {}}))
    monkeypatch.setattr(definitions, "FOLDER", tmp_path)
    assert Definitions.load("kafka", asked).version == given
    with pytest.raises(FileNotFoundError, match="no definitions of zookeeper"):
        Definitions.load("zookeeper", "3.8.6")


def test_loading_and_judging_take_no_time() -> None:
    """With 40 settings, less than four times what it takes to read the list, which is the least that has to be done."""
    settings = {name: KAFKA.default("broker", name) for name in list(KAFKA.sections["broker"])[:40]}

    def judge() -> None:
        definitions.read.cache_clear()
        Definitions.load("kafka", "3.9.2").judge("broker", settings)

    reading = cpu_seconds(lambda: json.loads((definitions.FOLDER / "kafka-3.9.2.json").read_bytes()))
    assert cpu_seconds(judge) < 4 * reading
    assert Definitions.load("kafka", "3.9.2") is Definitions.load("kafka", "3.9.2")


# Names


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
        ("broker", "retention.ms", "it belongs to topics; the broker's own name for it is log.retention.ms"),
        ("broker", "max.message.bytes", "it belongs to topics; the broker's own name for it is message.max.bytes"),
        ("broker", "remote.storage.enable", "it belongs to topics"),
        ("broker", "acks", "it belongs to clients (producer)"),
        ("broker", "bootstrap.servers", "it belongs to clients (producer, consumer, admin)"),
        ("topic", "log.retention.ms", "it is the broker's; a topic's own name for it is retention.ms"),
        ("topic", "linger.ms", "it belongs to clients (producer)"),
        ("topic", "retention_ms", "did you mean retention.ms?"),
        ("producer", "group.id", "it belongs to other clients (consumer)"),
        ("consumer", "log.dirs", "it belongs to brokers"),
        ("client", "retention.ms", "it belongs to topics"),
        ("client", "nonsense", "see https://kafka.apache.org/39/documentation.html#configuration"),
        ("zookeeper", "ticktime", "did you mean tickTime?"),
        ("zookeeper", "maxClientConns", "did you mean maxClientCnxns?"),
        ("zookeeper", "zookeeper.snapCount", "did you mean snapCount?"),
        ("zookeeper", "server.one", "see https://zookeeper.apache.org/doc/r3.8.6/zookeeperAdmin.html#sc_configuration"),
        ("zookeeper", "group.x", "see https://zookeeper.apache.org/doc/r3.8.6/zookeeperAdmin.html#sc_configuration"),
        ("broker", "listener.name.CLIENT.max.connections", "a listener's name is in lower case here: listener.name.client.max.connections"),
        ("broker", "listener.name.client.max.connection", "did you mean listener.name.client.max.connections?"),
        ("broker", "listener.name.client.log.dirs", "it is for the whole broker: log.dirs"),
        (
            "broker",
            "listener.name.client.SCRAM-SHA-512.sasl.jaas.config",
            "the name of a SASL mechanism is in lower case here: listener.name.client.scram-sha-512.sasl.jaas.config",
        ),
        (
            "broker",
            "scram-sha-512.sasl.jaas.config",
            "a broker reads it for a listener: listener.name.<listener>.scram-sha-512.sasl.jaas.config",
        ),
    ],
)
def test_an_unknown_name_comes_with_what_was_meant(section: str, name: str, advice: str) -> None:
    finding = only(section, name)
    assert (finding.kind, finding.name, finding.advice) == ("unknown", name, advice)


def test_an_unknown_name_says_what_has_no_such_property() -> None:
    kinds = {"broker": "broker", "topic": "topic", "admin": "admin client", "client": "client"}
    assert {section: only(section, "foo.bar").wrong for section in kinds} == {
        section: f"Kafka 3.9.2 has no {kind} property of that name" for section, kind in kinds.items()
    }
    assert only("broker", "foo.bar", 7).shown == 7
    assert only("zookeeper", "foo.bar").wrong == "ZooKeeper 3.8.6 has no server property of that name"


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
        "ZooKeeper 3.8.6 reads it as an option of its JVM; in zoo.cfg it does nothing",
        "add -Djute.maxbuffer=5000000 to zookeeper_java_options",
    )


def test_kraft_is_not_for_a_broker_with_zookeeper() -> None:
    kraft = ("value", "only for KRaft, this broker runs with ZooKeeper", "leave it out")
    assert broker(process_roles="broker", controller_quorum_voters="1@a:9093", node_id=1) == [kraft, kraft]
    assert broker(process_roles="") == []
    assert broker(controller_listener_names="CONTROLLER", zookeeper_metadata_migration_enable=True) == []


# Values


@pytest.mark.parametrize(
    ("section", "name", "value", "wrong"),
    [
        ("broker", "num.network.threads", 0, "not a whole number from 1"),
        ("broker", "num.network.threads", "three", "not a whole number from 1"),
        ("broker", "num.network.threads", "3_0", "not a whole number from 1"),
        ("broker", "num.network.threads", 3.0, "not a whole number from 1"),
        ("broker", "num.network.threads", True, "not a whole number from 1"),
        ("broker", "num.network.threads", [3, 4], "not a whole number from 1"),
        ("broker", "num.network.threads", {"a": 1}, "a mapping, and a property has one value"),
        ("broker", "min.insync.replicas", 0, "not a whole number from 1"),
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
        ("broker", "inter.broker.protocol.version", "9.9", "a version that it does not know"),
        ("broker", "listener.name.client.ssl.client.auth", "maybe", "not one of none, requested, required"),
        ("topic", "min.insync.replicas", "0", "not a whole number from 1"),
        ("topic", "segment.bytes", 13, "not a whole number from 14"),
        ("producer", "acks", 2, "not one of -1, 0, 1, all"),
        ("producer", "transactional.id", "", "empty"),
        ("client", "linger.ms", -1, "not a whole number from 0"),
        ("consumer", "auto.offset.reset", "first", "not one of earliest, latest, none"),
        ("consumer", "security.protocol", "tls", "not one of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL"),
        ("zookeeper", "tickTime", 0, "not a whole number from 1"),
        ("zookeeper", "clientPort", 65536, "not a whole number from 0 to 65535"),
        ("zookeeper", "autopurge.snapRetainCount", 2, "not a whole number from 3"),
        ("zookeeper", "standaloneEnabled", "no", "neither true nor false"),
        ("zookeeper", "peerType", "leader", "not one of observer, participant"),
        ("zookeeper", "electionAlg", 1, "not 3"),
    ],
)
def test_a_value_that_would_be_refused(section: str, name: str, value: Any, wrong: str) -> None:
    finding = only(section, name, value)
    assert (finding.kind, finding.shown, finding.wrong) == ("value", value, wrong)


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
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
        ("client", "group.protocol", "consumer"),
        ("zookeeper", "peerType", "Observer"),
        ("zookeeper", "4lw.commands.whitelist", ["srvr", "mntr"]),
        ("zookeeper", "admin.enableServer", False),
        ("zookeeper", "electionAlg", 3),
    ],
)
def test_a_value_that_is_taken(section: str, name: str, value: Any) -> None:
    assert (ZOOKEEPER if section == "zookeeper" else KAFKA).judge(section, {name: value}) == []


def test_the_advice_names_the_default() -> None:
    assert only("broker", "num.network.threads", 0).advice == "mend it, or leave it out: the default is 3"
    assert only("broker", "auto.create.topics.enable", "x").advice == "mend it, or leave it out: the default is true"
    assert only("broker", "log.retention.ms", "x").advice == MEND


def test_a_boolean_that_yaml_made_of_yes_is_explained() -> None:
    assert only("zookeeper", "forceSync", False).advice == "YAML takes an unquoted yes or no for a boolean: write 'no' in quotes"


def test_a_value_from_a_provider_is_not_judged() -> None:
    indirect = {"num.network.threads": "${file:/etc/kafka/sizes:threads}"}
    assert [finding.name for finding in KAFKA.judge("broker", indirect)] == ["num.network.threads"]
    assert KAFKA.judge("broker", {**indirect, "config.providers": "file"}) == []


@pytest.mark.parametrize(
    ("section", "name"),
    [
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
    ],
)
def test_secrets_are_never_shown(section: str, name: str) -> None:
    found = (ZOOKEEPER if section == "zookeeper" else KAFKA).judge(section, {name: {"hidden": "hunter2"}})
    assert [finding.shown for finding in found] == [None]
    assert "hunter2" not in repr(found)


def test_a_name_that_yaml_made_a_number_is_unknown() -> None:
    mistyped: dict[Any, Any] = {1: "x"}
    assert [(finding.kind, finding.name) for finding in KAFKA.judge("broker", mistyped)] == [("unknown", "1")]


def test_every_finding_is_reported_together() -> None:
    found = KAFKA.judge("broker", {"foo.bar": 1, "num.io.threads": 0, "log.dirs": "/x", "acks": 1})
    assert [(finding.kind, finding.name) for finding in found] == [("unknown", "foo.bar"), ("value", "num.io.threads"), ("unknown", "acks")]
    assert found[0].wrong == NO_SUCH
