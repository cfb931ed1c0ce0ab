"""Explains why a template fails and in which file it is, without the error texts of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import written_at, written_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import FOLDER
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import NOT_COMPUTED, NOT_COMPUTED_ENCRYPTED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

LOGIN_PASSWORD = ProblemKind(
    "LOGIN_PASSWORD",
    "logs in as {user_without_password}, which has no password (credential: false)",
    "give the user a password in kafka_users, or log in as another user",
)
LOGIN_UNKNOWN = ProblemKind(
    "LOGIN_UNKNOWN",
    "{users} has no user of this name, only {others}",
    "correct the name, or declare the user",
)
LOGIN_UNKNOWN_ABSENT = LOGIN_UNKNOWN.variant(
    message="kafka_users has this user with state: absent: a run would delete it",
    advice="remove state: absent of the user, or log in as another user",
)
NOT_COMPUTED_HOST = NOT_COMPUTED.variant(message="not a host of the inventory")
NOT_COMPUTED_HOST_NEAR = NOT_COMPUTED_HOST.variant(advice="did you mean {near}?")
NOT_COMPUTED_HOST_NAME = NOT_COMPUTED_HOST.variant(advice="correct the name")
NOT_COMPUTED_LOOP = NOT_COMPUTED.variant(message="cannot be computed: it depends on itself")
NOT_COMPUTED_PLUGIN = NOT_COMPUTED.variant(
    message="cannot be computed: {plugin} does not accept its input",
    advice="correct the variables that it uses: {variables}",
)
NOT_COMPUTED_TEXT = NOT_COMPUTED_ENCRYPTED.variant(
    advice="encrypt it again (ansible-vault encrypt_string) in {file}, line {line}"
)
NOT_COMPUTED_FILTER = NOT_COMPUTED.variant(advice="did you mean millrace.kafka.{near}?")
NO_FILTER = re.compile(r"No filter named '(?:[\w.]+\.)?(\w+)'")
IN_FILE = {
    kind: kind.variant(advice="correct it in {file}")
    for kind in (NOT_COMPUTED, NOT_COMPUTED_ENCRYPTED, NOT_COMPUTED_HOST, NOT_COMPUTED_LOOP)
}


def file_of(value: Any) -> str | None:
    """Return the path of the inventory file that sets a value or a part of it; None if the file is unknown."""
    if path := written_in(value):
        return path
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return next((path for item in items if (path := file_of(item))), None)


def explain(problem: Problem, standing: Standing) -> Problem:
    """Return the problem NOT_COMPUTED with the reason why the template fails, and with the site's file in the advice.

    A problem with another code is returned unchanged. `standing` knows the variables of each host, and which variables
    a variable uses.
    """
    if problem.code != NOT_COMPUTED.code:
        return problem
    raw, details = standing.raw(problem.hosts[0]), problem.details
    path = file_of(raw.get(problem.variable))
    file = path if path and not path.startswith(str(FOLDER)) else None
    if details["user_without_password"]:
        place = _place_of_login(problem, raw, details["user_without_password"])
        return LOGIN_PASSWORD.instead_of(problem, variable=place)
    if details["absent_user"]:
        place = _place_of_login(problem, raw, details["absent_user"])
        return LOGIN_UNKNOWN_ABSENT.instead_of(problem, variable=place, value=details["absent_user"])
    if details["unknown_user"]:
        users, name, others = details["unknown_user"]
        place = _place_of_login(problem, raw, name)
        return LOGIN_UNKNOWN.instead_of(problem, variable=place, value=name, users=users, others=others)
    if details["unknown_host"]:
        return _unknown_host(problem, standing, file)
    if details["is_recursive"]:
        return _in_file(NOT_COMPUTED_LOOP, file).instead_of(problem, file=file)
    missing = NO_FILTER.search(details["error"])
    if missing and (near := nearest(missing[1], _filters())):
        return NOT_COMPUTED_FILTER.instead_of(problem, near=near)
    if details["plugin"]:
        used = standing.on(problem.hosts[0], problem.variable)
        variables = [name for name in used if name in raw and name != problem.variable]
        return NOT_COMPUTED_PLUGIN.instead_of(problem, variables=variables)
    if details["is_encrypted"]:
        names = [problem.variable, *standing.on(problem.hosts[0], problem.variable)]
        for place, text in (found for name in names if name in raw for found in _undecryptable(name, raw[name])):
            file, line, _ = written_at(text)
            if file and line:
                return NOT_COMPUTED_TEXT.instead_of(problem, variable=place, file=file, line=line)
    kind = NOT_COMPUTED_ENCRYPTED if details["is_encrypted"] else NOT_COMPUTED
    return _in_file(kind, file).instead_of(problem, file=file)


def _undecryptable(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (place, text) of each encrypted text inside a value that cannot be decrypted."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _undecryptable(f"{place}[{key}]", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield from _undecryptable(f"{place}[{number if name is None else name}]", item)
    else:
        try:
            str(value)
        except Exception:  # which one depends on the version of Ansible
            yield place, value


def _filters() -> list[str]:
    """Return the names of the collection's filters, without its name."""
    return sorted(file.stem for file in (FOLDER.parent / "plugins" / "filter").glob("*.yml"))


def _in_file(kind: ProblemKind, file: str | None) -> ProblemKind:
    """Return the variant of a kind whose advice names the file; `kind` itself if `file` is None."""
    return IN_FILE[kind] if file else kind


def _unknown_host(problem: Problem, standing: Standing, file: str | None) -> Problem:
    """Return the problem of a template that uses a host which is not in the inventory.

    Its place is the list that names the host, or else the variable with the template.
    """
    raw, host = standing.raw(problem.hosts[0]), problem.details["unknown_host"]
    used = standing.on(problem.hosts[0], problem.variable)
    lists = (name for name in used if isinstance(raw.get(name), list) and host in raw[name])
    place, near = next(lists, problem.variable), nearest(host, raw["groups"]["all"])
    if near:
        kind = NOT_COMPUTED_HOST_NEAR
    else:
        kind = _in_file(NOT_COMPUTED_HOST, file) if place == problem.variable else NOT_COMPUTED_HOST_NAME
    return kind.instead_of(problem, variable=place, value=host, near=near, file=file)


def _place_of_login(problem: Problem, raw: Mapping[str, Any], user: str) -> str:
    """Return the place inside the problem's variable where a template uses the login of `user`.

    If another variable has the name of the user, return this variable; if no such template is found, the problem's.
    `raw` are the host's variables as written.
    """
    written = " ".join(texts(raw.get(problem.variable)))
    named: list[str] = re.findall(r"_login\(\s*(\w+)\s*[,)]", written)
    if setting := next((name for name in named if raw.get(name) == user), None):
        return setting
    pattern = re.compile(rf"_login\(\s*['\"]{re.escape(user)}['\"]")
    return _place(problem.variable, raw.get(problem.variable), pattern) or problem.variable


def _place(name: str, value: Any, pattern: re.Pattern[str]) -> str | None:
    """Return the first place inside `value` (at place `name`) whose template matches a pattern; None if none does."""
    if isinstance(value, str):
        return name if any(pattern.search(text) for text in texts(value)) else None
    places = (
        (_place(f"{name}.{key}", item, pattern) for key, item in value.items()) if isinstance(value, Mapping) else ()
    )
    if isinstance(value, (list, tuple)):
        keys = [item.get("name", number) if isinstance(item, Mapping) else number for number, item in enumerate(value)]
        places = (_place(f"{name}[{key}]", item, pattern) for key, item in zip(keys, value, strict=True))
    return next((place for place in places if place), None)
