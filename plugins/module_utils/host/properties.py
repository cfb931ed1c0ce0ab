"""Java's properties files, by the rules of java.util.Properties (its load and store); no Ansible import.

Kafka and ZooKeeper load theirs as bytes, which Java reads as ISO 8859-1: everything beyond ASCII is written as \\uXXXX.
"""

from __future__ import annotations

import re

SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}
LONG = {short[1]: character for character, short in SHORT.items()}
# A backslash with what it stands before: digits of UTF-16, or one character, which stands for itself or for a blank.
ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
# Up to the first =, : or blank that has no backslash; blanks around it do not count.
PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)


def escaped(text: str) -> str:
    """Return a text in which Java finds every character again."""
    return "".join(
        SHORT[character]
        if character in SHORT
        else character
        if " " <= character <= "~"
        else re.sub("(....)", r"\\u\1", character.encode("utf-16-be", "surrogatepass").hex())
        for character in text
    )


def line(key: str, value: str) -> str:
    """Return the line `key=value`; what Java reads as it stands, which is most, is not escaped."""
    name = re.sub(r"[ =:]|^[#!]", r"\\\g<0>", escaped(key))
    text = re.sub(r"^ ", r"\\ ", escaped(value))
    return f"{name}={text}"


def plain(text: str) -> str:
    """Return what Java reads from an escaped text."""
    units = ESCAPED.sub(lambda found: character(found[1]), text).encode("utf-16-be", "surrogatepass")
    return units.decode("utf-16-be", "surrogatepass")


def character(after: str) -> str:
    """Return what stands for a backslash and what is after it."""
    return chr(int(after[1:], 16)) if len(after) == 5 else LONG.get(after, after)


def logical_lines(text: str) -> list[str]:
    """Return lines that are not blank and no comments; after an odd number of backslashes one goes on in the next."""
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
    """Return keys and values as Java reads them, in the order of the file; of a key that is there twice, both."""
    found = []
    for logical in logical_lines(text):
        match = PAIR.fullmatch(logical)
        assert match, logical  # every line is a key, an empty one too
        found.append((plain(match[1]), plain(match[2])))
    return found
