"""Failures one after the other on one cluster: what was computed of each, what was seen, a record for the page."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from faults.reader import read_all
from faults.starved import Meter, Window, between

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import table
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row

from .failures import Mend
from .rows import shape
from .stretched import Seen, Stretched
from .writes import REFUSALS

WORDS = {True: "yes", False: "no"}
WHOLE_AGAIN = {"server": 35, "witness": 35, "pair": 70, "datacenter": 105, "cut": 60, "network": 30}
"""Promised seconds by kind of failure, from when it is mended until every broker listens and is in every ISR.

2.5 times the longest that was seen, on two cores shared with other work: 13 s of a server, 27 of a pair, 43 of a
datacenter, on two layouts side by side. Cuts (15 s) and networks (2 s) were seen on one layout alone, hence four times
and more.
"""


@dataclass(frozen=True)
class Failure:
    """A row of the table, and one way to make it so."""

    row: Row
    how: str
    make: Callable[[], Mend]


class Cell(NamedTuple):
    """One failure: what was computed, and what was seen."""

    failure: Failure
    seen: Seen
    whole_after: float

    @property
    def columns(self) -> dict[str, tuple[bool, bool]]:
        """Computed and seen, by column."""
        row = self.failure.row
        return {"quorum": (row.quorum, self.seen.quorum), "writable": (row.writable, not self.seen.unwritable)}

    @property
    def differences(self) -> list[str]:
        """What was seen otherwise than computed."""
        name = f"{self.failure.row.failure}, {self.failure.how}"
        return [
            f"{name}: {column} computed {computed}, seen {seen}"
            for column, (computed, seen) in self.columns.items()
            if computed != seen
        ]

    @property
    def late(self) -> str:
        """What took longer than is promised, '' where nothing did."""
        row, promised = self.failure.row, WHOLE_AGAIN[self.failure.row.kind]
        if self.whole_after <= promised:
            return ""
        return f"{row.failure}, {self.failure.how}: whole again after {self.whole_after:.1f} s (promised {promised})"

    @property
    def slow(self) -> bool:
        """Whether everything wrong is something that came late, or not before the limit: more processors might help.

        A refused record is not, nor writes or a quorum that go on where they are computed to stop.
        """
        refused = self.failure.row.writable and REFUSALS & {*self.seen.unwritable.values()}
        goes_on = any(seen and not computed for computed, seen in self.columns.values())
        return bool(self.differences or self.late) and not refused and not goes_on

    @property
    def line(self) -> tuple[str, ...]:
        """The line of the printed table."""
        errors = ", ".join(sorted(set(self.seen.unwritable.values())))
        return (
            self.failure.row.failure,
            self.failure.how,
            WORDS[self.seen.quorum],
            f"{self.seen.quorum_after:.1f}",
            WORDS[not self.seen.unwritable],
            f"{self.seen.write_after:.1f}",
            f"{self.whole_after:.1f}",
            "; ".join(self.differences) or (f"{len(self.seen.unwritable)} partitions: {errors}" if errors else ""),
        )


def made(cluster: Stretched, topic: str, failure: Failure, partitions: Collection[int], key: str) -> Cell:
    """Make one failure, look at what is left, mend it, and wait until all is whole."""
    mend = failure.make()
    seen = cluster.look(failure.row, topic, partitions, key)
    before = time.monotonic()
    mend()
    cluster.whole()
    return Cell(failure, seen, time.monotonic() - before)


def compare(
    cluster: Stretched,
    topic: str,
    failures: Sequence[Failure],
    keep: Callable[[Sequence[Cell]], None],
    note: Callable[[str], None],
) -> tuple[list[Cell], set[str]]:
    """Make each failure, look at what is left, mend it; return the cells, and acknowledged records that are missing.

    The cells are kept before they are judged, and where the run ends in the middle as well. A failure that was slow
    while other work took the processors (faults/starved.py) is made once more: its second cell counts, both are
    printed, and the records of both have to be there.
    """
    partitions, meter, lines = list(cluster.lab.partitions(topic)), Meter(cluster.inventory), list[tuple[str, ...]]()
    started, cells, acknowledged = time.monotonic(), list[Cell](), set[str]()

    def make(failure: Failure, key: str) -> tuple[Cell, Window]:
        before = meter.read()
        cell = made(cluster, topic, failure, partitions, key)
        acknowledged.update(f"{key}-{number}" for number in partitions if number not in cell.seen.unwritable)
        lines.append(cell.line)
        print("  ".join(cell.line), flush=True)
        return cell, between(before, meter.read())

    try:
        for number, failure in enumerate(failures):
            cell, window = make(failure, f"{topic}-{number}")
            if cell.slow and window.starved:
                note(f"measured again: {'; '.join(filter(None, (*cell.differences, cell.late)))} ({window})")
                cell, _ = make(failure, f"{topic}-{number}-again")
            cells.append(cell)
    except Exception:
        keep(cells)
        raise
    keep(cells)
    headline = ("what failed", "how", "quorum", "s", "writable", "s", "whole again s", "")
    note(
        "\n".join(
            [
                f"{len(cells)} failures in {time.monotonic() - started:.0f} s",
                *table(headline, lines),
            ]
        )
    )
    read = {record.key for record in read_all(cluster.inventory.kafka_properties, topic)}
    return cells, acknowledged - read


def assert_promises(cells: Sequence[Cell], missing: Collection[str]) -> None:
    """Nothing acknowledged is missing, all is as computed, and whole again as soon as is promised."""
    assert not missing, f"acknowledged records are gone: {', '.join(sorted(missing))}"
    problems = [text for cell in cells for text in (*cell.differences, cell.late) if text]
    assert not problems, "\n".join(problems)


def unlike(by_hand: Mapping[str, tuple[bool, bool]], cells: Sequence[Cell]) -> list[str]:
    """Return each cell that is otherwise than its shape's values by hand, or has none; and shapes that nobody saw."""
    seen = [(shape(cell.failure.row), cell) for cell in cells]
    found = [f"{name}: not seen" for name in by_hand.keys() - {name for name, _ in seen}]
    for name, cell in seen:
        got, wanted = (cell.seen.quorum, not cell.seen.unwritable), by_hand.get(name)
        if got != wanted:
            found.append(f"{cell.failure.row.failure}, {cell.failure.how}: (quorum, writable) {got}, by hand {wanted}")
    return sorted(found)


def observations(cells: Sequence[Cell]) -> list[dict[str, str | bool]]:
    """Return what was seen of each failure, as a record keeps it."""
    names = [{"failure": cell.failure.row.failure, "how": cell.failure.how} for cell in cells]
    return [
        name | {column: seen for column, (_, seen) in cell.columns.items()}
        for name, cell in zip(names, cells, strict=True)
    ]
