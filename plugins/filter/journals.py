"""Filters for the journals of several hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

ENTRY = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+)\S* \S+ (?P<text>.*)")
"""The first line of an entry of journalctl --utc --output=short-iso-precise; others continue it."""


def merged_journals(journals: Mapping[str, Sequence[str]], about: str = "") -> list[str]:
    """Return the lines of several journals in order of time, each entry with the name of its host in the inventory.

    `journals` is {host: lines of journalctl --utc --output=short-iso-precise}. With `about`, only entries that contain
    this text are returned, each with all its lines.
    """
    entries = [
        (time, host, lines)
        for host, journal in journals.items()
        for time, lines in _entries(journal)
        if about in "\n".join(lines)
    ]
    return [
        line if number else f"{time}Z {host} {line}"
        for time, host, lines in sorted(entries, key=lambda entry: entry[:2])
        for number, line in enumerate(lines)
    ]


def journal_lines(journals: Mapping[str, Sequence[str]], most: int) -> list[str]:
    """Return what to print about the journals of hosts, {host: lines}, of which each has at most `most` entries."""
    lines = []
    for host, journal in journals.items():
        entries = sum(ENTRY.match(line) is not None for line in journal)
        if not journal:
            lines.append(f"{host}: no entries, or no answer")
        elif entries >= most:
            lines.append(f"{host}: the newest {entries} entries; older ones are missing (-e most={10 * most})")
        else:
            lines.append(f"{host}: {entries} entries")
    return lines


def _entries(journal: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the time of each entry, and its lines."""
    current: tuple[str, list[str]] | None = None
    for line in journal:
        if first := ENTRY.match(line):
            if current:
                yield current
            current = first["time"], [first["text"]]
        elif current:
            current[1].append(line)
    if current:
        yield current


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {"merged_journals": merged_journals, "journal_lines": journal_lines}
