"""Rewrites CommonMark as Git hosts read it into the Markdown that MkDocs reads. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

MARKER = re.compile(r"(?:[-*+]|\d+[.)])\s+")
PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Item:
    """An item of a list: its first line, the line after its last one, and the column at which its text begins."""

    first: int
    end: int
    column: int


def for_mkdocs(text: str) -> str:
    """Return a page with the same meaning for Python-Markdown.

    Python-Markdown expects four blanks for each level of a list, and an empty line before each list and table,
    and after code or a table in an item.
    """
    lines = text.split("\n")
    items: list[Item] = []
    begins = set[int]()
    depth = 0
    for token in PARSER.parse(text):
        first, end = token.map or (0, 0)
        if token.type in ("bullet_list_open", "ordered_list_open"):
            begins |= {first} if depth == 0 else set()
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "list_item_open":
            column = max((item.column for item in items if item.first <= first < item.end), default=0)
            marker = MARKER.match(lines[first][column:].lstrip() or "- ")
            indent = len(lines[first]) - len(lines[first][column:].lstrip())
            if first and lines[first - 1].lstrip().startswith(("```", "|")):
                begins.add(first)
            items.append(Item(first, end, indent + (len(marker[0]) if marker else 2)))
        elif token.type == "table_open":
            begins.add(first)
    written: list[str] = []
    for number, line in enumerate(lines):
        around = [item for item in items if item.first < number < item.end]
        column = max((item.column for item in around), default=0)
        indent = len(line) - len(line.lstrip())
        if number in begins and written and written[-1].strip():
            written.append("")
        written.append("    " * len(around) + line[min(column, indent) :] if line.strip() else line)
    return "\n".join(written)
