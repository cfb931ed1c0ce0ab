"""Values of a PostgreSQL's settings: single ones by the server's own list, and those that exclude one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import text_of

SWITCH = ("on", "off", "true", "false", "yes", "no", "1", "0")
NUMBER = re.compile(r"(-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|-?0[xX][0-9a-fA-F]+)\s*([a-zA-Z]*)")
# In bytes and milliseconds; PostgreSQL reads them in these letters alone (guc.c).
SIZES: Mapping[str, float] = {"B": 1, "kB": 2**10, "8kB": 2**13, "MB": 2**20, "GB": 2**30, "TB": 2**40}
TIMES: Mapping[str, float] = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
LEAST_WAL = 32 * 2**20
"""Bytes: twice a segment of the write-ahead log, as initdb makes it here."""


def wrong_value(spec: Mapping[str, Any], text: str) -> tuple[str, str]:
    """Return what is wrong with a value, '' where nothing is or the server alone can tell, and what to do."""
    kind, mend = spec["type"], "correct it"
    if kind == "bool" and text.lower() not in SWITCH:
        return "neither on nor off", mend
    if kind == "enum" and text.lower() not in (*spec.get("values", ()), *SWITCH):
        return f"none of {', '.join(spec.get('values', ()))}", mend
    return _wrong_number(spec, text) if kind in ("integer", "real") else ("", mend)


def _wrong_number(spec: Mapping[str, Any], text: str) -> tuple[str, str]:
    found = NUMBER.fullmatch(text)
    if not found:
        return "no number", "correct it"
    own, unit = str(spec.get("unit", "")), found[2]
    units = next((units for units in (SIZES, TIMES) if own in units), {})
    if unit and (unit == "8kB" or unit not in units):
        taken = [name for name in units if name != "8kB"]
        if not units:
            return f"{unit}, and it is a mere number", "leave the unit out"
        return f"the server does not know {unit} here, and would not start", f"write it with {', '.join(taken)}"
    factor = units[unit] / units[own] if unit else 1
    number = (float.fromhex(found[1]) if "x" in found[1].lower() else float(found[1])) * factor
    number = number if spec["type"] == "real" else float(round(number))
    shown = f" {own}" if own else ""
    within = float(spec["min"]) <= number <= float(spec["max"])
    return "" if within else f"not from {spec['min']} to {spec['max']}{shown}", "correct it"


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
    if value is None or spec is None or wrong_value(spec, text_of(value))[0]:
        return default
    found = NUMBER.fullmatch(text_of(value))
    assert found  # wrong_value has seen to it
    units = SIZES if str(spec.get("unit")) in SIZES else TIMES
    factor = units[found[2]] / units[str(spec["unit"])] if found[2] else 1
    return (float.fromhex(found[1]) if "x" in found[1].lower() else float(found[1])) * factor
