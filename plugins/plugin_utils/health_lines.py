"""What the sections of the page of check.yml share; no Ansible import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts

# One is skewed that has this many times its share (and the difference is not a rounding matter).
SKEW = 1.5
LIMIT = "-e rate=50MB"

Section = tuple[list[str], list[str]]
"""Lines of the page, and what is wrong."""


def table(headline: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return lines of left-aligned columns."""
    texts = [list(headline), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headline))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    ]


def names_of(hosts: Mapping[str, Any]) -> dict[str, str]:
    """Return by id (a text) the host of each declared broker."""
    return {str(facts["broker_id"]): host for host, facts in hosts.items()}


def called(number: object, names: Mapping[str, str]) -> str:
    """Return a broker as people know it."""
    host = names.get(str(number))
    return f"broker {number} ({host})" if host else f"broker {number}"


def said(size: float | None) -> str:
    """Return bytes as a person says them, ? where they are not known."""
    return "?" if size is None else amounts.size(size)
