"""Hides the texts that ansible-vault encrypted in the inventory: no problem prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import (
    UntoldError,
    was_vaulted,
    with_tags_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing, base
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, written
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

HIDDEN = "***"
# A shorter text, such as `lab` or 3, is a secret only where its own variable is reported.
LEAST = 6
# Between the parts of a value that a rule may print alone: options of a JVM, entries of a list, NAME=value.
BETWEEN = re.compile(r"[\s,;=:'\"\[\]{}()]+")
OWN = ("hostvars", "groups")


def without_encrypted(problems: Iterable[Problem], reader: Reader) -> list[Problem]:
    """Return the problems with *** in place of each encrypted text of the inventory.

    Of the variable of a problem, and of the variables that its templates use, the parts of an encrypted text are hidden
    too. `reader` reads the inventory.
    """
    found = list(problems)
    texts = _Texts(reader) if found else None
    return [_hide(problem, *texts.of_problem(problem)) for problem in found] if texts and texts.all else found


def encrypted_texts(reader: Reader) -> frozenset[str]:
    """Return the texts of the inventory that ansible-vault encrypted."""
    return _Texts(reader).all


class _Texts:
    """The encrypted texts in the variables of an inventory."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._standing = reader, Standing(reader.raw)
        self._known: dict[int, frozenset[str]] = {}  # hosts share most values
        hosts = reader.all_groups["all"]
        self.all = frozenset[str]().union(*(self._of(value) for host in hosts for value in _values(reader.raw(host))))

    def of_problem(self, problem: Problem) -> tuple[frozenset[str], frozenset[str]]:
        """Return (the texts on which the variable of the problem depends, the other texts of the inventory)."""
        name = base(problem.variable)
        values = (
            self._reader.raw(host).get(used)
            for host in problem.hosts or self._reader.all_groups["all"]
            for used in self._standing.on(host, name)
            if used not in OWN
        )
        own = frozenset[str]().union(*(self._of(value) for value in values))
        return own, frozenset(text for text in self.all - own if len(text) >= LEAST)

    def _of(self, value: Any) -> frozenset[str]:
        if id(value) not in self._known:
            self._known[id(value)] = frozenset(text for text in _scalars(value) if text.strip() and self._is(text))
        return self._known[id(value)]

    def _is(self, text: str) -> bool:
        try:
            return was_vaulted(text)
        except UntoldError:
            return self._reader.files.is_vaulted(text)


def _values(raw: Mapping[str, Any]) -> Iterator[Any]:
    return (value for name, value in raw.items() if name not in OWN)


def _scalars(value: Any) -> Iterator[str]:
    """Yield each text and number inside a value as a text with the tags of its origin."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield with_tags_of(value, str(value))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _scalars(item)


def _hide(problem: Problem, own: frozenset[str], others: frozenset[str]) -> Problem:
    """Return the problem with *** in place of the texts in `own`, of their parts, and of the texts in `others`.

    Words of the message that do not come from a value are kept.
    """
    values = [problem.value, problem.variable, *problem.details.values()]
    shown = "\n".join(written(value) for value in values)
    forms = {form for text in own for form in _forms(text)} | {form for text in others for form in _written(text)}
    secret = sorted((form for form in forms if _pattern([form]).search(shown)), key=len, reverse=True)
    if not secret:
        return problem
    pattern = _pattern(secret)
    return replace(
        problem,
        variable=pattern.sub(HIDDEN, problem.variable),
        value=_without(problem.value, pattern),
        message=pattern.sub(HIDDEN, problem.message),
        advice=pattern.sub(HIDDEN, problem.advice),
        details={name: _without(detail, pattern) for name, detail in problem.details.items()},
    )


def _pattern(texts: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of these texts, in upper or lower case; a short one must not be a part of a longer word."""
    patterns = (
        re.escape(text) if len(text) >= LEAST else rf"(?<![\w.-]){re.escape(text)}(?![\w-]|\.\w)" for text in texts
    )
    return re.compile("|".join(patterns), re.IGNORECASE)


def _forms(text: str) -> Iterator[str]:
    """Yield the forms in which a rule may print a text: as written, its parts, and the value that a switch means."""
    yield from _written(text)
    yield from (part for part in (*text.split(), *BETWEEN.split(text)) if part)
    if (value := switch(text)) is not None:
        yield str(value).lower()


def _written(text: str) -> Iterator[str]:
    """Yield a text as it is, and as JSON and Python write it, without quotes."""
    plain = str(text).strip()
    yield from (plain, json.dumps(plain, ensure_ascii=False)[1:-1], repr(plain)[1:-1])


def _without(value: Any, pattern: re.Pattern[str]) -> Any:
    """Return a value with *** in place of the texts of `pattern`; a number or switch that matches becomes a text."""
    if isinstance(value, Mapping):
        return {key: _without(item, pattern) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_without(item, pattern) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if value is None or (not isinstance(value, str) and not pattern.fullmatch(written(value))):
        return value
    return pattern.sub(HIDDEN, written(value))
