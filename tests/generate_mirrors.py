#!/usr/bin/env python3
"""Write the table of docs/mirrors.md: what a run of the campaign saw of two clusters."""

from collections.abc import Mapping
from pathlib import Path

from observations import read
from pages import between, write

ROOT = Path(__file__).resolve().parents[1]
PAGE, SEEN = ROOT / "docs" / "mirrors.md", ROOT / "docs" / "seen" / "mirrors.json"
BEGIN, END = "<!-- mirrors: begin, made by make docs -->", "<!-- mirrors: end -->"
ROWS = {
    "both directions": (
        "active-active for {minutes:.0f} minutes; {kills:.0f} workers of one target were killed, one after the other",
        "{acknowledged:.0f} acknowledged, {missing:.0f} missing, {double:.0f} double; for at most {longest gap s} s no "
        "record of a partition arrived",
    ),
    "both workers": (
        "one worker was killed while the other, killed before, started its tasks again",
        "{acknowledged:.0f} acknowledged, {missing:.0f} missing, {double:.0f} double",
    ),
    "aggregated": (
        "two sources write to topics of one name, which a third cluster holds",
        "{acknowledged:.0f} acknowledged, {read:.0f} read there, {missing:.0f} missing, {double:.0f} double",
    ),
    "planned": (
        "a planned switch and the switch back; the group stops in the middle of the load",
        "{acknowledged:.0f} acknowledged, {missing:.0f} missing, {read again:.0f} read again "
        "({stated:.0f} stated by `mirror_switch.yml`)",
    ),
    "lost": (
        "all brokers of the source are killed at {rate:.0f} records a second",
        "{acknowledged:.0f} acknowledged, {not copied:.0f} not copied before the source returned, "
        "{read again:.0f} read again ({stated:.0f} stated)",
    ),
    "standby job": (
        "a Spark job starts at the other cluster, where a group of the lost one was",
        "{copied:.0f} copied, {read before:.0f} read before the loss, {read again:.0f} read again; none missing",
    ),
    "throughput": (
        "1 KiB records copied by MirrorMaker's defaults and by the role's settings; then 100 ms apart over a link of "
        "10 MB/s",
        "{defaults} and {role} MB/s; then {defaults, far} and {role, far} MB/s",
    ),
}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table; `found` is {name of a test: {name: value}}."""
    if not found:
        return "No run has measured this yet (`make campaign PARTS=mirrored`)."
    lines = ["| What | Records |", "| --- | --- |"]
    for name, (what, records) in ROWS.items():
        if name in found:
            lines.append(f"| {what.format(**found[name])} | {records.format(**found[name])} |")
    return "\n".join(
        [
            *lines,
            "",
            'Seen on `lab_mirrored` and `lab_aggregated`, on two cores (`make campaign PARTS="mirrored aggregated"`).',
        ]
    )


def page() -> str:
    """Return the page with its current table. Raises ValueError if its markers are missing."""
    text = f"\n\n{table(read(SEEN))}\n\n"
    return between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, text)


if __name__ == "__main__":
    write(PAGE, page)
