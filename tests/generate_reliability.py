#!/usr/bin/env python3
"""Write the table of docs/reliability.md: the fault matrix, what is promised, and what make faults has measured."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faults.matrix import ROWS, Row
from pages import between, write
from seen import read

ROOT = Path(__file__).resolve().parents[1]
PAGE, SEEN = ROOT / "docs" / "reliability.md", ROOT / "docs" / "seen" / "faults.json"
BEGIN, END = "<!-- fault matrix: begin, made by make docs -->", "<!-- fault matrix: end -->"
HEADLINE = ("#", "Fault", "Promise", "Gap s", "Whole s", "Runs", "Lost", "Double", "Failed")


def figures(promised: float, seconds: Sequence[float]) -> str:
    """Return a promise and what was measured of it."""
    measured = f"{statistics.median(seconds):.1f}, {max(seconds):.1f}" if seconds else "not measured"
    return f"{promised:g}: {measured}"


def line(row: Row, seen: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the cells of one row; a run that failed before it could be measured is said with its reason."""
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


def page() -> str:
    """Return the page with its table as it has to be. Raises ValueError where it has no place."""
    seen = read(SEEN)
    lines = [line(row, seen.get(row.number, [])) for row in ROWS]
    total = sum(run.get("acknowledged", 0) for runs in seen.values() for run in runs)
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (HEADLINE, ("---",) * len(HEADLINE), *lines))
    said = f"\n{table}\n\n{total} records were acknowledged in these runs.\n"
    return between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, said)


if __name__ == "__main__":
    write(PAGE, page)
