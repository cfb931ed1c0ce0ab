"""Finds variables that no function of the host reads, and texts such as 'false' that a template treats as true."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, project_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import VARIABLE_SUSPECT
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, role_of, site_words
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import same

# Site variables that playbooks read from a broker.
BROKER_VARIABLES = (
    "kafka_acls",
    "kafka_cluster_id",
    "kafka_dynamic_config",
    "kafka_prune",
    "kafka_quotas",
    "kafka_topic_defaults",
    "kafka_topics",
    "kafka_users",
)
RUN_VARIABLES = {"hostvars", "groups", "vars"}
VARIABLE_SUSPECT_DICT = VARIABLE_SUSPECT.variant(
    message="nothing of this project reads a dict of this name: each input is a variable of its own",
    advice="write {name}_{key}: ... and so on",
)


BOOLEAN_TEXT = ProblemKind(
    "BOOLEAN_TEXT",
    "a text, not a boolean: {variable_of_site} uses {switch} without `| bool`, so any text counts as true",
    "write it without quotes",
)


def text_switches(raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Yield a problem for each text such as 'false' in a switch that a template of the site treats as true.

    A switch is a variable of type bool. `raw` is {host: its variables before templating}.
    """
    for host in model.function_hosts:
        for name in sorted(switches() & raw[host].keys()):
            value = raw[host][name]
            if not isinstance(value, str) or switch(value) is not False:
                continue
            without_bool = re.compile(rf"\b{name}\b(?!\s*(\|\s*default\([^)]*\)\s*)?\|\s*bool\b)")
            for variable in sorted(raw[host].keys() & model.names[host] - project_variables() - RUN_VARIABLES):
                if any(without_bool.search(text) for text in texts(raw[host][variable])):
                    shown = repr(str(value))
                    yield BOOLEAN_TEXT.problem((host,), name, shown, variable_of_site=variable, switch=name)


@cache
def switches() -> frozenset[str]:
    """Return the names of all switches: the role inputs and site variables whose type is bool."""
    specs = [site_words(), *(argument_spec(role) for role in set(role_of().values()))]
    return frozenset(name for spec in specs for name, option in spec.items() if option.get("type") == "bool")


VARIABLE_UNREAD = ProblemKind(
    "VARIABLE_UNREAD",
    "the host is not in group {function}, so nothing reads it there",
    "set it for group {function}, or remove it",
)


def unread_inputs(raw: Mapping[str, Mapping[str, Any]], reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each role input that is set on a host without this role.

    An input that all hosts have is no problem, because it is intended for all hosts. Neither is an input of a group for
    hosts of several functions, see `_is_of_several`. `raw` is {host: its variables before templating}.
    """
    for function in functions().values():
        readers = model.groups[function.name]
        others = [host for host in model.function_hosts if host not in readers] if readers else []
        shared = {role for other in functions().values() if other is not function for role in other.roles}
        for role in sorted(set(function.roles) - shared):
            for name in (*argument_spec(role), *(BROKER_VARIABLES if function.name == "kafka" else ())):
                known: list[Any] = []
                for host in readers:
                    if name in raw[host] and not any(raw[host][name] is value for value in known):
                        known.append(raw[host][name])
                named = (host for host in others if name in model.names[host])
                hosts = [host for host in named if not any(same(raw[host][name], value) for value in known)]
                if known and len(hosts) == len(others):
                    continue
                for host in hosts:
                    is_used = _is_used(raw[host], model.names[host] - project_variables(), name)
                    if not is_used and not _is_of_several(host, name, reader, model, readers):
                        yield VARIABLE_UNREAD.problem((host,), name, function=function.name)


def _is_of_several(host: str, name: str, reader: Reader, model: Model, readers: Collection[str]) -> bool:
    """Tell whether the group that sets a variable of `host` sets it for a place, not for the function of the host.

    Such a group has hosts that read the variable (`readers`), or hosts of several functions, or it is a datacenter or
    rack.
    """
    values, raw = reader.values_by_group(), reader.raw(host)
    setters = [group for group in reader.groups_of(host) if name in values.get(group, {})]
    if not setters or values[setters[-1]][name] != raw[name]:
        return False
    members = set(model.all_groups.get(setters[-1], ()))
    is_place = not values[setters[-1]].keys().isdisjoint(("datacenter", "rack"))
    of_one_function = any(members <= set(hosts) for hosts in model.groups.values())
    return is_place or not of_one_function or not members.isdisjoint(readers)


def without_used_names(
    problems: Iterable[Problem], raw: Mapping[str, Mapping[str, Any]], model: Model
) -> Iterator[Problem]:
    """Yield `problems`, except problems of unknown variables that a template of the site uses.

    The site declared such variables for its own use. `raw` is {host: its variables before templating}.
    """
    for problem in problems:
        hosts = problem.hosts if problem.code == VARIABLE_SUSPECT.code else ()
        if not any(_is_used(raw[host], model.names[host] - project_variables(), problem.variable) for host in hosts):
            yield problem


def role_mappings(raw: Mapping[str, Mapping[str, Any]], model: Model) -> Iterator[Problem]:
    """Yield a problem for each dict with the name of a function or role, such as `kafka: {heap: 4g}`.

    Inputs are separate variables (kafka_heap), so nothing reads such a dict. `raw` is {host: its variables before
    templating}.
    """
    known = {*functions(), *role_of().values(), *(function.prefix for function in functions().values())}
    known -= site_words().keys()
    for host in model.function_hosts:
        for name in sorted(known & raw[host].keys() & model.names[host]):
            value = raw[host][name]
            pattern = re.compile(rf"(?<![\w.'\"]){name}\b")  # neither millrace.kafka nor groups['kafka']
            own = model.names[host] - project_variables() - RUN_VARIABLES
            is_used = any(pattern.search(text) for other in own & raw[host].keys() for text in texts(raw[host][other]))
            if isinstance(value, Mapping) and value and not is_used:
                key = next(iter(value))
                yield VARIABLE_SUSPECT_DICT.problem((host,), name, name=name, key=key)


def _is_used(raw: Mapping[str, Any], names: frozenset[str], name: str) -> bool:
    """Tell whether a template in one of the variables `names` of a host uses the variable `name`.

    `raw` are the host's variables as written.
    """
    pattern = re.compile(rf"\b{re.escape(name)}\b")
    others = names & raw.keys() - {name, *RUN_VARIABLES}
    return any(pattern.search(text) for other in others for text in texts(raw[other]))
