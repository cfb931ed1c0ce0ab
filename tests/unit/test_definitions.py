"""packaging/definitions.py and what is read of it: the lists are those of the jars, the nearest version serves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import definitions as generator
import older_definitions
import pytest
from tarballs import BuildError
from unit.effort import calls
from unit.judged import KAFKA, MEND, ZOOKEEPER, broker

from ansible_collections.millrace.kafka.plugins.plugin_utils import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions

ROOT = Path(__file__).resolve().parents[2]
# Of the ZooKeeper Administrator's Guide, Configuration Parameters.
ADMIN_GUIDE = [
    "4lw.commands.whitelist",
    "DigestAuthenticationProvider.superDigest",
    "admin.enableServer",
    "admin.serverPort",
    "authProvider.sasl",
    "autopurge.purgeInterval",
    "autopurge.snapRetainCount",
    "client.certReload",
    "clientPort",
    "clientPortAddress",
    "cnxTimeout",
    "dataDir",
    "dataLogDir",
    "electionAlg",
    "extendedTypesEnabled",
    "fips-mode",
    "forceSync",
    "fsync.warningthresholdms",
    "globalOutstandingLimit",
    "group.1",
    "initLimit",
    "leaderServes",
    "localSessionsEnabled",
    "maxClientCnxns",
    "maxSessionTimeout",
    "metricsProvider.className",
    "metricsProvider.httpPort",
    "minSessionTimeout",
    "multiAddress.enabled",
    "observerMasterPort",
    "peerType",
    "portUnification",
    "preAllocSize",
    "quorum.auth.enableSasl",
    "quorumListenOnAllIPs",
    "reconfigEnabled",
    "secureClientPort",
    "server.1",
    "serverCnxnFactory",
    "skipACL",
    "snapCount",
    "snapshot.trust.empty",
    "ssl.allowReverseDnsLookup",
    "ssl.clientAuth",
    "ssl.keyStore.password",
    "ssl.quorum.keyStore.location",
    "sslQuorum",
    "sslQuorumReloadCertFiles",
    "standaloneEnabled",
    "syncLimit",
    "tickTime",
    "weight.1",
]


def test_the_lists_are_those_of_the_jars() -> None:
    """What a person runs to find out; without the archives or Java it says what to do."""
    command = [sys.executable, str(ROOT / "packaging" / "definitions.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_absent_archive_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"kafka_2\.13-3\.9\.2\.tgz is absent.*run `make archives`"):
        generator.definitions("kafka", tmp_path)


def test_check_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plugins").mkdir()
    file = tmp_path / "plugins" / "definitions" / "generated" / "zookeeper-1.2.3.json"
    found = {
        "product": "zookeeper",
        "version": "1.2.3",
        "sections": {"zookeeper": {"b": {"type": "int"}, "a": {"type": "string"}}},
    }
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "FOLDER", file.parent)
    monkeypatch.setattr(generator, "READERS", {"zookeeper": None})
    monkeypatch.setattr(generator, "put_older", lambda target, own, check: False)
    monkeypatch.setattr(generator, "definitions", lambda target, archives: found)
    assert (generator.main(["--check"]), file.exists()) == (1, False)
    assert (generator.main([]), generator.main(["--check"])) == (0, 0)
    assert file.read_text().splitlines()[2:4] == ['"a": {"type": "string"},', '"b": {"type": "int"}']
    assert json.loads(file.read_text()) == found
    file.write_text("{}\n")
    assert (generator.main(["--check"]), file.read_text()) == (1, "{}\n")
    older, other = file.with_name("zookeeper-1.2.2.json"), file.with_name("kafka-1.2.2.json")
    older.touch()
    other.touch()
    assert (generator.main([]), older.exists(), other.exists()) == (0, False, True)
    name = "plugins/definitions/generated/zookeeper-1.2.3.json"
    assert capsys.readouterr().out.splitlines() == [
        f"{name}: differs; run `make definitions`",
        f"{name}: written",
        f"{name}: differs; run `make definitions`",
        f"{name}: written",
        "plugins/definitions/generated/zookeeper-1.2.2.json: removed",
    ]


def test_what_older_versions_know_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file; without their jars, --check sees that it is of other versions, or does not fit the list beside it."""
    own = {"product": "zookeeper", "version": "3.8.6", "sections": {"zookeeper": {"a": {"type": "int", "default": 1}}}}
    jars = {"3.8.5": {"zookeeper": {"a": {"type": "int", "update": "x"}}}, "3.8.4": {"zookeeper": {"b": {"type": "x"}}}}
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "FOLDER", tmp_path)
    monkeypatch.setattr(generator, "OLDER_READERS", {"zookeeper": lambda folder: jars[folder.name]})
    monkeypatch.setattr(older_definitions, "jars", lambda target, version, folder: folder / version)
    monkeypatch.setattr(older_definitions, "OLDER", {"zookeeper": ("3.8.5", "3.8.4")})
    file = tmp_path / "older-zookeeper.json"
    assert generator.put_older("zookeeper", own, check=True)
    assert not generator.put_older("zookeeper", own, check=False)
    assert json.loads(file.read_text())["older"] == {
        "3.8.5": {"zookeeper": {"a": {"type": "int"}}},
        "3.8.4": {"zookeeper": {"a": None, "b": {"type": "x"}}},
    }
    assert [*file.read_text().splitlines()[1:4]] == ['"3.8.5": {"zookeeper": {', '"a": {"type": "int"}', "}},"]
    assert not generator.put_older("zookeeper", own, check=True)
    assert generator.put_older("zookeeper", {**own, "version": "3.8.7"}, check=True)
    assert generator.put_older("zookeeper", {**own, "sections": {"zookeeper": {"a": {"type": "int"}}}}, check=True)
    monkeypatch.setattr(older_definitions, "OLDER", {"zookeeper": ("3.8.5",)})
    assert generator.put_older("zookeeper", own, check=True)
    assert capsys.readouterr().out.count("older-zookeeper.json: of other versions; run `make definitions`") == 4


