"""Describes problems of an inventory or a host, and prints them for people and as JSON for programs."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

WHOLE = "the whole inventory"
OWN_NAME = "{{ inventory_hostname }}"
FIELDS = ("code", "hosts", "group", "variable", "value", "message", "advice")  # as JSON


@dataclass(frozen=True)
class Problem:
    """One problem: its place, what is wrong, and how to correct it.

    `hosts` is empty for the inventory as a whole. `variable` may continue into the value: `kafka_config[acks]`.
    A `value` of None is not printed. A warning does not stop the run.

    Create one with a `ProblemKind`. `message` and `advice` are for people, and are only printed: code that decides
    by a problem reads `code`, `hosts`, `variable`, `value` and `details`.
    """

    hosts: tuple[str, ...]
    variable: str
    code: str
    value: Any
    message: str
    advice: str
    warning: bool = False
    group: str = ""
    """The group whose file sets the value, if known; `hosts` are then the hosts for which it is wrong."""
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The values of the placeholders of message and advice, by name; more for code that decides by them."""

    def where(self, groups: Mapping[str, Sequence[str]]) -> str:
        """Return `owner/variable`: the group that sets it, else the host, or the group that its hosts are."""
        owner = f"group {self.group}" if self.group else place(self.hosts, groups)
        return "/".join(part for part in (owner, self.variable) if part)


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem: its code and the templates of its message and advice.

    `message` is what is wrong, `advice` what to do. Both are `str.format` templates whose placeholders are the
    details of a problem; lists and tuples are joined by commas. Each code has one ProblemKind, beside the rule that
    reports it; `variant` is for a case that needs another text.
    """

    code: str
    message: str
    advice: str
    warning: bool = False

    def variant(self, *, message: str = "", advice: str = "") -> ProblemKind:
        """Return this kind with another message or advice."""
        return replace(self, message=message or self.message, advice=advice or self.advice)

    def instead_of(
        self,
        problem: Problem,
        *,
        hosts: Sequence[str] | None = None,
        variable: str | None = None,
        value: Any = None,
        **details: Any,
    ) -> Problem:
        """Return a problem of this kind that replaces another one: its place and details, where none are given."""
        return self.problem(
            problem.hosts if hosts is None else hosts,
            problem.variable if variable is None else variable,
            problem.value if value is None else value,
            group=problem.group,
            warning=problem.warning,
            **{**problem.details, **details},
        )

    def problem(
        self,
        hosts: Sequence[str],
        variable: str,
        value: Any = None,
        *,
        group: str = "",
        warning: bool | None = None,
        **details: Any,
    ) -> Problem:
        """Return a problem of this kind; `warning` overrides the kind's own. Raises KeyError if a detail is missing."""
        texts = {name: _joined(detail) for name, detail in details.items()}
        return Problem(
            tuple(hosts),
            variable,
            self.code,
            value,
            self.message.format_map(texts),
            self.advice.format_map(texts),
            self.warning if warning is None else warning,
            group,
            details,
        )


def _joined(detail: Any) -> Any:
    return ", ".join(map(str, detail)) if isinstance(detail, (list, tuple)) else detail


def place(hosts: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Return the name of a host, the name of the group (or two groups) with exactly these hosts, or a list."""
    if len(hosts) < 2:
        return hosts[0] if hosts else ""
    all_hosts = set(hosts)
    for name, members in groups.items():
        if set(members) == all_hosts:
            return f"group {name}"
    subsets = [name for name, members in groups.items() if members and set(members) < all_hosts]
    pairs = (
        f"groups {first} and {second}"
        for first, second in combinations(subsets, 2)
        if {*groups[first], *groups[second]} == all_hosts
    )
    return next(pairs, ", ".join(hosts))


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Return each problem once, with all hosts that have it; problems that differ in the host's name only count as one.

    The host's name is then replaced by OWN_NAME, as an inventory would write it.
    """
    hosts: dict[Problem, list[str]] = defaultdict(list)
    for problem in problems:
        hosts[replace(problem, hosts=(), value=str(problem.value) if problem.value is not None else None)] += (
            problem.hosts
        )
    return _merged_by_name([replace(problem, hosts=tuple(dict.fromkeys(names))) for problem, names in hosts.items()])


def _merged_by_name(problems: Sequence[Problem]) -> list[Problem]:
    """Return once the problems that differ in the host's own name only, with OWN_NAME in its place."""
    nameless = [_without_name(problem) for problem in problems]
    hosts: dict[Problem, list[str]] = defaultdict(list)
    for problem, same in zip(problems, nameless, strict=True):
        if same is not None:
            hosts[same] += problem.hosts
    result = dict[Problem, None]()
    for problem, same in zip(problems, nameless, strict=True):
        is_shared = same is not None and len(hosts[same]) > 1
        result[replace(same, hosts=tuple(hosts[same])) if same is not None and is_shared else problem] = None
    return list(result)


def _without_name(problem: Problem) -> Problem | None:
    """Return a problem of one host with OWN_NAME for the host's name; None if its texts do not contain the name."""
    if len(problem.hosts) != 1:
        return None
    name = re.compile(rf"(?<![\w.-]){re.escape(problem.hosts[0])}(?![\w-])")
    texts = {key: getattr(problem, key) for key in ("variable", "value", "message", "advice")}
    changed: dict[str, Any] = {key: name.sub(OWN_NAME, text) for key, text in texts.items() if isinstance(text, str)}
    return replace(problem, hosts=(), **changed) if any(texts[key] != text for key, text in changed.items()) else None


def line(problem: Problem, groups: Mapping[str, Sequence[str]]) -> str:
    """Return `CODE where = value: message; advice`."""
    value = "" if problem.value is None else f" = {problem.value}"
    return f"{problem.code} {problem.where(groups) or WHOLE}{value}: {problem.message}; {problem.advice}"


def report(problems: Iterable[Problem], groups: Mapping[str, Sequence[str]]) -> str:
    """Return all errors by host and then all warnings, each under a headline with their number; '' without any."""
    merged_problems = merged(problems)
    errors, warnings = [p for p in merged_problems if not p.warning], [p for p in merged_problems if p.warning]
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
    """Return the lines of problems below the names of their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        name = place(problem.hosts, groups)
        whole = problem.group and name.startswith(("group ", "groups "))
        places[f"group {problem.group}" if whole else name].append(line(problem, groups))
    return [
        text
        for name in sorted(places)
        for text in (f"  {name or WHOLE}", *(f"    {entry}" for entry in sorted(places[name])))
    ]


def as_json(problems: Iterable[Problem], **more: Any) -> str:
    """Return one line of JSON: {"errors": [{code, hosts, group, variable, value, ...}], "warnings": [...], ...}."""
    rows: dict[str, list[dict[str, Any]]] = {"errors": [], "warnings": []}
    for problem in sorted(merged(problems), key=lambda p: (p.hosts, p.variable, p.code)):
        row = {name: getattr(problem, name) for name in FIELDS}
        rows["warnings" if problem.warning else "errors"].append(row)
    return json.dumps({**rows, **more}, default=str)
