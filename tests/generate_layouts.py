#!/usr/bin/env python3
"""Write the tables of docs/layouts.md: what the layout of each inventory survives, and what runs have observed.

The observations are in docs/seen; make campaign writes them.
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
LAYOUTS = ("lab", "lab_stretch2", "lab_stretch2_5", "lab_stretch3", "lab_one_network")
"""The page has markers for each."""
COLUMNS = ("quorum", "writable", "zero loss")


class Seen:
    """Observations of one layout."""

    def __init__(self, runs: Mapping[str, Any]) -> None:
        """Take the runs of a file of docs/seen."""
        self.runs = runs
        self.found: dict[tuple[str, str], set[bool]] = defaultdict(set)
        """By failure and column, the values observed."""
        for run in runs.values():
            for observation in run["seen"]:
                for column in COLUMNS:
                    if column in observation:
                        self.found[observation["failure"], column].add(observation[column])

    def cell(self, rows: Sequence[Row]) -> str:
        """Return the columns that were observed, for how many of these failures, and each difference in bold."""
        numbers: dict[int, list[str]] = {}
        for column in COLUMNS:
            number = sum((row.failure, column) in self.found for row in rows)
            if number:
                numbers.setdefault(number, []).append(column)
        observed = [
            ", ".join(columns) + ("" if number == len(rows) == 1 else f" {number} of {len(rows)}")
            for number, columns in numbers.items()
        ]
        return "; ".join([*observed, *(f"**{text}**" for row in rows for text in self.differences(row))])

    def differences(self, row: Row) -> list[str]:
        """Return the differences between what was observed of a failure and what is computed."""
        computed = zip(COLUMNS, (row.quorum, row.writable, row.zero_loss), strict=True)
        columns = [column for column, value in computed if self.found.get((row.failure, column), {value}) != {value}]
        return [f"{row.failure}: {column} not as computed" for column in columns]

    def provenance(self, rows: Sequence[Row]) -> str:
        """Return how many cells were observed, and by which runs."""
        known, every = {row.failure for row in rows}, len(rows) * len(COLUMNS)
        cells = sum(failure in known for failure, _ in self.found)
        runs = [f"{name}: {self.made(run)} failures, seed {run['seed']}" for name, run in self.runs.items()]
        return (
            textwrap.fill(f"Seen on running clusters: {cells} of {every} cells ({'; '.join(runs)}).", 120)
            if runs
            else "No run has observed this layout yet."
        )

    @staticmethod
    def made(run: Mapping[str, Any]) -> str:
        """Return the number of failures of a run; also the planned number if it ended early."""
        made, planned = len(run["seen"]), run["failures"]
        return str(planned) if made == planned else f"{made} of {planned}"


def layout_in(inventory: str) -> Layout:
    """Return the layout of an inventory of the project."""
    return layout_of(load(ROOT / "inventories" / inventory, {"vault": {}}).read())


def seen(inventory: str) -> Seen:
    """Read the observations of an inventory's current layout, not of earlier ones."""
    return Seen(of_layout(read(SEEN / f"{inventory}.json"), layout_in(inventory)))


def table(inventory: str) -> str:
    """Return the table of an inventory's layout, and how much of it was observed."""
    rows, observed = survival(layout_in(inventory)), seen(inventory)
    return f"{markdown_table(rows, observed.cell if observed.runs else None)}\n\n{observed.provenance(rows)}"


def distances(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of what each distance costs; `found` is {milliseconds: {name and unit: value}}."""
    if not found:
        return "No run has measured distances yet (`make campaign PARTS=distance`)."
    names = list(next(iter(found.values())))
    rows = [[f"{milliseconds} ms", *(f"{values[name]:g}" for name in names)] for milliseconds, values in found.items()]
    lines = [["round trip", *(name.replace("acks=all", "`acks=all`") for name in names)], ["---"] * (len(names) + 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (*lines, *rows))


def page() -> str:
    """Return the page with its current tables. Raises ValueError if the markers of one are missing."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- distance: begin, made by make docs -->", "<!-- distance: end -->"
    text = between(PAGE, text, begin, end, f"\n\n{distances(read(SEEN / 'distance.json'))}\n\n")
    for name in dict.fromkeys((*LAYOUTS, *re.findall(r"<!-- survival of (\w+):", text))):
        begin, end = f"<!-- survival of {name}: begin, made by make docs -->", f"<!-- survival of {name}: end -->"
        text = between(PAGE, text, begin, end, f"\n\n{table(name)}\n\n")
    return text


if __name__ == "__main__":
    write(PAGE, page)
