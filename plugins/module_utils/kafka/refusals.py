"""The two ways in which the request of a user fails: rejected before anything was written, or unfinished."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The request was rejected, and nothing was written. The text contains the reason and the remedy."""


class Unfinished(Exception):
    """The request failed after a part was written, or may have been; `result` has additional results of the module."""

    def __init__(self, text: str, result: dict[str, Any]) -> None:
        """`text` contains what was done and how to continue."""
        super().__init__(text)
        self.result = result
