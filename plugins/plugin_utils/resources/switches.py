"""True and false as Ansible reads them, whether YAML, a template or a text says it."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean


def switch(value: Any) -> bool | None:
    """Return what a value says as a boolean, a text as "no" or "false" too; None for what is none."""
    try:
        return bool(boolean(value)) if isinstance(value, (str, int, float)) else None
    except TypeError:
        return None


def is_on(value: Any, default: bool = False) -> bool:
    """Tell whether a switch is on; the default where it is null. Raises ValueError for what is none."""
    if value is None:
        return default
    found = switch(value)
    if found is None:
        raise ValueError("neither true nor false")
    return found
