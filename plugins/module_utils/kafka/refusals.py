"""The two ways in which a request fails: rejected before anything was written, or unfinished."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The request was rejected and nothing was written. The text has the reason, and what to do."""


class Unfinished(Exception):
    """A part was written, or may have been; `result` are additional results of the module."""

    def __init__(self, text: str, result: dict[str, Any]) -> None:
        """`text` has what was done, and how to continue."""
        super().__init__(text)
        self.result = result
