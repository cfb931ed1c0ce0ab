"""Records of interrupted runs: a damaged record is reported and not used."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import Reassign

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import Shift
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move

pytest_plugins = ["unit.reassigning"]
GOOD: dict[str, Any] = {
    "asked": "drain=3",
    "leaving": [3],
    "rate": 50_000_000,
    "moves": [["orders", 1, [4, 3], [4, 6], 5]],
    "lists": {"orders": {"leader.replication.throttled.replicas": ["1:4"]}},
    "rates": {"3": {"leader.replication.throttled.rate": None}},
    "used": [50_000_000],
    "topics": [],
    "back": False,
    "shifts": [],
    "factors": {},
    "timer": False,
}
SHIFT = {"topic": "orders", "number": 1, "broker": 3, "source": "/a", "target": "/b", "size": 5}


DAMAGED: list[tuple[str, object]] = [
    ("asked", None),
    ("leaving", 3),
    ("leaving", ["3"]),
    *(("rate", value) for value in ("50", -1, 0, True, 1.5, 2**63)),
    ("moves", {}),
    ("moves", [["orders", 1, [4, 3], [4, 6]]]),
    ("moves", [["orders", "1", [4, 3], [4, 6], 5]]),
    ("moves", [["orders", 1, [4, 3], [], 5]]),
    ("moves", [["orders", 1, [4, None], [4, 6], 5]]),
    ("moves", [["orders", 1, [4, 3], [4, 4], 5]]),
    ("moves", [["orders", 1, [4, 4], [4, 6], 5]]),
    ("moves", [["orders", 1, [4, 3], [4, 6], 5], ["orders", 1, [4, 3], [4, 5], 0]]),
    ("lists", None),
    ("lists", {"orders": None}),
    ("lists", {"orders": {"leader.replication.throttled.replicas": [1, 2]}}),
    ("lists", {"orders": {"leader.replication.throttled.replicas": "1:4"}}),
    ("rates", None),
    ("rates", {"3": None}),
    ("rates", {"x": {}}),
    ("rates", {"3": {"leader.replication.throttled.rate": 5}}),
    ("used", 5),
    ("topics", "orders"),
    ("back", "no"),
    ("shifts", [{"topic": "orders"}]),
    ("shifts", [SHIFT, {**SHIFT, "target": "/c"}]),
    ("factors", None),
    ("factors", ["orders"]),
    ("factors", {"orders": "3"}),
    ("timer", 1),
    ("lost", "orders-0"),
    ("kind", "mover"),
    ("kind", ["moves"]),
    ("broker", "3"),
]


def test_a_damaged_record_is_named_with_what_is_wrong(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """By a run that would resume the moves and by one that would revert them; neither writes anything."""
    path, wrong = record.path_of(six.id, str(tmp_path / "state")), []
    path.parent.mkdir()
    for name, value in DAMAGED:
        path.write_text(json.dumps({**GOOD, name: value}))
        words = f"{path}: damaged, or written by another version: {name} is {json.dumps(value)[:20]}"
        for asked in ({"drain": [3]}, {"cancel": True, "rate": ""}):
            said = reassign(**asked)["msg"]
            if words not in said or not said.endswith("unfinished run of moves and must be readable") or six.written:
                wrong.append((name, value, asked, said, six.written))
    assert wrong == [] and path.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "it is [], not a mapping"),
        ('{"asked": "drain=3", "leaving": [], "rate": null}', "moves is missing"),
        (json.dumps({**GOOD, "new": 1}), "new is an unknown key"),
    ],
)
def test_what_is_no_record_of_this_version(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "moves-a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="damaged, or written by another version") as found:
        record.load(path)
    assert str(found.value).endswith(words)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"asked":' * 200_000], ids=["lists", "mappings"])
def test_brackets_without_an_end(text: str, six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Deeper than Python reads."""
    path = record.path_of(six.id, str(tmp_path / "state"))
    path.parent.mkdir()
    path.write_text(text)
    said = reassign(drain=[3])["msg"]
    assert f"{path}: damaged, or written by another version: nested too deeply to be read" in said
    assert six.written == []


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Also a record of an older version with fewer keys, and one of a disk, with a partition's only replica."""
    path = tmp_path / "moves-a.json"
    lists = {"t": {"follower.replication.throttled.replicas": ("0:2",)}}
    move, shift = Move("t", 0, (), (2,), 5), Shift("t", 0, 3, "/a", "/b", 5)
    made = record.Record("drain=3", (3,), None, (move,), lists, {"2": {"x": "5", "y": None}}, (9,), shifts=(shift,))
    record.save(path, made)
    found = record.load(path)
    assert found and (found.moves, found.shifts, found.rates, found.used) == ((move,), (shift,), made.rates, (9,))
    path.write_text(json.dumps({name: GOOD[name] for name in ("asked", "leaving", "rate", "moves")}))
    assert record.load(path) == record.Record("drain=3", (3,), 50_000_000, (Move("orders", 1, (4, 3), (4, 6), 5),))


@pytest.mark.parametrize(
    ("asked", "shifts", "kind", "broker", "empties"),
    [
        ("drain=3", [], record.MOVES, None, False),
        ("broker=3 log_dir=/data/2", [], record.DISK, 3, False),
        ("empty=3:/a topic=orders", [SHIFT], record.SHIFTS, None, True),
        ("disk=3:/a:/b", [SHIFT], record.SHIFTS, None, True),
        ("disks=3", [SHIFT], record.SHIFTS, None, False),
        ("cancel=true", [SHIFT], record.SHIFTS, None, False),
    ],
)
def test_a_record_of_the_version_before(
    asked: str, shifts: list[Any], kind: str, broker: int | None, empties: bool, tmp_path: Path
) -> None:
    """Its kind was derived from the request."""
    path = tmp_path / "moves-a.json"
    path.write_text(json.dumps({**GOOD, "asked": asked, "shifts": shifts}))
    found = record.load(path)
    assert found and (found.kind, found.broker, found.empties) == (kind, broker, empties)
    record.save(path, found)
    assert record.load(path) == found


def test_its_name_outlives_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttles are set as soon as it exists, so its folder is synced after the rename, too."""
    path, synced = tmp_path / "state" / "moves-a.json", list[tuple[bool, bool]]()
    sync = os.fsync

    def noted(number: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(number).st_mode), path.exists()))
        sync(number)

    monkeypatch.setattr(os, "fsync", noted)
    record.save(path, record.Record("drain=3", (3,), None, ()))
    assert synced == [(False, False), (True, True)]
