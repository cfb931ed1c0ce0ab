"""Finds values that YAML reads as numbers other than those written: 010 as 8, 1:30 as 90, the name 1.10 as 1.1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import UntoldError, place_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed_values import Option, kind
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, role_of, site_words

# Integers of base 8 and 60 in YAML 1.1. 0x and 0b show their base, so these are intended.
OPAQUE: Option = {"type": "raw"}
OTHER_BASE = re.compile(r"[-+]?(0[0-7_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)")
# Texts of argument specs that may be amounts, and versions, which no argument spec declares.
AMOUNTS = re.compile(r"(bytes|days|heap|interval|limit|memory|ms|nofile|percentage|rate|size|timeout)\W*$")
VERSIONS = re.compile(r"version\W*$")
WRITTEN = re.compile(r"[-+]?[0-9.][\w.:+-]*")
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # an anchor and a tag before the value, as in `&a !!float 1.10`

NUMBER_OTHER = ProblemKind(
    "NUMBER_OTHER",
    "YAML reads a number with a leading 0 in base 8, here as {number}",
    "write {decimal}, or put it in quotes if the zeros belong to it",
)
NUMBER_OTHER_TEXT = NUMBER_OTHER.variant(
    message="YAML reads this text as a number, and the text would become {number}", advice="put it in quotes"
)
NUMBER_OTHER_DECIMAL = NUMBER_OTHER.variant(advice="write {decimal}")
NUMBER_OTHER_BASE_60 = NUMBER_OTHER.variant(
    message="YAML reads it as {number}, in base 60",
    advice="write a number without a colon, or put it in quotes if it is a text",
)
NUMBER_OTHER_BASE_60_TEXT = NUMBER_OTHER_BASE_60.variant(advice="put it in quotes")
NUMBER_OTHER_BASE_60_NUMBER = NUMBER_OTHER_BASE_60.variant(advice="write a number without a colon, such as {number}")
# By what the argument spec declares: the problem of a number in base 8 or of a text, and that of one in base 60.
KINDS = {
    "text": (NUMBER_OTHER_TEXT, NUMBER_OTHER_BASE_60_TEXT),
    "number": (NUMBER_OTHER_DECIMAL, NUMBER_OTHER_BASE_60_NUMBER),
    "any": (NUMBER_OTHER, NUMBER_OTHER_BASE_60),
}
NUMBER_OTHER_TIME = NUMBER_OTHER_TEXT.variant(
    message="YAML reads this text as a time, and the text would become {number}"
)
NUMBER_OTHER_SECRET = NUMBER_OTHER_TEXT.variant(message="YAML does not read this as a text, and would change it")
SECRET = re.compile(r"^vault\b|password\W*$")


def other_bases(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each number in a site variable or role input that YAML reads in base 8 or 60.

    Also yield a problem for each name or other text, by its argument spec, that YAML reads as a number which is written
    in another way.
    """
    for host in model.function_hosts:
        raw = reader.raw(host)
        for name in model.known & raw.keys() & model.names[host]:
            for place, number, text, declared in _numbers(name, raw[name], _option(name), reader):
                problem = KINDS[declared][":" in text]
                decimal = text.replace("_", "").lstrip("+-0") or "0"
                if SECRET.search(place):
                    yield NUMBER_OTHER_SECRET.problem((host,), place)
                elif isinstance(number, date):
                    yield NUMBER_OTHER_TIME.problem((host,), place, text, number=number)
                else:
                    yield problem.problem((host,), place, text, number=number, decimal=decimal)


def _option(name: str) -> Option:
    """Return the argument spec of a variable; {} if it has none."""
    role = role_of().get(name)
    return site_words().get(name) or (argument_spec(role)[name] if role else {})


def _numbers(
    place: str, value: Any, option: Option, reader: Reader
) -> Iterator[tuple[str, int | float | date, str, str]]:
    """Yield (place, number or time, text in the file, key of KINDS) of each such one inside `value`.

    `option` is the argument spec of the value, {} if it has none.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number, text = value + 0, _text(place, value, reader)  # a number without Ansible's tags
        if (kind(option or OPAQUE) == "str" and not AMOUNTS.search(place)) or (not option and VERSIONS.search(place)):
            if text and text != str(number):
                yield place, number, text, "text"
        elif isinstance(value, int) and OTHER_BASE.fullmatch(text) and (":" in text or int(text) != value):
            is_number = kind(option or OPAQUE) in ("int", "float") or AMOUNTS.search(place)
            yield place, number, text, "number" if is_number else "any"
    elif isinstance(value, date):
        text = _text(place, value, reader)
        if kind(option or OPAQUE) == "str" and text and text != str(value):
            yield place, value, text, "text"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(f"{place}[{key}]", item, (option.get("options") or {}).get(key, {}), reader)
    elif isinstance(value, (list, tuple)):
        element = {"type": option["elements"], "options": option.get("options")} if "elements" in option else {}
        for number, item in enumerate(value):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield from _numbers(f"{place}[{number if name is None else name}]", item, element, reader)


def _text(place: str, value: int | float | date, reader: Reader) -> str:
    """Return a number or time of the inventory as written in its file; '' if it was computed or passed with -e."""
    try:
        path, line, column = place_of(value)
    except UntoldError:
        written = (text for text in reader.files.numbers(place) if WRITTEN.fullmatch(text))
        return next((text for text in written if yaml.safe_load(text) == value), "")
    lines = _lines(path) if path and line and column else ()
    if not (line and column and line <= len(lines)):
        return ""
    match = WRITTEN.match(PROPERTIES.sub("", lines[line - 1][column - 1 :], count=1))
    return match[0] if match else ""


@cache
def _lines(path: str) -> tuple[str, ...]:
    """Return the lines of a file; () if it cannot be read as text, or is encrypted as a whole."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return () if text.startswith("$ANSIBLE_VAULT") else tuple(text.splitlines())
