#!/usr/bin/env python3
"""Write the last column of the tables in docs/security.md: the tests of each row, from tests/unit/security_rows.py."""

import re
from collections.abc import Sequence
from pathlib import Path

from pages import shown, write
from unit.security_rows import TABLES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "security.md"
COLUMN = "Shown by (`make docs`)"


def cells(line: str) -> list[str]:
    """Return the cells of a table's line, without the column that is made here."""
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def links(tests: Sequence[str]) -> str:
    """Return a link for each test function."""
    found = dict.fromkeys(tuple(test.partition("[")[0].split("::")) for test in tests)
    return ", ".join(f"[{name}](../tests/{file})" for file, name in found)


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of every table of the page, line by line, the made column left out."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [cells(line) for line in table.splitlines()]
        width = len(lines[0]) - (lines[0][-1] == COLUMN)
        found.append([line[:width] for line in lines])
    return found


def page() -> str:
    """Return the page with the column as it has to be.

    Raises ValueError where its tables are not those whose rows are known.
    """
    text = PAGE.read_text(encoding="utf-8")
    heads = [head[0] for head, *_ in tables(text)]
    if sorted(heads) != sorted(TABLES):
        raise ValueError(
            f"{shown(PAGE)}: its tables are {heads}, so nothing was written: give it a table with each of the first "
            f"headings {list(TABLES)} (TABLES of tests/unit/security_rows.py), once, and no other"
        )

    def table(found: re.Match[str]) -> str:
        ((head, dashes, *rows),) = tables(found.group())
        shown = TABLES[head[0]]
        lines = [[*head, COLUMN], [*dashes, "---"], *([*row, links(shown.get(row[0], ()))] for row in rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    return re.sub(r"(?:^\|.*\n)+", table, text, flags=re.MULTILINE)


if __name__ == "__main__":
    write(PAGE, page)
