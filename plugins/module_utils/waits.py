"""Waits in parts: a module says nothing while it runs, so it returns now and then, and is called again.

No Ansible import.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

# Options of a module that waits; its action gives them (plugin_utils/waits.py).
OPTIONS: dict[str, Any] = {"pause": {"type": "int", "default": 0}, "waited": {"type": "dict", "default": {}}}


class Wait:
    """One wait of `timeout` seconds, of which this call of the module may take `pause` (0: all)."""

    def __init__(self, timeout: float, pause: float = 0, begun: float | None = None) -> None:
        """`begun` is when the first part of it began, by the clock `now`, which all processes of a machine share."""
        self.timeout, self.begun = timeout, now() if begun is None else begun
        self.part = min(pause or timeout, max(0.0, self.left()))

    def left(self) -> float:
        """Return how many seconds of it are left, less than 0 where it is over."""
        return self.begun + self.timeout - now()


def now() -> float:
    """Return seconds of a clock that never goes back."""
    return time.monotonic()


def waiting(what: Sequence[str], timeout: float, **waited: Any) -> Mapping[str, Any]:
    """Return what a module answers whose wait goes on: for whom, for how long at most, and what the next call needs."""
    return {"what": list(what), "timeout": timeout, "waited": waited}
