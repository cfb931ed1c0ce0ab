"""Judges regular expressions of inputs, for the rules on them."""

from __future__ import annotations

import re


def meant_by_wildcard(text: str) -> str:
    """Return the regular expression for a wildcard of file names such as orders-*; "" if `text` is none."""
    return f"{text[:-1]}.*" if re.fullmatch(r"([\w.-]*[\w-])?\*", text) else ""


def mistake_in(text: str) -> str:
    """Return why a text is not a regular expression; "" if it is one."""
    try:
        re.compile(text)
    except re.error as error:
        return str(error)
    return ""
