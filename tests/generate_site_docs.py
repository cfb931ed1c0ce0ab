#!/usr/bin/env python3
"""Write the table of the site's words in inventories/README.md from plugins/definitions/site.yml."""

from pathlib import Path

import yaml
from generate_role_docs import table
from pages import between, write

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "inventories" / "README.md"
BEGIN, END = "<!-- words: begin, from plugins/definitions/site.yml by make docs -->", "<!-- words: end -->"


def page() -> str:
    """Return the page with its table as it has to be. Raises ValueError where it has no place."""
    text = PAGE.read_text(encoding="utf-8")
    words = yaml.safe_load((ROOT / "plugins" / "definitions" / "site.yml").read_text(encoding="utf-8"))
    made = table({"argument_specs": {"main": {"options": words}}})
    return between(PAGE, text, BEGIN, END, f"\n\n{made}\n\n")


if __name__ == "__main__":
    write(PAGE, page)
