"""Finds all variable files that Ansible cannot parse: Ansible reports only the first, without its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError

TWICE = re.compile(r"Found duplicate mapping key '(.*)'")
# Advice by a part of YAML's message, for texts that begin with a sign of YAML.
QUOTED = {
    "tag:yaml.org,2002:value": "put = in quotes: alone it has a meaning in YAML",
    "tag:yaml.org,2002:merge": "put << in quotes: as a value it has no meaning in YAML",
    "undefined alias": "put the text in quotes: YAML reads a text that begins with * as an alias",
    "cannot start any token": "put the text in quotes: no text without quotes may begin with @, ` or %",
}
SUFFIXES = ("", ".yml", ".yaml", ".json")  # that Ansible reads


def faults(folder: Path, names: Collection[str], loader: Any) -> Iterator[str]:
    """Yield an error for each file in group_vars and host_vars of the inventory `folder` that Ansible cannot parse.

    An error is a text `file:line: what is wrong; what to do`. `names` are the groups and hosts of the inventory,
    `loader` is Ansible's DataLoader. Files that are encrypted as a whole are skipped.
    """
    for kind in ("group_vars", "host_vars"):
        for place in sorted((folder / kind).glob("[!.]*")):
            if (place.name if place.is_dir() else place.stem) in names:
                for file in [place] if place.is_file() else sorted(place.rglob("[!.]*")):
                    if file.is_file() and file.suffix in SUFFIXES:
                        yield from _faults(file, loader)


def _faults(file: Path, loader: Any) -> Iterator[str]:
    with file.open("rb") as stream:
        if stream.read(14) == b"$ANSIBLE_VAULT":
            return
    try:
        content = loader.load_from_file(str(file), cache="all", unsafe=True, trusted_as_template=True)
    except (AnsibleError, UnicodeDecodeError) as error:
        where = getattr(error, "obj", None) or file
        reason = str(error).splitlines()[0].removeprefix("YAML parsing failed: ").rstrip(".")
        if (twice := TWICE.match(reason)) and (first := _first(file, twice[1], where)):
            yield f"{where}: {twice[1]} is set twice, first in line {first}; keep one of the two"
        else:
            advice = next(
                (text for sign, text in QUOTED.items() if sign in reason), "correct that line or the one above it"
            )
            yield f"{where}: invalid YAML: {reason}; {advice}"
        return
    if content is not None and not isinstance(content, Mapping):
        kind = "a list" if isinstance(content, list) else "a text"
        yield f"{file}: {kind} instead of variables; write them as name: value"


def _first(file: Path, key: str, where: Any) -> int | None:
    """Return the line number of the earlier entry with the same key, for a key that is set twice in a YAML file.

    `where` is the position of the second entry. Returns None if no earlier line has the key at the same indentation.
    """
    line, column = (getattr(where, name, None) for name in ("line_num", "col_num"))
    begin = re.compile(rf" {{{(column or 1) - 1}}}['\"]?{re.escape(key)}['\"]?\s*:")
    above = file.read_text(encoding="utf-8", errors="replace").splitlines()[: (line or 1) - 1]
    return next((number for number, text in reversed([*enumerate(above, 1)]) if begin.match(text)), None)
