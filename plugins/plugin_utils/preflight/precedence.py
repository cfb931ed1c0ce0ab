"""Finds group values that another group overrides on some hosts, and dicts that replace a dict of the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import (
    functions,
    project_value,
    project_variables,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import Layer
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import texts
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_files import FILE_RIVALS
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import file_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.unused_variables import BROKER_VARIABLES
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

ORDER = "ansible_group_priority"


def overridden_values(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each value of a group that a group with more hosts overrides on some hosts.

    Such an override is intended, and no problem, if the overriding group is a child of the other group or has a higher
    priority.
    """
    members = {name: frozenset(hosts) for name, hosts in model.all_groups.items()}
    names = dict.fromkeys(name for layer in reader.layers for name in layer.variables)
    for name in names.keys() - {ORDER}:
        layers = [layer for layer in reader.layers if name in layer.variables]
        if len(layers) < 2 or not any(layer.set_by_site(name) for layer in layers[:-1]):
            continue
        read = _readers(model, name)
        for weaker, stronger, hosts in _overridden(reader, model, name, layers):
            few, many = members[weaker.group] & read, members[stronger.group] & read
            is_intended = weaker.in_files == stronger.in_files and weaker.order[1] != stronger.order[1]
            if few < many and not is_intended:
                yield _shadowed(reader, model, name, weaker, stronger, hosts)


