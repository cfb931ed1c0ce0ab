#!/usr/bin/env python3
"""Write the tables of docs/reliability.md: the promises, and the results of make faults and make kills."""

import statistics
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from faults.matrix import ROWS, Row
from observations import read
from pages import between, write
from survival.matrix import ROWS as OF_DATACENTERS

ROOT = Path(__file__).resolve().parents[1]
PAGE, SEEN = ROOT / "docs" / "reliability.md", ROOT / "docs" / "seen" / "faults.json"
BEGIN, END = "<!-- fault matrix: begin, made by make docs -->", "<!-- fault matrix: end -->"
KILLS, KILLS_END = "<!-- kills: begin, made by make docs -->", "<!-- kills: end -->"
KILLS_SEEN = SEEN.with_name("kills.json")
HEADLINE = ("#", "Fault", "Promise", "Gap s", "Whole s", "Runs", "Lost", "Double", "Failed")
FOUND = {
    "acknowledged": "records acknowledged",
    "lost": "lost",
    "double": "double",
    "failed sends": "sends failed",
    "cured": "partitions whose replica stayed out of the ISR until its broker was restarted",
}


def figures(promised: float, seconds: Sequence[float]) -> str:
    """Return a promise, and the median and maximum measured."""
    measured = f"{statistics.median(seconds):.1f}, {max(seconds):.1f}" if seconds else "not measured"
    return f"{promised:g}: {measured}"


def line(row: Row, seen: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the cells of one row. A run that failed is listed with its reason."""
    runs = [run for run in seen if "failed" not in run]
    failed = [str(run["failed"]).replace("|", "\\|") for run in seen if "failed" in run]
    return (
        row.number,
        row.fault,
        row.promise,
        figures(row.gap, [run["gap"] for run in runs]),
        figures(row.whole, [run["whole"] for run in runs]),
        str(len(seen)),
        *(f"{sum(run[word] for run in runs):g}" if runs else "" for word in ("lost", "double")),
        "; ".join(dict.fromkeys(failed)),
    )


def rows() -> list[Row]:
    """Return the rows of one datacenter and of several, in the order of their numbers."""
    everything = (*ROWS, *chain(*OF_DATACENTERS.values()))
    return sorted(everything, key=lambda row: (int(row.number.rstrip("ab")), row.number))


def matrix() -> str:
    """Return the fault matrix and the number of records of its runs."""
    seen = read(SEEN)
    total = sum(run.get("acknowledged", 0) for runs in seen.values() for run in runs)
    lines = [line(row, seen.get(row.number, [])) for row in rows()]
    return f"\n{table(HEADLINE, lines)}\n\n{total} records were acknowledged in these runs.\n"


def kills() -> str:
    """Return the results of all seeds by kind of fault. A seed that failed is listed with its reason."""
    seen = read(KILLS_SEEN)
    runs = [run for run in seen.values() if "failed" not in run]
    if not runs:
        return "\nNo measurements yet.\n"
    kinds = sorted({kind for run in runs for kind in run["whole"]})
    whole = {kind: [took for run in runs for took in run["whole"].get(kind, [])] for kind in kinds}
    lines = [(kind, str(len(took)), f"{statistics.median(took):.1f}, {max(took):.1f}") for kind, took in whole.items()]
    gaps = [gap for run in runs for gap in run["gaps"]]
    totals = [
        f"{len(gaps)} rounds of {len(runs)} seeds ({', '.join(sorted(seen, key=int))})",
        *(f"{sum(run.get(word, 0) for run in runs)} {text}" for word, text in FOUND.items()),
        f"longest gap of a round {statistics.median(gaps):.1f} s in the median, {max(gaps):.1f} s at most",
        *(f"seed {seed} ended early: {run['failed']}" for seed, run in seen.items() if "failed" in run),
    ]
    listed = "\n".join(f"- {text}" for text in totals)
    return f"\n{table(('Fault', 'Times', 'Whole s'), lines)}\n\n{listed}\n"


def table(headline: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headline, ("---",) * len(headline), *lines))


def page() -> str:
    """Return the page with its current tables. Raises ValueError if the markers of one are missing."""
    text = between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, matrix())
    return between(PAGE, text, KILLS, KILLS_END, kills())


if __name__ == "__main__":
    write(PAGE, page)
