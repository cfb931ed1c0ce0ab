"""Does what a row of the fault matrix says while a producer writes, and judges what it took."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import observations

from .injector import Injector
from .lab import Lab, until, until_none
from .ledger import Report, load, longest_gaps, silent
from .matrix import Attack, Row
from .promises import GAP, Clock
from .reader import read_all
from .writer import Writer

WHOLE = "all is whole"
BEFORE, AFTER = 500, 300
"""Records acknowledged before the fault, and after all is whole again."""


@dataclass(frozen=True)
class Took:
    """What one run of a row took, in seconds, and what its ledger says."""

    gap: float
    whole: float
    report: Report

    @property
    def figures(self) -> dict[str, float]:
        """What the table shows of it."""
        figures = {"gap": round(self.gap, 1), "whole": round(self.whole, 1), "acknowledged": self.report.acknowledged}
        return figures | {"lost": len(self.report.missing), "double": len(self.report.double)}


def keep(file: Path | None, number: str, figures: Mapping[str, float | str]) -> None:
    """Add what was seen of a row to what other runs have seen."""
    if file is not None:
        runs = observations.read(file)
        runs.setdefault(number, []).append(figures)
        observations.write(file, json.dumps(runs, indent=1, sort_keys=True) + "\n")


def endure(lab: Lab, topic: str, directory: Path, row: Row) -> Took:
    """Do what the row says while a producer writes with acks=all; nothing is started by hand that is not the fault."""
    client = {**lab.inventory.kafka_properties, "linger.ms": "5"}  # a fault is to find requests under way
    with Writer(client, topic, directory, run=topic, rate=200) as writer:
        until("records before the fault", lambda: writer.acked >= BEFORE, 60)
        row.act(Attack(lab, Injector(lab), topic, lambda: writer.acked))
        whole = seconds_until_whole(lab, row)
        again, enough = monotonic(), writer.acked + AFTER
        until("records after the fault", lambda: writer.acked >= enough, 60)
    ledger = load(directory)
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic, 120))
    assert ledger.unknown == {}, "sends failed"
    assert silent(ledger.acks, lab.partitions(topic), again) == [], "partitions that acknowledge no more"
    return Took(max(longest_gaps(ledger.acks, lab.partitions(topic)).values()), whole, report)


def seconds_until_whole(lab: Lab, row: Row) -> float:
    """Return how long it takes; AssertionError where it is three times the promise."""
    ended = monotonic()
    until_none(row.fault, lambda: lab.broker_problems() or lab.zookeeper_problems(), 3 * row.whole)
    return monotonic() - ended


def judge(lab: Lab, topic: str, directory: Path, row: Row, file: Path | None, note: Callable[[str], None]) -> None:
    """Nothing acknowledged is missing or double, and both times are within the promise; `file` keeps them."""
    clock = Clock(row.fault, {GAP: row.gap, WHOLE: row.whole})
    try:
        took = endure(lab, topic, directory, row)
    except Exception as error:
        keep(file, row.number, {"failed": str(error).partition("\n")[0] or type(error).__name__})
        raise
    clock.compare(GAP, took.gap)
    clock.compare(WHOLE, took.whole)
    again = took.report.ok and clock.trial is not None and clock.trial.starved
    if not again:  # figures of a starved run are no figures of the product
        keep(file, row.number, took.figures)
    note(f"{row.number} {row.fault}: gap {took.gap:.1f} s, whole after {took.whole:.1f} s; {took.report}")
    assert took.report.ok, took.report
    assert took.gap >= row.least, f"longest gap {took.gap:.1f} s: the fault lasts {row.least:g} s, and was not felt"
