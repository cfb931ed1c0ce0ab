"""Parses booleans as Ansible does: booleans of YAML, numbers, and texts such as "no"."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean


def switch(value: Any) -> bool | None:
    """Return a value as a boolean, also a text such as "no" or "false"; None if it is not a boolean."""
    try:
        return bool(boolean(value)) if isinstance(value, (str, int, float)) else None
    except TypeError:
        return None


def is_on(value: Any, default: bool = False) -> bool:
    """Return a value as a boolean; for None, return `default`. Raises ValueError if the value is not a boolean."""
    if value is None:
        return default
    result = switch(value)
    if result is None:
        raise ValueError("neither true nor false")
    return result