def rival_values(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each list or dict that a group sets in hosts.yml and, with another value, in its group_vars.

    Ansible uses group_vars alone: users that hosts.yml declares would be lost. Another single value may be intended.
    """
    names = dict.fromkeys(name for layer in reader.layers for name in layer.variables)
    for name in names.keys() - {ORDER}:
        layers = {(layer.group, layer.in_files): layer for layer in reader.layers if layer.set_by_site(name)}
        for (group, in_files), weaker in layers.items():
            stronger, hosts = layers.get((group, True)), model.all_groups.get(group)
            value = weaker.variables[name]
            if in_files or not stronger or not hosts or value == stronger.variables[name]:
                continue
            if not isinstance(value, (Mapping, list)):
                continue
            place, other = (_file(reader, hosts[0], layer, name) for layer in (stronger, weaker))
            yield FILE_RIVALS.problem((), f"{place}/{name}", other=other)


def _readers(model: Model, name: str) -> frozenset[str]:
    """Return the hosts whose functions read the variable `name`; all hosts with a function if no function reads it."""
    readers = [
        host
        for function in functions().values()
        if any(name in argument_spec(role) for role in function.roles)
        or (function.name == "kafka" and name in BROKER_VARIABLES)
        for host in model.groups[function.name]
    ]
    return frozenset(readers or model.function_hosts)


def _overridden(reader: Reader, model: Model, name: str, layers: list[Layer]) -> list[tuple[Layer, Layer, list[str]]]:
    """Return (overridden layer, overriding layer, hosts) of the variable `name`, for the hosts that read it.

    `layers` are those that set the variable, lowest precedence first.
    """
    hosts_of: dict[tuple[int, int], list[str]] = {}
    members = [set(model.all_groups.get(layer.group, ())) for layer in layers]
    for host in sorted(_readers(model, name)):
        own = [number for number, hosts in enumerate(members) if host in hosts]
        if len(own) < 2 or reader.raw(host).get(name) != layers[own[-1]].variables[name]:
            continue  # the host itself sets it
        for number in own[:-1]:
            if layers[number].set_by_site(name) and layers[number].variables[name] != layers[own[-1]].variables[name]:
                hosts_of.setdefault((number, own[-1]), []).append(host)
    return [(layers[weaker], layers[stronger], hosts) for (weaker, stronger), hosts in hosts_of.items()]


GROUP_SHADOWED = ProblemKind(
    "GROUP_SHADOWED",
    "on {losers} {other} of group {stronger} in {place} overrides it: {reason}",
    "set {overrides}, which is merged over {name}",
)
"""`reason` is a value of REASONS."""
REASONS = {
    "name": "of two equal groups, the one with the later name overrides the other",
    "depth": "that group is deeper in the inventory",
    "files": "group_vars override the vars of a group in hosts.yml",
}
GROUP_SHADOWED_FILE = GROUP_SHADOWED.variant(advice="set it in {file}")
GROUP_SHADOWED_PRIORITY = GROUP_SHADOWED.variant(
    advice=f"set it in {{file}}, and set {ORDER}: 10 in vars of {{weaker}} in hosts.yml"
)
GROUP_SHADOWED_HOST = GROUP_SHADOWED.variant(advice="set it in the lines of these hosts in hosts.yml, or in host_vars")


def _shadowed(reader: Reader, model: Model, name: str, weaker: Layer, stronger: Layer, hosts: list[str]) -> Problem:
    value, other = weaker.variables[name], stronger.variables[name]
    is_shown = not isinstance(value, (Mapping, list)) and not is_secret(name, str(value))
    if weaker.in_files == stronger.in_files:
        reason = "name" if weaker.order == stronger.order else "depth"
    else:
        reason = "files"
    return _shadowed_kind(model, name, weaker, stronger).problem(
        tuple(model.all_groups[weaker.group]),
        name,
        value if is_shown else None,
        losers=hosts,
        other=f"the value {other}" if is_shown and not isinstance(other, (Mapping, list)) else "the value",
        stronger=stronger.group,
        place=_file(reader, hosts[0], stronger, name),
        reason=REASONS[reason],
        overrides=f"{name}_overrides",
        name=name,
        file=f"group_vars/{weaker.group}.yml",
        weaker=weaker.group,
    )


def _file(reader: Reader, host: str, layer: Layer, name: str) -> str:
    """Return the file in which a group sets a variable, relative to the folder of the inventory if it is inside."""
    folder, path = str(reader.raw(host).get("inventory_dir") or ""), file_of(layer.variables[name])
    if path and folder and path.startswith(folder):
        return os.path.relpath(path, folder)
    return path or (f"group_vars/{layer.group}.yml" if layer.in_files else "hosts.yml")


def _shadowed_kind(model: Model, name: str, weaker: Layer, stronger: Layer) -> ProblemKind:
    """Return the kind of problem whose advice explains how the value of `weaker` can override that of `stronger`."""
    if f"{name}_overrides" in model.known:
        return GROUP_SHADOWED
    both_in_files = stronger.in_files and stronger.group != "all"
    is_later = (*weaker.order, weaker.group) > (*stronger.order, stronger.group)
    if not both_in_files or is_later:
        return GROUP_SHADOWED_FILE
    return GROUP_SHADOWED_PRIORITY if weaker.order[0] == stronger.order[0] else GROUP_SHADOWED_HOST


@cache
def _dicts_read_by_key() -> dict[str, Mapping[str, Any]]:
    """Return {name: value} of the project's default dicts of which the project's templates read single keys.

    A site that replaces such a dict must set all of these keys.
    """
    plain = {name: value for name in project_variables() if isinstance(value := project_value(name), Mapping)}
    templates = " ".join(text for name in project_variables() for text in texts(project_value(name)))
    return {name: value for name, value in plain.items() if re.search(rf"\b{name}\.[a-z]\w*\b(?!\()", templates)}


DEFAULTS_REPLACED = ProblemKind(
    "DEFAULTS_REPLACED", "this dict replaces the project's dict, and does not contain {missing}", "add {entries}"
)
DEFAULTS_REPLACED_SINGLE = DEFAULTS_REPLACED.variant(advice="set {variables} instead, or add {entries}")


def replaced_defaults(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each dict of the project that a site replaces by a dict without some of the keys."""
    for host in model.function_hosts:
        for name, default in _dicts_read_by_key().items():
            value = reader.raw(host).get(name)
            if isinstance(value, Mapping) and (missing := [key for key in default if key not in value]):
                of_keys = {key: f"{{{{ {name}.{key} }}}}" for key in value}
                single = {
                    variable: value[key]
                    for key, template in of_keys.items()
                    for variable in project_variables()
                    if project_value(variable) == template
                }
                variables = [f"{variable}: {setting}" for variable, setting in sorted(single.items())]
                entries = [f"{key}: {_text(default[key])}" for key in missing]
                kind = DEFAULTS_REPLACED_SINGLE if single else DEFAULTS_REPLACED
                yield kind.problem((host,), name, missing=missing, variables=variables, entries=entries)


def _text(value: Any) -> str:
    """Return a value as YAML on one line; a text that looks like a number is quoted."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    return f'"{value}"' if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value) else str(value)