def test_jars_of_an_older_version_that_nobody_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mvn").write_text('#!/bin/sh\necho "no such artifact $*"\nexit 1\n')
    (tmp_path / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BuildError, match=r"Maven does not get kafka_2\.13 3\.9\.1: no such artifact .*version=3\.9\.1"):
        older_definitions.jars("kafka", "3.9.1", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(BuildError, match="mvn was not found"):
        older_definitions.jars("kafka", "3.9.1", tmp_path)


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
        ("The default value of -1 means that another one counts", {"min": 1, "also": -1}),
    ],
)
def test_valid_values(text: str, spec: dict[str, Any]) -> None:
    assert generator.valid_values("x", text) == spec


def test_a_new_form_of_valid_values_stops_the_command() -> None:
    with pytest.raises(BuildError, match="x: the valid values 'prime numbers' are of no known form"):
        generator.valid_values("x", "prime numbers")


MISSING = "error: package kafka.metrics does not exist"


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("FindException: Module jdk.jdeps not found", "lacks modules of a JDK.*apt-get install"),
        ("InternalError: Module jdk.compiler not in boot Layer' >&2; echo '", "lacks modules of a JDK"),
        (f"Kafka.java:7: {MISSING}", f"Java does not get on with these jars: Kafka.java:7: {MISSING}"),
        ("", "no /.*/java.*apt-get install default-jre-headless"),
    ],
)
def test_a_java_that_will_not_do(says: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    if says:
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\necho '{says}'\nexit 1\n")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BuildError, match=message):
        generator.kafka(tmp_path)


def test_zookeeper_knows_what_its_guide_describes() -> None:
    found = ZOOKEEPER.judge("zookeeper", dict.fromkeys(ADMIN_GUIDE, "x"))
    assert [finding.name for finding in found if finding.kind == "unknown"] == []


@pytest.mark.parametrize(
    ("section", "name", "default"),
    [
        ("broker", "num.network.threads", 3),
        ("broker", "log.retention.hours", 168),
        ("broker", "auto.create.topics.enable", True),
        ("broker", "log.cleaner.min.cleanable.ratio", 0.5),
        ("broker", "log.retention.ms", None),
        ("broker", "unclean.leader.election.interval.ms", 300000),
        ("broker", "no.such", None),
        ("topic", "retention.ms", 604800000),
        ("producer", "acks", "all"),
        ("consumer", "auto.offset.reset", "latest"),
        ("consumer", "internal.leave.group.on.close", True),
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
    names = [
        "super.users",
        "authorizer.zookeeper.url",
        "metrics.jmx.include",
        "config.providers",
        "unstable.api.versions.enable",
    ]
    assert KAFKA.judge("broker", dict.fromkeys(names, "true")) == []
    assert broker(allow_everyone_if_no_acl_found="ja") == [("value", "neither true nor false", MEND)]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("3.9.2", "3.9.2"),
        ("3.9.1", "3.9.2"),
        ("3.2.0", "3.6.1"),
        ("4.1.0", "3.9.2"),
        ("3.10.0", "3.9.2"),
        ("0.8", "3.6.1"),
    ],
)
def test_the_nearest_version_serves(asked: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("3.6.1", "3.9.2"):
        (tmp_path / f"kafka-{version}.json").write_text(
            json.dumps({"product": "kafka", "version": version, "sections": {}})
        )
    monkeypatch.setattr(definitions, "FOLDER", tmp_path)
    assert Definitions.load("kafka", asked).version == given
    with pytest.raises(FileNotFoundError, match="no definitions of zookeeper"):
        Definitions.load("zookeeper", "3.8.6")


def test_a_list_is_read_once_and_looked_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging opens no file, and takes at most 60 calls for each setting."""
    settings = {name: KAFKA.default("broker", name) for name in list(KAFKA.sections["broker"])[:40]}
    loaded = Definitions.load("kafka", "3.9.2")
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("a list was read again"))
    assert Definitions.load("kafka", "3.9.2") is loaded
    assert calls(loaded.judge, "broker", settings) < 60 * len(settings)
