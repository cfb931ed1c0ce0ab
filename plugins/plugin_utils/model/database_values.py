"""Settings of a PostgreSQL that exclude one another: it would not start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import amount, wrong_value

LEAST_WAL = 32 * 2**20
"""Bytes: twice a segment of the write-ahead log, as initdb makes it here."""


def contradictions(said: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield setting, what is wrong and advice of settings that a server refuses together (postmaster.c, xlog.c).

    `said` are settings by their names in lower case, `known` the specs of this version.
    """
    connections = _number(said, known, "max_connections", 100)
    for_superusers = _number(said, known, "superuser_reserved_connections", 3)
    reserved = for_superusers + _number(said, known, "reserved_connections", 0)
    if reserved >= connections:
        wrong = f"{reserved:.0f} are reserved, so nobody else gets one of {connections:.0f}: it would not start"
        place = next((name for name in ("superuser_reserved_connections", "reserved_connections") if name in said), "")
        yield place or "max_connections", wrong, "raise max_connections, or reserve fewer"
    if str(said.get("wal_level")).lower() == "minimal":
        if _number(said, known, "max_wal_senders", 10) > 0:
            advice = "say max_wal_senders: 0 too, or leave it out"
            yield "wal_level", "max_wal_senders, 10 by default, wants replica: it would not start", advice
        elif text_of(said.get("archive_mode", "off")).lower() not in ("off", "false", "no", "0"):
            yield "wal_level", "archive_mode wants replica: it would not start", "leave one of the two out"
    for name in ("min_wal_size", "max_wal_size"):
        number = _number(said, known, name, LEAST_WAL / 2**20)
        if number * 2**20 < LEAST_WAL:
            yield name, "less than two segments of the write-ahead log: it would not start", "use 32MB at least"


def _number(said: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], name: str, default: float) -> float:
    """Return a setting in its own unit; its default where it is not said, or said wrongly."""
    value, spec = said.get(name), known.get(name)
    if value is None or spec is None or wrong_value(spec, text_of(value)):
        return default
    found = amount(spec, text_of(value))
    return default if found is None else found
