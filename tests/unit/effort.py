"""How much work a piece of code does: counted calls, which are the same on a busy machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Word(str):
    """A text whose comparisons are counted: a search through a list of words makes one for each of them."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare as str does, in Python."""
        return str.__eq__(self, other) is True

    __hash__ = str.__hash__


def calls(work: Callable[..., object], *arguments: object) -> int:
    """Return the number of function calls that the work makes, those of the interpreter's own functions included."""
    count = 0

    def note(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work(*arguments)
    finally:
        sys.setprofile(before)
    return count
