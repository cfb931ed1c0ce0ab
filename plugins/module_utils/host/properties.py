"""Reads and writes Java's properties files, by the rules of java.util.Properties (load and store).

Kafka and ZooKeeper load them as bytes, which Java reads as ISO 8859-1: characters beyond ASCII are written as \\uXXXX.
"""

from __future__ import annotations

import re

SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}
LONG = {short[1]: character for character, short in SHORT.items()}
# An escape sequence: digits of UTF-16, or one character, which represents itself or white space.
ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
# Up to the first =, : or blank that has no backslash; blanks around it do not count.
PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)


def escaped(text: str) -> str:
    """Return `text` with escape sequences, so that Java reads exactly `text` from a properties file."""
    return "".join(
        SHORT[character]
        if character in SHORT
        else character
        if " " <= character <= "~"
        else re.sub("(....)", r"\\u\1", character.encode("utf-16-be", "surrogatepass").hex())
        for character in text
    )


def line(key: str, value: str) -> str:
    """Return the line `key=value` for a properties file; characters that Java reads unchanged are not escaped."""
    name = re.sub(r"[ =:]|^[#!]", r"\\\g<0>", escaped(key))
    text = re.sub(r"^ ", r"\\ ", escaped(value))
    return f"{name}={text}"


def plain(text: str) -> str:
    """Return the text that Java reads if a properties file contains `text`: escape sequences are resolved."""
    units = ESCAPED.sub(lambda match: character(match[1]), text).encode("utf-16-be", "surrogatepass")
    return units.decode("utf-16-be", "surrogatepass")


def character(after: str) -> str:
    """Return the character of an escape sequence; `after` is the part behind the backslash, as `n` or `u00e9`."""
    return chr(int(after[1:], 16)) if len(after) == 5 else LONG.get(after, after)


def logical_lines(text: str) -> list[str]:
    """Return the lines of a properties file without blank lines and comments.

    A line that ends with an odd number of backslashes continues on the next one; the two are joined.
    """
    lines: list[str] = []
    begun = ""
    for physical in re.split(r"\r\n|\n|\r", text):
        part = physical.lstrip(" \t\f")
        if not begun and (not part or part[0] in "#!"):
            continue
        if (len(part) - len(part.rstrip("\\"))) % 2:
            begun += part[:-1]
            continue
        lines.append(begun + part)
        begun = ""
    return [*lines, begun] if begun else lines


def pairs(text: str) -> list[tuple[str, str]]:
    """Return [(key, value)] as Java reads them, in the order of the file; a key may occur several times."""
    parsed = []
    for logical in logical_lines(text):
        match = PAIR.fullmatch(logical)
        assert match, logical  # every line matches, even an empty one
        parsed.append((plain(match[1]), plain(match[2])))
    return parsed
