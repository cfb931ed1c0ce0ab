"""What is wrong with an inventory or a host, in one form for people and one for programs; no Ansible import."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

WHOLE = "the whole inventory"


@dataclass(frozen=True)
class Problem:
    """One mistake: where it is, what is wrong, and how to mend it.

    `hosts` is empty for the inventory as a whole; `variable` may go on into the value, as in `kafka_config[acks]`.
    A `value` of None is
    not shown. Warnings stop nothing.
    """

    hosts: tuple[str, ...]
    variable: str
    code: str
    value: Any
    wrong: str
    advice: str
    warning: bool = False

    def where(self, groups: Mapping[str, Sequence[str]]) -> str:
        """Return `host/variable`; the group instead of its hosts where it is all of them."""
        return "/".join(part for part in (place(self.hosts, groups), self.variable) if part)


def place(hosts: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Return a host's name, the name of the group (or two) that consists of just these hosts, or a list."""
    if len(hosts) < 2:
        return hosts[0] if hosts else ""
    wanted = set(hosts)
    for name, members in groups.items():
        if set(members) == wanted:
            return f"group {name}"
    inside = [name for name, members in groups.items() if members and set(members) < wanted]
    pairs = (
        f"groups {one} and {other}"
        for one, other in combinations(inside, 2)
        if {*groups[one], *groups[other]} == wanted
    )
    return next(pairs, ", ".join(hosts))


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Return each mistake once: what is said alike of several hosts is one mistake of them all."""
    hosts: dict[Problem, list[str]] = defaultdict(list)
    for problem in problems:
        hosts[replace(problem, hosts=(), value=str(problem.value) if problem.value is not None else None)] += (
            problem.hosts
        )
    return [replace(problem, hosts=tuple(dict.fromkeys(names))) for problem, names in hosts.items()]


def line(problem: Problem, groups: Mapping[str, Sequence[str]]) -> str:
    """Return `CODE where = value: what is wrong; what to do`."""
    value = "" if problem.value is None else f" = {problem.value}"
    return f"{problem.code} {problem.where(groups) or WHOLE}{value}: {problem.wrong}; {problem.advice}"


def report(problems: Iterable[Problem], groups: Mapping[str, Sequence[str]]) -> str:
    """Return all mistakes by host and then all warnings, under a headline that counts them.

    '' where there is nothing to say.
    """
    found = merged(problems)
    errors, warnings = [p for p in found if not p.warning], [p for p in found if p.warning]
    lines = []
    if errors:
        lines = [f"{count(errors, 'mistake')}; no host was changed:", *by_host(errors, groups)]
    if warnings:
        lines += [f"{count(warnings, 'warning')}:", *by_host(warnings, groups)]
    return "\n".join(lines)


def count(things: Sequence[object], noun: str) -> str:
    """Return `1 mistake`, `2 mistakes`."""
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def by_host(problems: Iterable[Problem], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return each place as a headline with its lines below it."""
    places: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        places[place(problem.hosts, groups)].append(line(problem, groups))
    return [
        text
        for name in sorted(places)
        for text in (f"  {name or WHOLE}", *(f"    {said}" for said in sorted(places[name])))
    ]


def as_json(problems: Iterable[Problem], **more: Any) -> str:
    """Return one line of JSON: {"errors": [{code, hosts, variable, value, wrong, advice}], "warnings": [...], ...}."""
    rows: dict[str, list[dict[str, Any]]] = {"errors": [], "warnings": []}
    for problem in sorted(merged(problems), key=lambda p: (p.hosts, p.variable, p.code)):
        row = {name: getattr(problem, name) for name in ("code", "hosts", "variable", "value", "wrong", "advice")}
        rows["warnings" if problem.warning else "errors"].append(row)
    return json.dumps({**rows, **more}, default=str)
