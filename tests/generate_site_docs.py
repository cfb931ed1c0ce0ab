#!/usr/bin/env python3
"""Write the table of the site's words in inventories/README.md from plugins/definitions/site.yml."""

from pathlib import Path

import yaml
from generate_role_docs import table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "inventories" / "README.md"
BEGIN, END = "<!-- words: begin, from plugins/definitions/site.yml by make docs -->", "<!-- words: end -->"


def page() -> str:
    """Return the page with its table as it has to be."""
    text = PAGE.read_text(encoding="utf-8")
    words = yaml.safe_load((ROOT / "plugins" / "definitions" / "site.yml").read_text(encoding="utf-8"))
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n\n{table({'argument_specs': {'main': {'options': words}}})}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
