"""Finds values of PostgreSQL settings with which rows can be lost, and settings that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import available_timezones

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import amount, expected_value
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import ProblemKind

Settings = Mapping[str, Any]
"""{name of a PostgreSQL setting in lower case: value}."""
Specs = Mapping[str, Mapping[str, Any]]
"""{name of a PostgreSQL setting in lower case: what a version accepts as its value}."""
Finding = tuple[str, ProblemKind, dict[str, Any]]
"""(setting, kind of problem, message details)."""

LEAST_WAL = 32 * 2**20
"""Bytes: two segments of the write-ahead log, of the size that initdb gives them here."""

DATABASE_UNSAFE = ProblemKind("DATABASE_UNSAFE", "rows can be lost", "remove it")
# By setting: the value that loses rows, and how.
UNSAFE = {
    "fsync": (
        "off",
        DATABASE_UNSAFE.variant(
            message="a power failure can corrupt the database, and jobs do not write the lost rows again"
        ),
    ),
    "full_page_writes": (
        "off",
        DATABASE_UNSAFE.variant(message="after a power failure, a page can be half old and half new, without an error"),
    ),
    "zero_damaged_pages": (
        "on",
        DATABASE_UNSAFE.variant(message="the server discards the rows of a damaged page without an error"),
    ),
    "ignore_checksum_failure": (
        "on",
        DATABASE_UNSAFE.variant(message="the server returns rows that a disk has corrupted, without an error"),
    ),
}
# Of these, off causes a warning: nothing is lost at once.
UNSAFE_LATER = {
    "autovacuum": DATABASE_UNSAFE.variant(
        message="replaced and deleted rows are never removed: tables grow until the disk is full"
    ),
    "track_counts": DATABASE_UNSAFE.variant(
        message="without statistics autovacuum never runs: tables grow until the disk is full"
    ),
    "synchronous_commit": DATABASE_UNSAFE.variant(
        message="a crash of the server loses acknowledged rows, and a job rejects a database that is older than "
        "its checkpoint"
    ),
}
SWITCHES = {"on": "on", "true": "on", "yes": "on", "1": "on", "off": "off", "false": "off", "no": "off", "0": "off"}
ZONES = ("timezone", "log_timezone")

DATABASE_VALUE = ProblemKind("DATABASE_VALUE", "PostgreSQL does not accept this value", "use {expected}")
DATABASE_VALUE_ZONE = DATABASE_VALUE.variant(
    message="the control node knows no such time zone", advice="use a name such as Europe/Berlin"
)
DATABASE_VALUE_UNIT = DATABASE_VALUE.variant(
    message="without a unit this is {number} ms", advice="write {number}s for seconds, or {number}ms"
)

DATABASE_CONTRADICTION = ProblemKind("DATABASE_CONTRADICTION", "PostgreSQL does not start with it", "correct it")
RESERVED = DATABASE_CONTRADICTION.variant(
    message="{reserved} connections are reserved, but max_connections is {connections}: the server would not start",
    advice="raise max_connections, or lower the number of reserved connections",
)
RESERVED_BY_DEFAULT = DATABASE_CONTRADICTION.variant(
    message="PostgreSQL reserves {reserved} connections by default: the server would not start",
    advice="remove it (default: 100), or set it to more than {reserved}",
)
WAL_SENDERS = DATABASE_CONTRADICTION.variant(
    message="max_wal_senders (default: 10) requires wal_level replica: the server would not start",
    advice="set max_wal_senders: 0 too, or remove wal_level",
)
WAL_SENDERS_ARCHIVE = WAL_SENDERS.variant(
    message="max_wal_senders (default: 10) and archive_mode require wal_level replica: the server would not start",
    advice="remove wal_level",
)
ARCHIVE_LEVEL = DATABASE_CONTRADICTION.variant(
    message="archive_mode requires wal_level replica: the server would not start",
    advice="remove wal_level or archive_mode",
)
WAL_SIZES = DATABASE_CONTRADICTION.variant(
    message="min_wal_size ({least} MB) is more than max_wal_size ({most} MB)",
    advice="lower min_wal_size, or raise max_wal_size",
)
WAL_SMALL = DATABASE_CONTRADICTION.variant(
    message="less than two segments of the write-ahead log: the server would not start", advice="use at least 32MB"
)
UNARCHIVED = DATABASE_CONTRADICTION.variant(
    message="without archive_command the server keeps its whole write-ahead log, which fills the disk",
    advice="set archive_command, such as 'cp %p /srv/wal/%f', or remove archive_mode",
)


def unsafe_values(settings: Settings) -> Iterator[tuple[str, ProblemKind]]:
    """Yield (setting, kind of problem) for each setting with which rows can be lost or corrupted, such as fsync off."""
    for name, (bad, kind) in UNSAFE.items():
        if name in settings and SWITCHES.get(text_of(settings[name]).lower()) == bad:
            yield name, kind


def unsafe_later(settings: Settings) -> Iterator[tuple[str, ProblemKind]]:
    """Yield (setting, kind of problem) for each setting that is unsafe in the long run.

    Such a setting lets tables grow until the disk is full, or loses rows in a crash.
    """
    for name, kind in UNSAFE_LATER.items():
        if name in settings and SWITCHES.get(text_of(settings[name]).lower()) == "off":
            yield name, kind


def unknown_zone(text: str) -> bool:
    """Tell whether `text` has the form of a time zone (region/city), but no such time zone exists.

    Return False if the control node has no list of time zones.
    """
    zones = available_timezones()
    return bool(zones) and "/" in text and text.lower() not in {zone.lower() for zone in zones}


def contradictions(settings: Settings, specs: Specs) -> Iterator[Finding]:
    """Yield (setting, kind of problem, message details) for each setting with which PostgreSQL would not start.

    Such a setting contradicts another setting or is too small. The conditions are from postmaster.c and xlog.c.
    """
    connections = _number(settings, specs, "max_connections", 100)
    reserved = connections - free_connections(settings, specs)
    if reserved >= connections:
        place = next(
            (name for name in ("superuser_reserved_connections", "reserved_connections") if name in settings), ""
        )
        details = {"reserved": f"{reserved:.0f}", "connections": f"{connections:.0f}"}
        yield place or "max_connections", RESERVED if place else RESERVED_BY_DEFAULT, details
    if str(settings.get("wal_level")).lower() == "minimal":
        archives = text_of(settings.get("archive_mode", "off")).lower() not in ("off", "false", "no", "0")
        if _number(settings, specs, "max_wal_senders", 10) > 0:
            yield "wal_level", WAL_SENDERS_ARCHIVE if archives else WAL_SENDERS, {}
        elif archives:
            yield "wal_level", ARCHIVE_LEVEL, {}
    least, most = _number(settings, specs, "min_wal_size", 80), _number(settings, specs, "max_wal_size", 1024)
    if {"min_wal_size", "max_wal_size"} <= set(settings) and least > most:
        yield "min_wal_size", WAL_SIZES, {"least": f"{least:.0f}", "most": f"{most:.0f}"}
    for name in ("min_wal_size", "max_wal_size"):
        number = _number(settings, specs, name, LEAST_WAL / 2**20)
        if number * 2**20 < LEAST_WAL:
            yield name, WAL_SMALL, {}


def free_connections(settings: Settings, specs: Specs) -> float:
    """Return how many connections ordinary users can open: max_connections minus the reserved connections."""
    for_superusers = _number(settings, specs, "superuser_reserved_connections", 3)
    reserved = for_superusers + _number(settings, specs, "reserved_connections", 0)
    return _number(settings, specs, "max_connections", 100) - reserved


def unarchived(settings: Settings) -> Iterator[Finding]:
    """Yield ("archive_mode", kind of problem, {}) if archive_mode is on, but no archive command or library is set.

    PostgreSQL then keeps its write-ahead log until the disk is full.
    """
    on = text_of(settings.get("archive_mode", "off")).lower() not in ("off", "false", "no", "0")
    if on and not any(text_of(settings.get(name) or "").strip() for name in ("archive_command", "archive_library")):
        yield "archive_mode", UNARCHIVED, {}


def short_timeouts(settings: Settings, specs: Specs) -> Iterator[Finding]:
    """Yield (setting, kind of problem, message details) for each timeout that is a number below 1000 without a unit.

    PostgreSQL reads such a number as milliseconds, but seconds were probably intended.
    """
    for name, value in settings.items():
        spec, text = specs.get(name, {}), text_of(value).strip()
        if name.endswith("_timeout") and spec.get("unit") == "ms" and text.isdigit() and 0 < int(text) < 1000:
            yield name, DATABASE_VALUE_UNIT, {"number": text}


def _number(settings: Settings, specs: Specs, name: str, default: float) -> float:
    """Return a setting as a number in the unit that PostgreSQL gives it.

    Return `default` if the setting is not set, or if PostgreSQL does not accept its value.
    """
    value, spec = settings.get(name), specs.get(name)
    if value is None or spec is None or expected_value(spec, text_of(value)):
        return default
    number = amount(spec, text_of(value))
    return default if number is None else number
