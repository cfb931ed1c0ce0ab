"""Writes options into systemd units, and tells which texts systemd cannot read.

The rules are from systemd.service(5) and systemd.syntax(7).
"""

from __future__ import annotations

import re
import shlex
from typing import Any

# A character that a backslash escapes, or a text between quotation marks.
CLOSED = re.compile(r"\\.|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)


def unit_option(option: Any) -> str:
    """Return an option of a program as the command of a systemd unit contains it.

    systemd replaces %p, $NAME and escape sequences such as \\s, and writes a single %, $ and \\ for a doubled one. A
    backslash before a quotation mark is kept: with it, the mark belongs to the option. Line breaks become blanks.
    """
    text = " ".join(str(option).splitlines())
    return re.sub(r"\\(?![\"'])", r"\\\\", text).replace("%", "%%").replace("$", "$$")


def is_closed(text: str) -> bool:
    """Tell whether each quotation mark in a text is closed; else systemd ignores the line with the text."""
    return not re.search(r"[\"']", CLOSED.sub("", text))


def option_words(text: str) -> list[str]:
    """Return the options in a text, as systemd splits what `unit_option` returns; [] if a quotation mark is not closed.

    The quotation marks themselves are removed.
    """
    escaped = re.sub(r"\\(?![\"'])", r"\\\\", text)
    try:
        return shlex.split(escaped) if is_closed(escaped) else []
    except ValueError:  # a mark that is escaped between single quotation marks
        return escaped.split()


def is_one_line(text: str) -> bool:
    """Tell whether systemd reads a value as one setting: lines that follow others begin after a backslash."""
    lines = text.rstrip("\n").split("\n")
    return all(line.endswith("\\") for line in lines[:-1]) and not lines[-1].endswith("\\") and "\r" not in text
