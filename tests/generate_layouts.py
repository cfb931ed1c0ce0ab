#!/usr/bin/env python3
"""Write the tables of docs/layouts.md: what the layout of each inventory survives."""

import re
from pathlib import Path

from millrace.inventory import load
from millrace.model.layout import layout_of
from millrace.survival import markdown_table, survival

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "layouts.md"
TABLE = re.compile(r"(<!-- survival of (\w+): begin, made by make docs -->\n).*?(<!-- survival of \2: end -->)", re.DOTALL)


def page() -> str:
    """Return the page with its tables as they have to be."""

    def table(found: re.Match[str]) -> str:
        rows = survival(layout_of(load(ROOT / "inventories" / found.group(2), {"vault": {}}).read()))
        return f"{found.group(1)}\n{markdown_table(rows)}\n\n{found.group(3)}"

    return TABLE.sub(table, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
