"""Makes texts of others, such as lines of logs and records, fit for a terminal."""

from __future__ import annotations


def printable(text: object) -> str:
    """Return a text on one line, with escapes such as \\n for characters that would control a terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in str(text)
    )
