"""How a request ends that is not done, or not wholly; no Ansible import, no Kafka library."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """What was asked for would not be right; nothing was written. The text says why, and what to do."""


class Unfinished(Exception):
    """Something was written, or may have been, and not all; `result` is what the module answers besides."""

    def __init__(self, text: str, result: dict[str, Any]) -> None:
        """`text` says what was done and how to go on."""
        super().__init__(text)
        self.result = result
