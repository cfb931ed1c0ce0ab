"""Variables that are written where no function of the host reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, laid
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.causes import texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, role_of, site_words

LIVE = {"hostvars", "groups", "vars"}  # of the run


def texts_for_switches(raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Yield switches that are written as a text, and false, where a template of the site takes any text for true."""
    for host in model.function_hosts:
        for name in sorted(switches() & raw[host].keys()):
            value = raw[host][name]
            if not isinstance(value, str) or switch(value) is not False:
                continue
            unread = re.compile(rf"\b{name}\b(?!\s*(\|\s*default\([^)]*\)\s*)?\|\s*bool\b)")
            for variable in sorted(raw[host].keys() & model.names[host] - laid() - LIVE):
                if any(unread.search(text) for text in texts(raw[host][variable])):
                    wrong = f"a text, and {variable} takes any text for true: it does not read {name} | bool"
                    yield Problem((host,), name, "BOOLEAN_TEXT", repr(str(value)), wrong, "write it without quotes")


@cache
def switches() -> frozenset[str]:
    """Return the names of all inputs and words of the site that are true or false."""
    specs = [site_words(), *(argument_spec(role) for role in set(role_of().values()))]
    return frozenset(name for spec in specs for name, option in spec.items() if option.get("type") == "bool")


def unread(raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Yield inputs of roles that are written for hosts which do not get the role.

    What is written for all hosts is left out: some host that does not get the role either has another value, or none.
    `raw` are the variables of all hosts as they are written.
    """
    for function in functions().values():
        readers = model.groups[function.name]
        others = [host for host in model.function_hosts if host not in readers] if readers else []
        shared = {role for other in functions().values() if other is not function for role in other.roles}
        for role in sorted(set(function.roles) - shared):
            for name in argument_spec(role):
                known: list[Any] = []
                for host in readers:
                    if name in raw[host] and not any(raw[host][name] is value for value in known):
                        known.append(raw[host][name])
                found = [host for host in others if name in model.names[host] and raw[host][name] not in known]
                if known and len(found) == len(others):
                    continue
                for host in found:
                    if _named(raw[host], model.names[host] - laid(), name):
                        continue
                    wrong = f"the host is not in group {function.name}, so nothing reads it there"
                    advice = f"write it for group {function.name}, or take it out"
                    yield Problem((host,), name, "VARIABLE_UNREAD", None, wrong, advice, warning=True)


def _named(raw: Mapping[str, Any], written: frozenset[str], name: str) -> bool:
    """Tell whether a template that the site wrote reads a variable of the host."""
    asked = re.compile(rf"\b{name}\b")
    return any(asked.search(text) for other in written & raw.keys() - {name, *LIVE} for text in texts(raw[other]))
