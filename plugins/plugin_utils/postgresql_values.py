"""What is wrong with the value of a setting of PostgreSQL, by the server's own list and its rules of numbers.

https://www.postgresql.org/docs/15/config-setting.html#CONFIG-SETTING-NAMES-VALUES
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SWITCH = ("on", "off", "true", "false", "yes", "no", "1", "0")
NUMBER = re.compile(r"([-+]?(?:0x[0-9a-f]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))\s*([a-z]*)", re.IGNORECASE)
# What a server reads, each with what it comes to; upper and lower case are not the same to it.
MEMORY = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
TIME = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


def wrong_value(spec: Mapping[str, Any], text: str) -> str:
    """Return what is wrong with a value, '' where nothing is, or where the server alone can tell.

    `spec` is that of `plugins/definitions/generated/postgresql-<version>.json`: type, unit, min and max, values.
    """
    if spec["type"] == "bool":
        return "" if text.lower() in SWITCH else "neither on nor off"
    if spec["type"] == "enum":
        values = [str(value) for value in spec.get("values", ())]
        taken = [*map(str.lower, values), *(SWITCH if "on" in values else ())]
        return "" if text.lower() in taken else f"none of {', '.join(filter(None, values))}"
    return _wrong_number(spec, text.strip()) if spec["type"] in ("integer", "real") else ""


def amount(spec: Mapping[str, Any], text: str) -> float | None:
    """Return what the value of a number comes to in the setting's own unit; None where it is none."""
    found = NUMBER.fullmatch(text.strip())
    number = _number(found[1], whole=spec["type"] == "integer") if found else None
    if not found or number is None or not found[2]:
        return number
    own = str(spec.get("unit") or "")
    known = _units(own)
    if found[2] not in known:
        return None
    base = own.lstrip("0123456789")  # of 8kB
    return number * known[found[2]] / (int(own.removesuffix(base) or 1) * known[base])


def in_bytes(spec: Mapping[str, Any], text: str) -> int | None:
    """Return bytes of a setting that is a size, a plain number being in its own unit; None where it is none."""
    own, number = str(spec.get("unit") or ""), amount(spec, text)
    base = own.lstrip("0123456789")
    if number is None or base not in MEMORY:
        return None
    return int(number * int(own.removesuffix(base) or 1) * MEMORY[base])


def _units(own: str) -> Mapping[str, int]:
    return {} if not own else TIME if own in TIME else MEMORY


def _wrong_number(spec: Mapping[str, Any], text: str) -> str:
    found, own, number = NUMBER.fullmatch(text), str(spec.get("unit") or ""), amount(spec, text)
    known = _units(own)
    if found and found[2] and found[2] not in known:
        return (
            f"{found[2]} is none of the units {', '.join(known)}"
            if known
            else f"{found[2]} is no part of a plain number"
        )
    if number is None:
        return "no number"
    if float(spec["min"]) <= number <= float(spec["max"]):
        return ""
    return f"not from {spec['min']} to {spec['max']}{' of ' + own if own else ''}"


def _number(text: str, whole: bool) -> float | None:
    """Return what a text comes to: a whole one may be hexadecimal, and is octal where it begins with 0."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.lstrip("+"))
    try:
        if digits.lower().startswith("0x"):
            return sign * int(digits, 16) if whole else None
        if whole and digits.isdigit() and digits.startswith("0"):
            return sign * int(digits, 8)
        return sign * float(digits)
    except ValueError:
        return None
