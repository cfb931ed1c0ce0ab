"""Templates that fail: where they stand, and what is wrong with them, in the words of people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import written_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import FOLDER
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import Standing, texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.parent_problems import PLUGIN
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

NOBODY = re.compile(r"(\w+_users) has no (.*); it has (.*)")
SECRETLESS = re.compile(r"(\S+) of kafka_users has no password")
LOOP = re.compile(r"Recursive loop")
NO_HOST = re.compile(r"cannot be computed: hostvars\['([^']+)'\]$")


def file_of(value: Any) -> str | None:
    """Return the file that a value is written in, None where that is not known."""
    if path := written_in(value):
        return path
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return next((path for item in items if (path := file_of(item))), None)


def worded(problem: Problem, standing: Standing) -> Problem:
    """Return a template that fails with the file in which it stands, and without what is Python's."""
    if problem.code != "NOT_COMPUTED":
        return problem
    raw = standing.raw(problem.hosts[0])
    path = file_of(raw.get(problem.variable))
    own = path if path and not path.startswith(str(FOLDER)) else None
    wrong, advice = problem.message.rstrip("."), f"correct it in {own}" if own else problem.advice
    if found := SECRETLESS.search(wrong):
        wrong = f"logs in as {found[1]}, who has no password (credential: false)"
        advice = "give the user a password in kafka_users, or log in as another"
        place = _of_the_login(problem, raw, found[1])
        return replace(problem, code="LOGIN_PASSWORD", variable=place, message=wrong, advice=advice)
    if nobody := NOBODY.search(wrong):
        users, name, others = nobody.groups()
        place = _of_the_login(problem, raw, name)
        wrong = f"no user of {users} has this name; they are {others.rstrip('.')}"
        advice = "correct the name, or declare the user"
        return replace(problem, code="LOGIN_UNKNOWN", variable=place, value=name, message=wrong, advice=advice)
    if host := NO_HOST.search(wrong):
        on = standing.on(problem.hosts[0], problem.variable)
        listed = (name for name in on if isinstance(raw.get(name), list) and host[1] in raw[name])
        place, near = next(listed, problem.variable), nearest(host[1], raw["groups"]["all"])
        advice = f"did you mean {near}?" if near else advice if place == problem.variable else "correct the name"
        return replace(problem, variable=place, value=host[1], message="no host of the inventory", advice=advice)
    if LOOP.search(wrong):
        wrong = "cannot be computed: it stands on itself"
    if plugin := PLUGIN.search(wrong):
        names = [name for name in standing.on(problem.hosts[0], problem.variable) if name in raw]
        wrong = f"cannot be computed: {plugin.group(1)} does not take what it is given"
        advice = f"correct what it stands on: {', '.join(name for name in names if name != problem.variable)}"
    return replace(problem, message=wrong, advice=advice)


def _of_the_login(problem: Problem, raw: Mapping[str, Any], user: str) -> str:
    """Return where in a value a user's login is asked for; the value itself where that is not seen."""
    named = re.compile(rf"_login\(\s*['\"]{re.escape(user)}['\"]")
    return _place(problem.variable, raw.get(problem.variable), named) or problem.variable


def _place(name: str, value: Any, named: re.Pattern[str]) -> str | None:
    """Return the place in a value whose template has a text."""
    if isinstance(value, str):
        return name if any(named.search(text) for text in texts(value)) else None
    found = (_place(f"{name}.{key}", item, named) for key, item in value.items()) if isinstance(value, Mapping) else ()
    if isinstance(value, (list, tuple)):
        keys = [item.get("name", number) if isinstance(item, Mapping) else number for number, item in enumerate(value)]
        found = (_place(f"{name}[{key}]", item, named) for key, item in zip(keys, value, strict=True))
    return next((place for place in found if place), None)
