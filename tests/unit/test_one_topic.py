"""One topic by hand: what is refused, and what brokers say of disks; no cluster."""

import json
from typing import Any

import pytest
import yaml

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import one_topic
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.records import sizes_of, text
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished
from ansible_collections.millrace.kafka.plugins.plugin_utils import topic_tables

SAID: dict[str, Any] = dict.fromkeys(("partition", "key", "offset", "timestamp")) | {"limit": 1, "confirm": ""}
CLUSTER = Metadata("id", 1, {1: ("198.51.100.1", 9093)}, [Partition("orders", one, 1, (1,), (1,)) for one in (0, 1)])
NOBODY: Any = None


def test_partitions_that_are_meant() -> None:
    assert one_topic.places({**SAID, "topic": "orders"}, CLUSTER) == [("orders", 0), ("orders", 1)]
    assert one_topic.places({**SAID, "topic": "orders", "partition": 1}, CLUSTER) == [("orders", 1)]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"topic": "order"}, "there is no topic order; did you mean orders?"),
        ({"topic": "returns"}, "there is no topic returns"),
        ({"topic": "orders", "partition": 2, "key": "a"}, "topic orders has no partition 2; use 0 to 1"),
        ({"topic": "orders", "offset": 5}, "offset requires a partition; set partition, too"),
        ({"topic": "orders"}, "no record is selected; set key, offset (with partition) or timestamp"),
        ({"topic": "orders", "key": "a", "limit": 0}, "limit 0: no record would be returned; set 1 or more"),
        (
            {"topic": "orders", "timestamp": "2026-01-31T08:00:00"},
            "timestamp 2026-01-31T08:00:00: no time zone; add one, for example 2026-01-31T08:00:00Z",
        ),
    ],
)
def test_what_is_not_looked_for(said: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as error:
        one_topic.find({**SAID, **said}, NOBODY, CLUSTER)
    assert str(error.value) == why


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"topic": "orders", "confirm": ""}, "topic orders: it would go; set confirm=orders to do it"),
        ({"topic": "orders", "confirm": "order"}, "topic orders: it would go; set confirm=orders to do it"),
        (
            {"topic": "__consumer_offsets", "confirm": "__consumer_offsets"},
            "topic __consumer_offsets: is internal, as all names that begin with _; it cannot be deleted",
        ),
    ],
)
def test_what_is_not_deleted(said: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as error:
        one_topic.confirmed(said, "it would go")
    assert str(error.value) == why


def test_disks() -> None:
    """All partitions of the topic together, for each disk, in order."""

    def folder(path: str, *sizes: int) -> dict[str, Any]:
        partitions = [{"partition_size": size} for size in sizes]
        return {"log_dir": path, "usable_bytes": 9, "topics": [{"partitions": partitions}] if sizes else []}

    answers = [
        {"broker": 2, "log_dirs": [folder("/data/b", 1, 2), folder("/data/a")]},
        {"broker": 1, "log_dirs": [folder("/data/a", 5)]},
    ]
    assert sizes_of(answers) == [
        {"broker": 1, "log_dir": "/data/a", "bytes": 5, "partitions": 1, "free_bytes": 9},
        {"broker": 2, "log_dir": "/data/a", "bytes": 0, "partitions": 0, "free_bytes": 9},
        {"broker": 2, "log_dir": "/data/b", "bytes": 3, "partitions": 2, "free_bytes": 9},
    ]


def test_a_partition_without_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other partitions are still described: brokers report no offsets of a partition without a leader."""
    offline = Partition("orders", 1, -1, (2,), (2,))
    cluster = Metadata("id", 1, CLUSTER.brokers, [CLUSTER.partitions[0], offline])

    def ends(_: Any, places: list[tuple[str, int]]) -> Ends:
        assert places == [("orders", 0)], "a request for the other partition fails as a whole"
        return Ends({("orders", 0): 3}, {("orders", 0): 9})

    reader = Group("billing", "EMPTY", (), {("orders", 0): 4, ("orders", 1): 5})
    monkeypatch.setattr(groups, "ends", ends)
    monkeypatch.setattr(groups, "names", lambda _: ["billing"])
    monkeypatch.setattr(groups, "groups", lambda _admin, _names: {"billing": reader})
    monkeypatch.setattr(topics, "describe", lambda *_: {"orders": {}})
    monkeypatch.setattr(records, "sizes", lambda *_: [])
    found = one_topic.describe({**SAID, "topic": "orders"}, NOBODY, cluster)
    text = topic_tables.as_text("orders", found).splitlines()
    assert text[2:4] == [
        "  0          1       1         1    -        3             9",
        "  1          none    2         2    2        -             -",
    ]
    rows = one_topic.lag({**SAID, "topic": "orders"}, NOBODY, cluster)["groups"][0]
    assert [(row["partition"], row["offset"], row["end"], row["lag"]) for row in rows["partitions"]] == [
        (0, 4, 9, 5),
        (1, 5, None, None),
    ]
    assert rows["lag"] == 5


GROUP = {"name": "billing", "state": "STABLE", "members": [], "lag": 3}
ROW = {"topic": "orders", "partition": 0, "offset": 4, "end": 7, "lag": 3, "member": {"client_id": "b1", "host": "h"}}
UNREAD = {"topic": "orders", "partition": 1, "offset": None, "end": 5, "lag": None, "member": None}
RECORD: dict[str, Any] = {
    "partition": 1,
    "offset": 12,
    "timestamp": 1769846400000,
    "key": None,
    "headers": [],
    "value": "",
}
PARTITION = {"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1], "offline": [2], "earliest": 0, "latest": 9}
DISK = {"broker": 1, "log_dir": "/data/1", "bytes": 2048, "partitions": 1, "free_bytes": None}


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        (
            {
                "partitions": [PARTITION, {**PARTITION, "partition": 1, "leader": -1, "isr": []}],
                "config": [],
                "disks": [DISK],
            },
            [
                "topic orders: 2 partitions",
                "  partition  leader  replicas  ISR  offline  first offset  end offset",
                "  0          1       1,2       1    2        0             9",
                "  1          none    1,2       -    2        0             9",
                "settings:",
                "  none: the brokers' defaults apply",
                "disks:",
                "  broker  log dir  partitions  size     free",
                "  1       /data/1  1           2.0 KiB  ?",
            ],
        ),
        (
            {"groups": [{**GROUP, "partitions": [ROW, UNREAD]}]},
            [
                "  group    topic   partition  current offset  end offset  lag  member",
                "  billing  orders  0          4               7           3    b1 (h)",
                "  billing  orders  1          -               5           -    -",
                "group billing: stable, lag 3",
            ],
        ),
        ({"groups": []}, ["topic orders: no consumer group reads it or has committed offsets"]),
        (
            {
                "records": [
                    RECORD,
                    {**RECORD, "key": "k\x1b[2J", "headers": [{"a": "b\n"}], "value": "ä\tz", "timestamp": -1},
                ]
            },
            [
                "  partition  offset  time                      key       headers  value",
                '  1          12      2026-01-31T08:00:00.000Z  null      -        ""',
                "  1          12      -                         k\\x1b[2J  a=b\\n    ä\\tz",
            ],
        ),
        ({"records": []}, ["topic orders: no such record"]),
        ({"deleted": 1, "changed": True}, ["topic orders: 1 record deleted"]),
        ({"made": "1 partitions, a=b", "declaration": {}}, ["topic orders: recreated with 1 partitions, a=b"]),
    ],
)
def test_tables(answer: dict[str, Any], lines: list[str]) -> None:
    """A record can control no terminal."""
    assert topic_tables.as_text("orders", answer).splitlines() == lines


def test_what_a_check_predicts() -> None:
    assert topic_tables.as_text("t", {"deleted": 5}, predicted=True) == "topic t: 5 records would be deleted"


def test_a_declaration_to_paste() -> None:
    """It is an entry of kafka_topics: values that look like numbers stay texts."""
    config = {"retention.ms": "1000", "cleanup.policy": "compact"}
    declared = {"name": "1e3", "partitions": 2, "replication_factor": 1, "config": config, "replicas": [[1], [2]]}
    lines = topic_tables.as_text("1e3", {"declaration": declared}).splitlines()
    assert yaml.safe_load("\n".join(lines[1:])) == [{key: declared[key] for key in list(declared)[:4]}]
    assert lines[-1] == "# replicas by partition: 0: 1; 1: 2"


def test_json_has_no_other_keys() -> None:
    answer = {"changed": True, "failed": False, "cluster_id": "x", "warnings": ["w"], "records": [RECORD]}
    found = json.loads(topic_tables.as_json("orders", "find", answer))
    assert found == {"topic": "orders", "do": "find", "changed": True, "records": [RECORD]}


def test_replicas_whose_broker_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Metadata("id", 1, {1: ("198.51.100.1", 9093)}, [Partition("orders", 0, 1, (1, 2), (1,))])
    monkeypatch.setattr(groups, "ends", lambda *_: Ends({("orders", 0): 0}, {("orders", 0): 9}))
    monkeypatch.setattr(topics, "describe", lambda *_: {"orders": {}})
    monkeypatch.setattr(records, "sizes", lambda *_: [])
    assert one_topic.describe({**SAID, "topic": "orders"}, NOBODY, cluster)["partitions"] == [PARTITION]


def test_who_reads_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member reads what is assigned to it, also before its group commits; other topics of the group are left out."""
    reader = {"client_id": "b1", "host": "h", "assigned": [("orders", 1), ("returns", 0)]}
    offsets = {("orders", 0): 4, ("returns", 0): 1}
    known = {
        "billing": Group("billing", "STABLE", [reader], offsets),
        "other": Group("other", "STABLE", [{**reader, "assigned": [("returns", 0)]}], {("returns", 0): 1}),
        "new": Group("new", "STABLE", [{**reader, "assigned": [("orders", 0)]}]),
    }
    latest = {("orders", 0): 7, ("orders", 1): 5}
    monkeypatch.setattr(groups, "names", lambda _: list(known))
    monkeypatch.setattr(groups, "groups", lambda _, names: {name: known[name] for name in names})
    monkeypatch.setattr(groups, "ends", lambda *_: Ends(dict.fromkeys(latest, 0), latest))
    found = one_topic.lag({**SAID, "topic": "orders"}, NOBODY, CLUSTER)["groups"]
    assert [one["name"] for one in found] == ["billing", "new"]
    member = {"client_id": "b1", "host": "h"}
    assert found[0]["partitions"] == [{**ROW, "member": None}, {**UNREAD, "member": member}]
    assert found[0]["members"] == [member]
    assert (found[1]["partitions"][0]["member"], found[1]["lag"]) == (member, 0)


def test_bytes_that_are_no_text() -> None:
    assert [text(value) for value in (None, b"", "ä".encode(), b"\xff\x00")] == [None, "", "ä", "hex ff00"]


@pytest.mark.parametrize(
    ("failed", "result", "words"),
    [
        ({"orders-1": "no (NOT_LEADER_FOR_PARTITION)"}, {"changed": True, "deleted": 5}, "5 records were deleted; "),
        (
            {"orders-0": "late (REQUEST_TIMED_OUT)", "orders-1": "no (POLICY_VIOLATION)"},
            {"changed": True, "deleted": 0},
            "0 records were deleted; orders-0: late (REQUEST_TIMED_OUT); orders-1: no (POLICY_VIOLATION); rec",
        ),
    ],
)
def test_a_topic_that_was_emptied_in_part(
    monkeypatch: pytest.MonkeyPatch, failed: dict[str, str], result: dict[str, Any], words: str
) -> None:
    """What went is said, and that something changed."""
    latest = {("orders", 0): 7, ("orders", 1): 4}
    monkeypatch.setattr(groups, "ends", lambda *_: Ends({("orders", 0): 2, ("orders", 1): 0}, latest))
    monkeypatch.setattr(records, "delete", lambda *_: failed)
    with pytest.raises(Unfinished) as error:
        one_topic.purge({**SAID, "topic": "orders", "confirm": "orders"}, NOBODY, CLUSTER, False)
    assert error.value.result == result and str(error.value).startswith(words)
