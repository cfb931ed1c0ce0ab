"""Variables that are written where no function of the host reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec


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
                    wrong = f"the host is not in group {function.name}, so nothing reads it there"
                    advice = f"write it for group {function.name}, or take it out"
                    yield Problem((host,), name, "VARIABLE_UNREAD", None, wrong, advice, warning=True)
