"""Variables that are written where no function of the host reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, project_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import VARIABLE_SUSPECT
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, role_of, site_words

# Words of the site that playbooks take from a broker.
OF_BROKERS = (
    "kafka_acls",
    "kafka_cluster_id",
    "kafka_dynamic_config",
    "kafka_prune",
    "kafka_quotas",
    "kafka_topic_defaults",
    "kafka_topics",
    "kafka_users",
)
LIVE = {"hostvars", "groups", "vars"}  # of the run
VARIABLE_SUSPECT_DICT = VARIABLE_SUSPECT.variant(
    message="nothing of this project reads a dict of this name: each input is a variable of its own",
    advice="write {name}_{key}: ... and so on",
)


def texts_for_switches(raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Yield switches that are written as a text, and false, where a template of the site takes any text for true."""
    for host in model.function_hosts:
        for name in sorted(switches() & raw[host].keys()):
            value = raw[host][name]
            if not isinstance(value, str) or switch(value) is not False:
                continue
            unread = re.compile(rf"\b{name}\b(?!\s*(\|\s*default\([^)]*\)\s*)?\|\s*bool\b)")
            for variable in sorted(raw[host].keys() & model.names[host] - project_variables() - LIVE):
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
            for name in (*argument_spec(role), *(OF_BROKERS if function.name == "kafka" else ())):
                known: list[Any] = []
                for host in readers:
                    if name in raw[host] and not any(raw[host][name] is value for value in known):
                        known.append(raw[host][name])
                found = [host for host in others if name in model.names[host] and raw[host][name] not in known]
                if known and len(found) == len(others):
                    continue
                for host in found:
                    if _named(raw[host], model.names[host] - project_variables(), name):
                        continue
                    wrong = f"the host is not in group {function.name}, so nothing reads it there"
                    advice = f"write it for group {function.name}, or take it out"
                    yield Problem((host,), name, "VARIABLE_UNREAD", None, wrong, advice)


def unread_names(found: Iterable[Problem], raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Leave out what is said of a name that is nobody's, where a template of the site reads it: it is its own."""
    for problem in found:
        hosts = problem.hosts if problem.code == "VARIABLE_SUSPECT" else ()
        if not any(_named(raw[host], model.names[host] - project_variables(), problem.variable) for host in hosts):
            yield problem


def mappings(raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Yield mappings that are called as a function or a role, but for words of the site: inputs stand by themselves."""
    known = {*functions(), *role_of().values(), *(function.prefix for function in functions().values())}
    known -= site_words().keys()
    for host in model.function_hosts:
        for name in sorted(known & raw[host].keys() & model.names[host]):
            value = raw[host][name]
            asked = re.compile(rf"(?<![\w.'\"]){name}\b")  # not millrace.kafka, nor groups['kafka']
            own = model.names[host] - project_variables() - LIVE
            read = any(asked.search(text) for other in own & raw[host].keys() for text in texts(raw[host][other]))
            if isinstance(value, Mapping) and value and not read:
                key = next(iter(value))
                yield VARIABLE_SUSPECT_DICT.problem((host,), name, name=name, key=key)


def _named(raw: Mapping[str, Any], written: frozenset[str], name: str) -> bool:
    """Tell whether a template that the site wrote reads a variable of the host."""
    asked = re.compile(rf"\b{re.escape(name)}\b")
    return any(asked.search(text) for other in written & raw.keys() - {name, *LIVE} for text in texts(raw[other]))
