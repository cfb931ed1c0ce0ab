"""Rounds of faults that a seed chooses, under load: no acknowledged record is missing, none is there twice."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load as load_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layout import layout_of

from .injector import Injector
from .kills import hit, plan
from .lab import Lab, until
from .ledger import load, longest_gaps, silent
from .reader import read_all
from .writer import Writer

pytestmark = [pytest.mark.campaign, pytest.mark.timed]
RATE, LONGEST = 200, 180
"""Records a second; seconds that a round may take at most, which bounds the load."""
BETWEEN = 300
"""Records acknowledged before each round."""


def reached(writer: Writer, number: int) -> bool:
    """Tell whether so many records are acknowledged."""
    return writer.acked >= number


def test_kills(lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config) -> None:
    """One writer, one session of an idempotent producer, through all rounds; each begins when all is whole."""
    seed, rounds = pytestconfig.getoption("--faults-seed"), pytestconfig.getoption("--faults-rounds")
    again = f"make kills SEED={seed} ROUNDS={rounds}"
    injector, begun, whole = Injector(lab), list[float](), defaultdict[str, list[float]](list)
    with Writer(
        lab.inventory.kafka_properties, topic, tmp_path, run=topic, rate=RATE, limit=rounds * LONGEST * RATE
    ) as writer:
        for number, faults in enumerate(plan(layout_of(load_model(lab.inventory.directory).read()), seed, rounds), 1):
            enough = writer.acked + BETWEEN
            until(f"records before round {number} of {again}", partial(reached, writer, enough), 60)
            begun.append(time.monotonic())
            said = f"round {number} of {rounds} (SEED={seed}): {'; '.join(map(str, faults))}"
            print(said, flush=True)
            hit(injector, faults)
            lab.wait(LONGEST - 90)
            took = time.monotonic() - begun[-1]
            print(f"  whole after {took:.1f} s; {writer.acked} acknowledged", flush=True)
            for fault in faults:
                whole[fault.kind].append(took)
        ended, enough = time.monotonic(), writer.acked + BETWEEN
        until(f"records after the last round of {again}", partial(reached, writer, enough), 60)
    ledger = load(tmp_path)
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic, 600))
    gaps = [
        max(longest_gaps([ack for ack in ledger.acks if start <= ack.at < end], lab.partitions(topic)).values())
        for start, end in zip(begun, [*begun[1:], time.monotonic()], strict=True)
    ]
    note(f"{again}: {report}; longest gap of a round: median {statistics.median(gaps):.1f} s, most {max(gaps):.1f} s")
    for kind, seconds in sorted(whole.items()):
        note(
            f"{kind}: {len(seconds)} times; whole after {statistics.median(seconds):.1f} s in the median, "
            f"{max(seconds):.1f} s at most"
        )
    assert report.ok, f"{again}: {report}"
    assert ledger.unknown == {}, f"{again}: sends failed"
    assert silent(ledger.acks, lab.partitions(topic), ended) == [], f"{again}: partitions that acknowledge no more"
