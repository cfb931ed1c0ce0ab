"""Checks values of PostgreSQL settings against the server's own list of settings.

Numbers follow https://www.postgresql.org/docs/15/config-setting.html#CONFIG-SETTING-NAMES-VALUES
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SWITCH = ("on", "off", "true", "false", "yes", "no", "1", "0")
NUMBER = re.compile(r"([-+]?(?:0x[0-9a-f]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))\s*([a-z]*)", re.IGNORECASE)
# The units that a server reads, in bytes and in microseconds; they are case-sensitive.
MEMORY = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
TIME = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


def expected_value(spec: Mapping[str, Any], text: str) -> str:
    """Return a description of the values that a setting accepts, such as "on or off", if `text` is not such a value.

    Returns '' if the setting accepts `text`, or if only the server can decide. `spec` is the setting's entry in
    plugins/definitions/generated/postgresql-<version>.json, with the keys type, unit, min, max and values.
    """
    if spec["type"] == "bool":
        return "" if text.lower() in SWITCH else "on or off"
    if spec["type"] == "enum":
        values = [str(value) for value in spec.get("values", ())]
        accepted = [*map(str.lower, values), *(SWITCH if "on" in values else ())]
        return "" if text.lower() in accepted else f"one of {', '.join(filter(None, values))}"
    return _expected_number(spec, text.strip()) if spec["type"] in ("integer", "real") else ""


def amount(spec: Mapping[str, Any], text: str) -> float | None:
    """Return the number in `text`, converted to the unit that `spec` gives for the setting.

    A number without a unit is already in that unit. Returns None if the text is not a number, or has a unit that the
    setting does not accept.
    """
    match = NUMBER.fullmatch(text.strip())
    number = _number(match[1], whole=spec["type"] == "integer") if match else None
    if not match or number is None or not match[2]:
        return number
    own_unit = str(spec.get("unit") or "")
    units = _units(own_unit)
    if match[2] not in units:
        return None
    base = own_unit.lstrip("0123456789")  # of 8kB
    return number * units[match[2]] / (int(own_unit.removesuffix(base) or 1) * units[base])


def in_bytes(spec: Mapping[str, Any], text: str) -> int | None:
    """Return the size in `text` as bytes; a number without a unit is in the unit that `spec` gives for the setting.

    Returns None if the text is not a number, or if the setting is not a size.
    """
    own_unit, number = str(spec.get("unit") or ""), amount(spec, text)
    base = own_unit.lstrip("0123456789")
    if number is None or base not in MEMORY:
        return None
    return int(number * int(own_unit.removesuffix(base) or 1) * MEMORY[base])


def _units(own_unit: str) -> Mapping[str, int]:
    return {} if not own_unit else TIME if own_unit in TIME else MEMORY


def _expected_number(spec: Mapping[str, Any], text: str) -> str:
    match, own_unit, number = NUMBER.fullmatch(text), str(spec.get("unit") or ""), amount(spec, text)
    units = _units(own_unit)
    if match and match[2] and match[2] not in units:
        return f"a number with one of the units {', '.join(units)}" if units else "a number without a unit"
    if number is None:
        return "a number"
    if float(spec["min"]) <= number <= float(spec["max"]):
        return ""
    return f"a number from {spec['min']} to {spec['max']}{f' (in units of {own_unit})' if own_unit else ''}"


def _number(text: str, whole: bool) -> float | None:
    """Return the number that a text means to PostgreSQL; None if it is invalid.

    A `whole` number may be hexadecimal (0x1F), and is octal if it begins with 0.
    """
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.lstrip("+"))
    try:
        if digits.lower().startswith("0x"):
            return sign * int(digits, 16) if whole else None
        if whole and digits.isdigit() and digits.startswith("0"):
            return sign * int(digits, 8)
        return sign * float(digits)
    except ValueError:
        return None
