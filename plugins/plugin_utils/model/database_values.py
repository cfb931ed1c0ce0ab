"""Settings of a PostgreSQL that exclude one another: it would not start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import available_timezones

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import amount, wrong_value

LEAST_WAL = 32 * 2**20
"""Bytes: twice a segment of the write-ahead log, as initdb makes it here."""


UNSAFE = {
    "fsync": ("off", "after a power cut the database is broken, and jobs have acknowledged what was in it"),
    "full_page_writes": ("off", "after a power cut pages can be half old and half new, and nobody notices"),
    "zero_damaged_pages": ("on", "rows of a damaged page vanish without a word"),
    "ignore_checksum_failure": ("on", "what a disk has garbled is read as if it were right"),
}
# Of these a warning: nothing is lost at once.
LATER = {
    "autovacuum": "nothing takes away what was replaced or deleted: tables grow until the disk is full",
    "track_counts": "autovacuum has no numbers to go by, and never begins: tables grow until the disk is full",
    "synchronous_commit": "after a crash of the server rows that were acknowledged are gone, and a job refuses a "
    "database that is older than its checkpoint",
}
SWITCHES = {"on": "on", "true": "on", "yes": "on", "1": "on", "off": "off", "false": "off", "no": "off", "0": "off"}
ZONES = ("timezone", "log_timezone")


def losing(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield settings with which rows are lost, and why; `said` are settings by their names in lower case."""
    for name, (bad, wrong) in UNSAFE.items():
        if name in said and SWITCHES.get(text_of(said[name]).lower()) == bad:
            yield name, wrong


def losing_later(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield settings with which a disk fills up or a crash takes rows, and why, in the same shape."""
    for name, wrong in LATER.items():
        if name in said and SWITCHES.get(text_of(said[name]).lower()) == "off":
            yield name, wrong


def zone_fault(text: str) -> str | None:
    """Return what is wrong with the name of a time zone of a place, None where nothing is or nobody here knows."""
    zones = available_timezones()
    if not zones or "/" not in text or text.lower() in {zone.lower() for zone in zones}:
        return None
    return "no time zone that is known here"


def contradictions(said: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield setting, what is wrong and advice of settings that a server refuses together (postmaster.c, xlog.c).

    `said` are settings by their names in lower case, `known` the specs of this version.
    """
    connections = _number(said, known, "max_connections", 100)
    reserved = connections - free(said, known)
    if reserved >= connections:
        place = next((name for name in ("superuser_reserved_connections", "reserved_connections") if name in said), "")
        taken = f"all {connections:.0f} of max_connections are taken by those" if place else "all are taken by those"
        wrong = f"{taken} that are reserved ({reserved:.0f}), and the server would not start"
        yield place or "max_connections", wrong, "raise max_connections, or reserve fewer"
    if str(said.get("wal_level")).lower() == "minimal":
        if _number(said, known, "max_wal_senders", 10) > 0:
            advice = "say max_wal_senders: 0 too, or leave it out"
            yield "wal_level", "max_wal_senders, 10 by default, wants replica: it would not start", advice
        elif text_of(said.get("archive_mode", "off")).lower() not in ("off", "false", "no", "0"):
            yield "wal_level", "archive_mode wants replica: it would not start", "leave one of the two out"
    least, most = _number(said, known, "min_wal_size", 80), _number(said, known, "max_wal_size", 1024)
    if {"min_wal_size", "max_wal_size"} <= set(said) and least > most:
        wrong = f"min_wal_size ({least:.0f} MB) is more than max_wal_size ({most:.0f} MB)"
        yield "min_wal_size", wrong, "correct one of the two"
    for name in ("min_wal_size", "max_wal_size"):
        number = _number(said, known, name, LEAST_WAL / 2**20)
        if number * 2**20 < LEAST_WAL:
            yield name, "less than two segments of the write-ahead log: it would not start", "use 32MB at least"


def free(said: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> float:
    """Return how many connections are left for users; the shapes are those of `contradictions`."""
    for_superusers = _number(said, known, "superuser_reserved_connections", 3)
    reserved = for_superusers + _number(said, known, "reserved_connections", 0)
    return _number(said, known, "max_connections", 100) - reserved


def unarchived(said: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield, in the same shape, that a log is kept for an archive that nobody makes: it fills the disk."""
    on = text_of(said.get("archive_mode", "off")).lower() not in ("off", "false", "no", "0")
    if on and not any(text_of(said.get(name) or "").strip() for name in ("archive_command", "archive_library")):
        wrong = "without archive_command the server keeps its log until that is archived: it fills the disk"
        yield "archive_mode", wrong, "say archive_command, as 'cp %p /srv/wal/%f', or take it out"


def hasty(said: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield, in the same shape, times of less than a second that are written without a unit: seconds were meant."""
    for name, value in said.items():
        spec, text = known.get(name, {}), text_of(value).strip()
        if name.endswith("_timeout") and spec.get("unit") == "ms" and text.isdigit() and 0 < int(text) < 1000:
            yield name, f"{text} ms, for that is its unit", f"write {text}s if seconds were meant, or {text}ms"


def _number(said: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], name: str, default: float) -> float:
    """Return a setting in its own unit; its default where it is not said, or said wrongly."""
    value, spec = said.get(name), known.get(name)
    if value is None or spec is None or wrong_value(spec, text_of(value)):
        return default
    found = amount(spec, text_of(value))
    return default if found is None else found
