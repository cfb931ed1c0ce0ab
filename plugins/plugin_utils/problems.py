"""Describes problems of an inventory or a host, and prints them as text and as JSON."""

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
URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)(?![$%{])[^/\s@]+@")
SEPARATOR = ";"  # between the message and the advice of a problem, and nowhere else
# A number, at most one adjective, and a noun: the noun loses its s if the number is 1.
COUNTED = re.compile(
    r"(\{(\w+)\} (?:[a-z-]+ )?(?:broker|byte|character|connection|day|file|group|host|hour|partition|rack|replica"
    r"|second|server|slot|thread))s\b"
)


@dataclass(frozen=True)
class Problem:
    """One problem of an inventory or host: its place, what is wrong, and how to correct it.

    `hosts` is empty for a problem of the whole inventory. `variable` may name a part of the value, as
    `kafka_config[acks]` does. A `value` of None is not printed. If `warning` is true, the run continues.

    Create a Problem with a `ProblemKind`. `message` and `advice` are texts for people; code decides by `code`, `hosts`,
    `variable`, `value` and `details`.
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
    """{placeholder: value} for the message and advice, and further values by which code decides."""

    def where(self, groups: Mapping[str, Sequence[str]]) -> str:
        """Return the place of the problem as `owner/variable`.

        The owner is the group that sets the value, if known; otherwise the host, the group with exactly the problem's
        hosts, or a list of the hosts. `groups` is {group: hosts}.
        """
        owner = f"group {self.group}" if self.group else place(self.hosts, groups)
        return "/".join(part for part in (owner, self.variable) if part)


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem: its code, and the templates of its message (what is wrong) and advice (what to do).

    The templates are for `str.format`; the details of a problem fill their placeholders, lists joined by commas. Each
    code has one ProblemKind, defined next to the rule that reports it; `variant` returns a copy with another text.
    No template contains the SEPARATOR of message and advice.
    """

    code: str
    message: str
    advice: str
    warning: bool = False

    def variant(self, *, message: str = "", advice: str = "") -> ProblemKind:
        """Return a copy of this kind (same code) with another message or advice; '' keeps the text."""
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
        """Return a problem of this kind to report in place of `problem`.

        Hosts, variable, value and details are those of `problem`, except where an argument replaces them.
        """
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
        """Return a problem of this kind; `details` are {placeholder: value} for its message and advice.

        `group` is the group that sets the value, if known. `warning` overrides whether problems of this kind are
        warnings. Raises KeyError if a placeholder has no detail.
        """
        texts = {name: _joined(detail) for name, detail in details.items()}
        return Problem(
            tuple(hosts),
            variable,
            self.code,
            value,
            _counted(self.message, details).format_map(texts),
            _counted(self.advice, details).format_map(texts),
            self.warning if warning is None else warning,
            group,
            details,
        )


def _joined(detail: Any) -> Any:
    """Return a detail as it is printed: entries of a list joined by commas, a dict as in YAML, numbers unchanged."""
    if isinstance(detail, (list, tuple)):
        return ", ".join(map(written, detail))
    return written(detail) if isinstance(detail, (bool, Mapping)) else detail


def _counted(template: str, details: Mapping[str, Any]) -> str:
    """Return a template with the singular of each noun whose number is 1: `1 replica` instead of `1 replicas`."""
    return COUNTED.sub(lambda match: match[1] if str(details.get(match[2])) == "1" else match[0], template)


def written(value: Any) -> str:
    """Return a value as an inventory would contain it, in YAML's flow style: `[a, b]`, `{a: 1}`, `true`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{written(key)}: {_quoted(written(item))}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(_quoted(written(item)) for item in value)}]"
    return str(value)


def _quoted(text: str) -> str:
    """Return a text on one line, in quotes if it would be invisible otherwise."""
    if "\n" in text:
        return json.dumps(text, ensure_ascii=False)
    return text if text and text == text.strip() else f"'{text}'"


def place(hosts: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Return a short text for `hosts`: one host, the group or the two groups with exactly these hosts, or a list.

    `groups` is {group: hosts}. Returns '' if there are no hosts.
    """
    if len(hosts) < 2:
        return hosts[0] if hosts else ""
    all_hosts = set(hosts)
    equal = [name for name, members in groups.items() if set(members) == all_hosts]
    if equal:
        return f"group {'all' if 'all' in equal else equal[0]}"
    subsets = [name for name, members in groups.items() if members and set(members) < all_hosts]
    pairs = (
        f"groups {first} and {second}"
        for first, second in combinations(subsets, 2)
        if {*groups[first], *groups[second]} == all_hosts
    )
    return next(pairs, ", ".join(hosts))


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems without repetitions: equal problems of several hosts become one problem with these hosts.

    Problems whose texts differ only in the name of their host count as equal; OWN_NAME replaces the name in their
    texts.
    """
    hosts: dict[Problem, list[str]] = defaultdict(list)
    for problem in problems:
        hosts[replace(problem, hosts=(), value=written(problem.value) if problem.value is not None else None)] += (
            problem.hosts
        )
    return _merged_by_name([replace(problem, hosts=tuple(dict.fromkeys(names))) for problem, names in hosts.items()])


def _merged_by_name(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems, with those that differ only in the host's own name merged into one with OWN_NAME."""
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
    """Return a problem of a single host with OWN_NAME in place of the host's name.

    Returns None if the problem has several hosts, or if its texts do not contain the name.
    """
    if len(problem.hosts) != 1:
        return None
    name = re.compile(rf"(?<![\w.-]){re.escape(problem.hosts[0])}(?![\w-])")
    texts = {key: getattr(problem, key) for key in ("variable", "value", "message", "advice")}
    changed: dict[str, Any] = {key: name.sub(OWN_NAME, text) for key, text in texts.items() if isinstance(text, str)}
    return replace(problem, hosts=(), **changed) if any(texts[key] != text for key, text in changed.items()) else None


def line(problem: Problem, groups: Mapping[str, Sequence[str]]) -> str:
    """Return a problem as one line: `CODE where = value: message; advice`; `groups` is {group: hosts}.

    The password in a URL is hidden.
    """
    value = "" if problem.value is None else f" = {_quoted(written(problem.value))}"
    text = f"{problem.code} {problem.where(groups) or WHOLE}{value}: {problem.message}{SEPARATOR} {problem.advice}"
    return URL_PASSWORD.sub(r"\1***@", text)


def report(problems: Iterable[Problem], groups: Mapping[str, Sequence[str]]) -> str:
    """Return the text that preflight prints: all errors, then all warnings, each grouped by host.

    `groups` is {group: hosts}. Returns '' if there are no problems.
    """
    merged_problems = merged(problems)
    errors, warnings = [p for p in merged_problems if not p.warning], [p for p in merged_problems if p.warning]
    lines = []
    if errors:
        lines = [f"{count(errors, 'mistake')}; no host was changed:", *by_host(errors, groups)]
    if warnings:
        lines += [f"{count(warnings, 'warning')}:", *by_host(warnings, groups)]
    return "\n".join(lines)


def count(things: Sequence[object], noun: str) -> str:
    """Return the number of things with a noun in singular or plural, such as `1 mistake` or `2 mistakes`."""
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def count_of(number: int, noun: str) -> str:
    """Return a number with a noun in singular or plural, such as `1 broker` or `2 brokers`."""
    return count(range(number), noun)


def by_host(problems: Iterable[Problem], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return lines of the report: the name of each host or group, followed by its problems, indented.

    `groups` is {group: hosts}.
    """
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
    """Return the problems as one line of JSON: {"errors": [...], "warnings": [...]}.

    Each entry of the two lists has the keys in FIELDS. `more` are further keys and values of the outer JSON object.
    """
    rows: dict[str, list[dict[str, Any]]] = {"errors": [], "warnings": []}
    for problem in sorted(merged(problems), key=lambda p: (p.hosts, p.variable, p.code)):
        row = {name: getattr(problem, name) for name in FIELDS}
        rows["warnings" if problem.warning else "errors"].append(row)
    return json.dumps({**rows, **more}, default=str)
