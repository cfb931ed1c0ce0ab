"""Which lines of a broker's file it can be told while it runs, of those that Kafka takes so."""

import json
from pathlib import Path
from typing import Any

import pytest
from unit.test_filters import general

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import LIVE, Owed, Running, update_of

ROOT = Path(__file__).resolve().parents[2]
RESTARTS = {
    "the log cleaner begins anew, and what is gained is small": (
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
    ),
    "it decides at once what of all topics is lost, and cannot be undone: the gate looks first": (
        "log.cleaner.delete.retention.ms",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleanup.policy",
        "unclean.leader.election.enable",
    ),
    "it comes with transaction.state.log.min.isr, which brokers read when they start": ("min.insync.replicas",),
    "a mistake shuts clients and brokers out at once": (
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
    ),
    "a mistake has producers store records twice, or not in order": (
        "producer.id.expiration.ms",
        "transaction.partition.verification.enable",
    ),
    "it loads classes": ("metric.reporters",),
    "it changes what clients are told of records": (
        "log.message.downconversion.enable",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.difference.max.ms",
        "log.message.timestamp.type",
    ),
    "tiered storage is in no test of this project": (
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "remote.fetch.max.wait.ms",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.fetch.max.bytes.per.second",
    ),
    "nobody changes it twice": (
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "log.cleaner.min.cleanable.ratio",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.preallocate",
        "log.segment.delete.delay.ms",
    ),
}
"""Of what Kafka 3.9 takes for all brokers while they run, what is a restart all the same, and why."""


def test_each_dynamic_setting_of_kafka_is_told_or_a_restart_for_a_reason() -> None:
    """What is a listener's own (per-broker) is never told so: addresses, logins, keys."""
    (file,) = (ROOT / "plugins" / "definitions" / "generated").glob("kafka-*.json")
    specs: dict[str, dict[str, Any]] = json.loads(file.read_text())["sections"]["broker"]
    dynamic = sorted(name for name, spec in specs.items() if spec.get("update") == "cluster-wide")
    restarts = [name for names in RESTARTS.values() for name in names]
    assert sorted([*LIVE, *restarts]) == dynamic
    assert {specs[name]["type"] for name in LIVE} == {"int", "long", "string"}


def test_what_a_file_says_is_told_in_the_unit_that_kafka_takes() -> None:
    """The synonym that wins in Kafka; null where the file says nothing, for Kafka's own value holds then."""
    said = {
        "num.io.threads": 16,
        "log.retention.hours": 72,
        "log.roll.hours": "24",
        "log.roll.ms": "1000",
        "compression.type": "zstd",
        "broker.id": 1,
        "log.retention.bytes": -1,
        "background.threads": None,
    }
    told = general["live_settings"](said, "6g")
    assert {name: value for name, value in told.items() if value is not None} == {
        "num.io.threads": "16",
        "log.retention.ms": "259200000",
        "log.roll.ms": "1000",
        "compression.type": "zstd",
        "log.retention.bytes": "-1",
    }
    assert sorted(told) == sorted(LIVE)
    assert general["start_settings"](said, "6g") == {"broker.id": 1}
    assert general["live_settings"]({"log.retention.minutes": "-1"}, "6g")["log.retention.ms"] == "-1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num.io.threads", "${file:/etc/kafka/own.properties:threads}"),
        ("num.replica.fetchers", 0),
        ("log.cleaner.threads", 0),
        ("log.segment.bytes", 14),
        ("log.retention.hours", "a day"),
    ],
)
def test_what_cannot_be_told_is_a_restart(name: str, value: Any) -> None:
    told = general["live_settings"]({name: value}, "6g")
    assert told.keys() == set(LIVE) - {name.replace("hours", "ms")}
    assert general["start_settings"]({name: value}, "6g") == {name: value}


@pytest.mark.parametrize(
    ("heap", "buffer", "room"),
    [("6g", None, True), ("511m", None, False), ("1g", 268435456, True), ("1g", 268435457, False)],
)
def test_the_log_cleaner_begins_anew_where_there_is_room_for_two(heap: str, buffer: int | None, room: bool) -> None:
    """With its settings and with message.max.bytes; else that would end the broker, and is a restart."""
    said = {"log.cleaner.threads": 2, "message.max.bytes": 2097152, "log.cleaner.dedupe.buffer.size": buffer}
    told = general["live_settings"](said, heap)
    names = {"log.cleaner.threads", "message.max.bytes"}
    assert (names & told.keys() == names) == room and (names & told.keys() == set()) == (not room)
    assert general["start_settings"](said, heap).keys() == said.keys() - (names if room else set())


def test_what_is_told_elsewhere_is_neither_told_nor_a_restart() -> None:
    """A restart with the file would not change it, either: what was set while brokers run goes before."""
    said = {"num.io.threads": 16, "background.threads": 12}
    assert general["live_settings"](said, "6g", ["num.io.threads"]).keys() == set(LIVE) - {"num.io.threads"}
    assert general["start_settings"](said, "6g") == {}


# What its file says, own, of all, begun with, ours, anew -> told, ours then, whether somebody else's is left, which
# leaves it unsettled only where it was begun with another value.
CASES = {
    "nothing to do": (("16", None, None, "16", (), False), (None, None, False)),
    "another value": (("16", None, None, "8", (), False), ("16", "16", False)),
    "it has it already": (("16", "16", None, "8", ("16",), False), (None, "16", False)),
    "somebody has set the very same": (("16", "16", None, "8", (), False), (None, "16", False)),
    "of an interrupted run": (("12", "16", None, "8", ("16", "12"), False), ("12", "12", False)),
    "back to its file": (("8", "16", None, "8", ("16",), False), ("", None, False)),
    "started with it since": (("16", "16", None, "16", ("16",), False), ("", None, False)),
    "owed the restart that gives it": (("16", "12", None, "8", ("12",), True), ("", None, False)),
    "somebody else's": (("16", "10", None, "8", ("12",), False), (None, None, True)),
    "somebody else's beside an old file": (("8", "10", None, "8", (), False), (None, None, True)),
    "the same as an old file": (("8", "8", None, "8", (), False), (None, None, False)),
    "set for all": (("16", None, "10", "8", (), False), (None, None, True)),
    "set for all, the same": (("16", None, "16", "8", (), False), (None, None, False)),
    "set for all beside ours": (("16", "12", "10", "8", ("12",), False), ("", None, True)),
    "said elsewhere since": (("-", "12", None, "8", ("12",), False), ("", None, False)),
    "said elsewhere, and set there": (("-", "32", None, "8", ("12",), False), (None, None, False)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_broker_is_told(case: str) -> None:
    """'' takes it back."""
    (said, own, everywhere, begun, ours, anew), (told, ours_then, left) = CASES[case]
    name = "log.segment.bytes"

    def one(value: str | None) -> dict[str, str | None]:
        return {} if value is None else {name: value}

    found = update_of(
        Owed(1, {} if said == "-" else {name: said}, {name: ours} if ours else {}, anew),
        Running(one(own), one(everywhere), {name: begun}, {name: "1073741824"}),
    )
    assert list(found.waves) == ([] if told is None else [{name: told or None}])
    assert found.told == ({} if ours_then is None else {name: [ours_then]})
    assert len(found.left) == left, found.left
    assert found.settled == (not left or case == "somebody else's beside an old file")
