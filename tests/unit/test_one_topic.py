"""One topic by hand: what is refused, and what brokers say of disks; no cluster."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import one_topic
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.records import sizes_of, text
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

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
            "timestamp 2026-01-31T08:00:00: no time zone; add one, as 2026-01-31T08:00:00Z",
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
