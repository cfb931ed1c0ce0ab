#!/usr/bin/env python3
"""Write the table of a site's variables in inventories/README.md from plugins/definitions/site.yml."""

from pathlib import Path

import yaml
from generate_role_docs import table
from pages import between, write

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "inventories" / "README.md"
BEGIN, END = "<!-- words: begin, from plugins/definitions/site.yml by make docs -->", "<!-- words: end -->"


def page() -> str:
    """Return the page with its current table. Raises ValueError if its markers are missing."""
    text = PAGE.read_text(encoding="utf-8")
    options = yaml.safe_load((ROOT / "plugins" / "definitions" / "site.yml").read_text(encoding="utf-8"))
    rows = table({"argument_specs": {"main": {"options": options}}})
    return between(PAGE, text, BEGIN, END, f"\n\n{rows}\n\n")


if __name__ == "__main__":
    write(PAGE, page)
