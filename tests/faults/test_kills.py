"""Rounds of faults that a seed chooses, under load: no acknowledged record is missing, none is there twice."""

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import observations
import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load as load_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of

from .injector import Injector
from .kills import Fault, hit, plan
from .lab import Lab, until
from .ledger import load, longest_gaps, silent
from .reader import read_all
from .unheard import restart, unheard
from .writer import Writer

pytestmark = [pytest.mark.campaign, pytest.mark.timed]
RATE, LONGEST, WAIT = 200, 270, 90
"""Records a second; seconds that a round may take at most, which bounds the load, and that it may take to be whole."""
BETWEEN = 300
"""Records acknowledged before each round."""


@dataclass
class Rounds:
    """When each round began and all was over (monotonic seconds), and how long it took by kind of fault, in seconds."""

    begun: list[float] = field(default_factory=list)
    whole: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cured: int = 0
    """Partitions of which a replica was in sync, and outside of the ISR until its broker was restarted."""
    ended: float = 0.0


def reached(writer: Writer, number: int) -> bool:
    """Tell whether so many records are acknowledged."""
    return writer.acked >= number


def endure(lab: Lab, writer: Writer, planned: Sequence[Sequence[Fault]], again: str) -> Rounds:
    """Do the faults of each round once all is whole, and records were acknowledged since."""
    injector, rounds = Injector(lab), Rounds()
    for number, faults in enumerate(planned, 1):
        until(f"records before round {number} of {again}", partial(reached, writer, writer.acked + BETWEEN), 60)
        rounds.begun.append(time.monotonic())
        print(f"round {number} of {len(planned)} ({again}): {'; '.join(map(str, faults))}", flush=True)
        hit(injector, faults)
        try:
            lab.wait(WAIT)
        except AssertionError:
            if not (found := unheard(lab)):
                raise
            print(f"  in sync in ZooKeeper alone, and restarted for it: {found}", flush=True)
            rounds.cured += len(found)
            restart(lab, found)
            lab.wait(WAIT)
        took = time.monotonic() - rounds.begun[-1]
        print(f"  whole after {took:.1f} s; {writer.acked} acknowledged", flush=True)
        for fault in faults:
            rounds.whole[fault.kind].append(round(took, 1))
    rounds.ended = time.monotonic()
    until(f"records after the last round of {again}", partial(reached, writer, writer.acked + BETWEEN), 60)
    return rounds


def keep(file: Path | None, seed: int, found: Mapping[str, Any]) -> None:
    """Put what the rounds of a seed have shown in the place of what they showed before; other seeds stay."""
    if file is not None:
        seeds = observations.read(file) | {str(seed): found}
        text = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(seeds.items()))
        observations.write(file, f"{{\n{text}\n}}\n")


def test_kills(lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config) -> None:
    """One writer, one session of an idempotent producer, through all rounds; each begins when all is whole."""
    seed, number = pytestconfig.getoption("--faults-seed"), pytestconfig.getoption("--faults-rounds")
    file, again = pytestconfig.getoption("--faults-record"), f"make kills SEED={seed} ROUNDS={number}"
    planned = plan(layout_of(load_model(lab.inventory.directory).read()), seed, number)
    properties = lab.inventory.kafka_properties
    try:
        client = {**properties, "linger.ms": "5"}  # a fault is to find requests under way
        with Writer(client, topic, tmp_path, run=topic, rate=RATE, limit=number * LONGEST * RATE) as writer:
            rounds = endure(lab, writer, planned, again)
        ledger = load(tmp_path)
        report = ledger.compare(read_all(properties, topic, 600))
    except Exception as error:
        keep(file, seed, {"failed": str(error).partition("\n")[0] or type(error).__name__})
        raise
    gaps = [
        max(longest_gaps([ack for ack in ledger.acks if start <= ack.at < end], lab.partitions(topic)).values())
        for start, end in zip(rounds.begun, [*rounds.begun[1:], time.monotonic()], strict=True)
    ]
    found = {"rounds": number, "acknowledged": report.acknowledged, "failed sends": len(ledger.unknown)}
    found |= {"lost": len(report.missing), "double": len(report.double)}
    found["cured"] = rounds.cured
    keep(file, seed, {**found, "gaps": [round(gap, 1) for gap in gaps], "whole": rounds.whole})
    note(f"{again}: {report}; longest gap of a round: median {statistics.median(gaps):.1f} s, most {max(gaps):.1f} s")
    for kind, seconds in sorted(rounds.whole.items()):
        note(
            f"{kind}: {len(seconds)} times; whole after {statistics.median(seconds):.1f} s in the median, "
            f"{max(seconds):.1f} s at most"
        )
    assert report.ok, f"{again}: {report}"
    assert ledger.unknown == {}, f"{again}: sends failed"
    assert silent(ledger.acks, lab.partitions(topic), rounds.ended) == [], f"{again}: partitions that are silent"
