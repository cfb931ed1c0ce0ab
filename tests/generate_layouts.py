#!/usr/bin/env python3
"""Write the tables of docs/layouts.md: what the layout of each inventory survives, and which of it was seen.

What was seen is in docs/seen, by make campaign.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from observations import of_layout, read
from pages import between, write

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row, survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import markdown_table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "layouts.md"
SEEN = ROOT / "docs" / "seen"
LAYOUTS = ("lab", "lab_stretch2", "lab_stretch2_5", "lab_stretch3")
"""Each has its place in the page."""
COLUMNS = ("quorum", "writable", "zero loss")


class Seen:
    """What runs have seen of one layout."""

    def __init__(self, runs: Mapping[str, Any]) -> None:
        """Take the runs of a file of docs/seen."""
        self.runs = runs
        self.found: dict[tuple[str, str], set[bool]] = defaultdict(set)
        for run in runs.values():
            for one in run["seen"]:
                for column in COLUMNS:
                    if column in one:
                        self.found[one["failure"], column].add(one[column])

    def cell(self, rows: Sequence[Row]) -> str:
        """Say which columns of these failures were seen, and of how many; and what was seen otherwise than computed."""
        numbers: dict[int, list[str]] = {}
        for column in COLUMNS:
            number = sum((row.failure, column) in self.found for row in rows)
            if number:
                numbers.setdefault(number, []).append(column)
        said = [
            ", ".join(columns) + ("" if number == len(rows) == 1 else f" {number} of {len(rows)}")
            for number, columns in numbers.items()
        ]
        return "; ".join([*said, *(f"**{text}**" for row in rows for text in self.differences(row))])

    def differences(self, row: Row) -> list[str]:
        """Return what was seen of a failure otherwise than computed."""
        computed = zip(COLUMNS, (row.quorum, row.writable, row.zero_loss), strict=True)
        wrong = [column for column, value in computed if self.found.get((row.failure, column), {value}) != {value}]
        return [f"{row.failure}: {column} not as computed" for column in wrong]

    def provenance(self, rows: Sequence[Row]) -> str:
        """Say how much was seen, and by which runs."""
        known, every = {row.failure for row in rows}, len(rows) * len(COLUMNS)
        cells = sum(failure in known for failure, _ in self.found)
        runs = [f"{name}: {self.made(run)} failures, seed {run['seed']}" for name, run in self.runs.items()]
        return (
            textwrap.fill(f"Seen on running clusters: {cells} of {every} cells ({'; '.join(runs)}).", 120)
            if runs
            else "None of it was seen by a run."
        )

    @staticmethod
    def made(run: Mapping[str, Any]) -> str:
        """Say how many failures a run made; of how many, where it ended before the last."""
        made, planned = len(run["seen"]), run["failures"]
        return str(planned) if made == planned else f"{made} of {planned}"


def layout_in(inventory: str) -> Layout:
    """Return the layout of an inventory of the project."""
    return layout_of(load(ROOT / "inventories" / inventory, {"vault": {}}).read())


def seen(inventory: str) -> Seen:
    """Read what was seen of the layout that an inventory has now; what it had once was another."""
    return Seen(of_layout(read(SEEN / f"{inventory}.json"), layout_in(inventory)))


def table(inventory: str) -> str:
    """Return the table of an inventory's layout, and how much of it was seen."""
    rows, looked = survival(layout_in(inventory)), seen(inventory)
    return f"{markdown_table(rows, looked.cell if looked.runs else None)}\n\n{looked.provenance(rows)}"


def page() -> str:
    """Return the page with its tables as they have to be. Raises ValueError where one has no place."""
    text = PAGE.read_text(encoding="utf-8")
    for name in dict.fromkeys((*LAYOUTS, *re.findall(r"<!-- survival of (\w+):", text))):
        begin, end = f"<!-- survival of {name}: begin, made by make docs -->", f"<!-- survival of {name}: end -->"
        text = between(PAGE, text, begin, end, f"\n\n{table(name)}\n\n")
    return text


if __name__ == "__main__":
    write(PAGE, page)
