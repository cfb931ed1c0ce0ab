"""The ledger's comparison: each class of difference alone, without a cluster."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from faults.ledger import Ack, Ledger, Record, Report, compare, intact, load, longest_gaps, payload, silent

KEYS = ["r-w1-0", "r-w1-1", "r-w1-2"]


def found(*keys: str, partition: int = 0, topic: str = "t") -> list[Record]:
    """Whole records of these keys, one after the other."""
    return [Record(key, payload(key, 60), partition, offset, topic) for offset, key in enumerate(keys)]


def compared(sent: Iterable[str], acked: Iterable[str], records: Iterable[Record]) -> Report:
    """Compare where all was to be sent to one partition."""
    return compare(dict.fromkeys(sent, "t"), [Ack(key, 0, 1.0, topic="t") for key in acked], records)


def test_all_promises_kept() -> None:
    """Everything to be sent was acknowledged and is there once."""
    report = compared(KEYS, KEYS, found(*KEYS))
    assert report == Report(acknowledged=3, read=3)
    assert report.ok
    assert str(report) == "3 acknowledged, 3 read"


def test_missing() -> None:
    """An acknowledged record that nobody finds is a loss."""
    report = compared(KEYS, KEYS, found(KEYS[0], KEYS[2]))
    assert (report.missing, report.ok) == ([KEYS[1]], False)
    assert str(report) == "3 acknowledged, 2 read; 1 missing (r-w1-1)"


def test_an_unacknowledged_record_is_not_missing() -> None:
    """Nothing was promised of it."""
    assert compared(KEYS, KEYS[:2], found(*KEYS[:2])) == Report(acknowledged=2, read=2)


def test_double() -> None:
    """The same key at two places."""
    report = compared(KEYS, KEYS, found(*KEYS, KEYS[1]))
    assert (report.double, report.missing, report.ok) == ([KEYS[1]], [], False)


def test_offsets_alone_play_no_part() -> None:
    """Records at other offsets are the same records."""
    moved = [Record(one.key, one.value, 0, 100 + 7 * one.offset, "t") for one in found(*KEYS)]
    assert compared(KEYS, KEYS, reversed(moved)).ok


def test_order() -> None:
    """In a partition the numbers of a writer ascend by offset, as numbers and not as text."""
    keys = [f"r-w1-{number}" for number in range(12)]
    assert compared(keys, keys, found(*keys)).ok
    backwards = compared(keys, keys, found(*reversed(keys)))
    assert (backwards.disordered, backwards.ok) == (sorted(keys[:-1]), False)
    late = compared(keys, keys, found(*keys[1:], keys[0]))
    assert late.disordered == ["r-w1-0"] and "; 1 disordered (r-w1-0)" in str(late)


def test_order_is_that_of_one_writer_in_one_partition() -> None:
    """Of what another writer sends, or what is sent elsewhere, nothing is promised; a send may have failed between."""
    others = ["r-w2-7", "r-w2-9"]
    mixed = [others[0], KEYS[0], KEYS[2], others[1]]
    assert compared(mixed, mixed, found(*mixed)).ok
    acks = [Ack(key, int(key == KEYS[1]), 1.0, topic="t") for key in KEYS]
    spread = [*found(KEYS[0], KEYS[2]), *found(KEYS[1], partition=1)]
    assert compare(dict.fromkeys(KEYS, "t"), acks, spread).ok


def test_of_a_double_record_the_first_place_counts() -> None:
    """It is double; its second place says nothing of the order."""
    report = compared(KEYS, KEYS, found(*KEYS, KEYS[0]))
    assert (report.double, report.disordered) == ([KEYS[0]], [])


@pytest.mark.parametrize(("partition", "topic"), [(1, "t"), (0, "other"), (1, "other")])
def test_another_partition_or_topic(partition: int, topic: str) -> None:
    """It is there, so it is not missing as well."""
    report = compared(KEYS, KEYS, [*found(*KEYS[:2]), *found(KEYS[2], partition=partition, topic=topic)])
    assert (report.misplaced, report.missing, report.ok) == ([KEYS[2]], [], False)
    assert "; 1 misplaced (r-w1-2)" in str(report)


def test_an_unanswered_send_may_be_in_any_partition_of_its_topic() -> None:
    unanswered = compared(KEYS, KEYS[:2], [*found(*KEYS[:2]), *found(KEYS[2], partition=3)])
    assert (unanswered.misplaced, unanswered.unknown_present, unanswered.ok) == ([], [KEYS[2]], True)
    elsewhere = compared(KEYS, KEYS[:2], [*found(*KEYS[:2]), *found(KEYS[2], topic="other")])
    assert (elsewhere.misplaced, elsewhere.ok) == ([KEYS[2]], False)


def test_foreign() -> None:
    """A key that nobody meant to send, an absent key included; its payload is not judged."""
    report = compared(KEYS, KEYS, [*found(*KEYS), Record("stranger", b"", 0, 3, "t"), Record("None", b"?", 0, 4, "t")])
    assert (report.foreign, report.corrupt, report.ok) == (["None", "stranger"], [], False)


@pytest.mark.parametrize(
    "value",
    [payload(KEYS[0], 60), payload(KEYS[1], 60)[:-1], payload(KEYS[1], 60)[:-1] + b"y", b"", payload("r-w1-11", 60)],
    ids=["of another key", "cut off", "one byte changed", "empty", "of a longer key"],
)
def test_corrupt(value: bytes) -> None:
    """A payload that is not the one sent under this key; the record is there, so it is not missing as well."""
    records = found(*KEYS)
    records[1] = Record(KEYS[1], value, 0, 1, "t")
    report = compared(KEYS, KEYS, records)
    assert (report.corrupt, report.missing, report.ok) == ([KEYS[1]], [], False)


def test_unknown_but_present() -> None:
    """A send without an answer may have arrived: reported, and no fault."""
    report = compared(KEYS, KEYS[:1], found(*KEYS[:2]))
    assert (report.unknown_present, report.ok) == ([KEYS[1]], True)
    assert "1 unknown but present (r-w1-1)" in str(report)


def test_a_long_list_is_cut() -> None:
    """The report stays one line that a person reads."""
    keys = [f"k-{number}" for number in range(10)]
    assert str(compared(keys, keys, [])) == "10 acknowledged, 0 read; 10 missing (k-0, k-1, k-2, k-3, k-4, ...)"


def test_payload_has_the_size_asked_for() -> None:
    """The size counts the CRC too."""
    assert len(payload("key", 200)) == 200
    assert intact(Record("key", payload("key", 200), 0, 0))


def test_longest_gap_of_each_partition() -> None:
    """Callbacks may come out of order; a partition that is silent to the end, from the begin, or always, is heard."""
    acks = [Ack("a", 0, 1.0), Ack("b", 0, 4.0), Ack("c", 0, 2.0), Ack("d", 1, 8.5), Ack("e", 1, 9.0)]
    assert longest_gaps(acks, range(3)) == {0: 5.0, 1: 7.5, 2: 8.0}


def test_no_gap_where_nothing_was_acknowledged_or_by_others() -> None:
    with pytest.raises(ValueError, match="nothing was acknowledged"):
        longest_gaps([], range(3))
    with pytest.raises(ValueError, match=r"that there are not: \[3\]"):
        longest_gaps([Ack("a", 3, 1.0)], range(3))


def test_partitions_that_are_silent_since() -> None:
    acks = [Ack("a", 0, 1.0), Ack("b", 1, 4.0), Ack("c", 0, 5.0)]
    assert silent(acks, range(3), 4.5) == [1, 2]


def test_load_joins_the_writers_of_a_directory(tmp_path: Path) -> None:
    """One file a writer and kind."""
    (tmp_path / "r-w1.intents").write_text("r-w1-0\tt\nr-w1-1\tt\n")
    (tmp_path / "r-w1.acks").write_text("r-w1-0\t3\t12.500000\t0.004000\tt\n")
    (tmp_path / "r-w1.unknown").write_text("r-w1-1\t_MSG_TIMED_OUT\n")
    (tmp_path / "r-w2.intents").write_text("r-w2-0\tt\n")
    ledger = load(tmp_path)
    acks, unknown = [Ack("r-w1-0", 3, 12.5, 0.004, "t")], {"r-w1-1": "_MSG_TIMED_OUT"}
    assert ledger == Ledger(dict.fromkeys(["r-w1-0", "r-w1-1", "r-w2-0"], "t"), acks, unknown)
    assert ledger.compare(found("r-w1-1")).missing == ["r-w1-0"]
