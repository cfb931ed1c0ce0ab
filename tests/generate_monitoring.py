#!/usr/bin/env python3
"""Write the table of docs/monitoring.md: how long alerts took in a run of the campaign."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observations import read
from pages import between, write

ROOT = Path(__file__).resolve().parents[1]
PAGE, SEEN = ROOT / "docs" / "monitoring.md", ROOT / "docs" / "seen" / "alerts.json"
BEGIN, END = "<!-- alerts: begin, made by make docs -->", "<!-- alerts: end -->"


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table; `found` is {alert: {fault: text, fires: seconds, ends: seconds}}."""
    if not found:
        return "No run has measured this yet (`make campaign PARTS=alerts`)."
    lines = [
        f"| `{name}` | {one['fault']} | {one['fires']} s | {one['ends']} s |" for name, one in sorted(found.items())
    ]
    return "\n".join(
        [
            "| Alert | Fault | Fires after | Ends after the cure |",
            "| --- | --- | --- | --- |",
            *lines,
            "",
            "Seen on `lab_monitoring`, after ten minutes without an alert (`make campaign PARTS=alerts`).",
        ]
    )


def page() -> str:
    """Return the page with its current table. Raises ValueError if its markers are missing."""
    return between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, f"\n\n{table(read(SEEN))}\n\n")


if __name__ == "__main__":
    write(PAGE, page)
