"""Parses booleans as Ansible does: from YAML, a template or a text."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean


def switch(value: Any) -> bool | None:
    """Return a value as a boolean, texts such as "no" and "false" included; None if it is not a boolean."""
    try:
        return bool(boolean(value)) if isinstance(value, (str, int, float)) else None
    except TypeError:
        return None


def is_on(value: Any, default: bool = False) -> bool:
    """Return a value as a boolean, `default` for None. Raises ValueError if the value is not a boolean."""
    if value is None:
        return default
    result = switch(value)
    if result is None:
        raise ValueError("neither true nor false")
    return result
