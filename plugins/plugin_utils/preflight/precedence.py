"""Values that a group says and its hosts do not have: another group's goes before it, or the project's is replaced."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.template_errors import file_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.unused_variables import OF_BROKERS
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

ORDER = "ansible_group_priority"
FILES_FIRST = "what stands in group_vars goes before vars of a group in hosts.yml"


def shadows(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield values of a group that its hosts do not have, since what is said of more hosts goes before them.

    That a group inside another goes before it is how Ansible is meant, and so is a priority that the site says.
    """
    members = {name: frozenset(hosts) for name, hosts in model.all_groups.items()}
    everywhere = dict.fromkeys(name for layer in reader.layers for name in layer.variables)
    for name in everywhere.keys() - {ORDER}:
        layers = [layer for layer in reader.layers if name in layer.variables]
        if len(layers) < 2 or not any(layer.set_by_site(name) for layer in layers[:-1]):
            continue
        read = _readers(model, name)
        for weaker, stronger, hosts in _lost(reader, model, name, layers):
            few, many = members[weaker.group] & read, members[stronger.group] & read
            meant = weaker.in_files == stronger.in_files and weaker.order[1] != stronger.order[1]
            if few < many and not meant:
                yield _shadow(reader, model, name, weaker, stronger, hosts)


def _readers(model: Model, name: str) -> frozenset[str]:
    """Return the hosts that read a variable; all where that is not known."""
    found = [
        host
        for function in functions().values()
        if any(name in argument_spec(role) for role in function.roles)
        or (function.name == "kafka" and name in OF_BROKERS)
        for host in model.groups[function.name]
    ]
    return frozenset(found or model.function_hosts)


def _lost(reader: Reader, model: Model, name: str, layers: list[Layer]) -> list[tuple[Layer, Layer, list[str]]]:
    """Return what is not the value of a host that reads it, each with what is, and the hosts."""
    found: dict[tuple[int, int], list[str]] = {}
    inside = [set(model.all_groups.get(layer.group, ())) for layer in layers]
    for host in sorted(_readers(model, name)):
        own = [number for number, hosts in enumerate(inside) if host in hosts]
        if len(own) < 2 or reader.raw(host).get(name) != layers[own[-1]].variables[name]:
            continue  # the host itself says it
        for number in own[:-1]:
            if layers[number].set_by_site(name) and layers[number].variables[name] != layers[own[-1]].variables[name]:
                found.setdefault((number, own[-1]), []).append(host)
    return [(layers[one], layers[other], hosts) for (one, other), hosts in found.items()]


def _shadow(reader: Reader, model: Model, name: str, weaker: Layer, stronger: Layer, hosts: list[str]) -> Problem:
    value, other = weaker.variables[name], stronger.variables[name]
    plain = not isinstance(value, (Mapping, list)) and not is_secret(name, str(value))
    shown = f"{other}, which" if plain and not isinstance(other, (Mapping, list)) else "what"
    file = _file(reader, hosts[0], stronger, name)
    wrong = f"{', '.join(hosts)} {'has' if len(hosts) == 1 else 'have'} {shown} {file} says of group "
    wrong += f"{stronger.group}: "
    if weaker.in_files == stronger.in_files:
        wrong += "it goes before this by its name" if weaker.order == stronger.order else "its group is further inside"
    else:
        wrong += FILES_FIRST
    where = tuple(model.all_groups[weaker.group])
    advice = _advice(model, name, weaker, stronger)
    return Problem(where, name, "GROUP_SHADOWED", value if plain else None, wrong, advice)


def _file(reader: Reader, host: str, layer: Layer, name: str) -> str:
    """Return the file in which a group says a variable, as seen from the inventory."""
    folder, path = str(reader.raw(host).get("inventory_dir") or ""), file_of(layer.variables[name])
    if path and folder and path.startswith(folder):
        return os.path.relpath(path, folder)
    return path or (f"group_vars/{layer.group}.yml" if layer.in_files else "hosts.yml")


def _advice(model: Model, name: str, weaker: Layer, stronger: Layer) -> str:
    """Return what puts a value before that of more hosts."""
    over = f"{name}_overrides"
    if over in model.known:
        return f"write it as {over}, which is laid over {name}"
    file = f"group_vars/{weaker.group}.yml"
    alike = stronger.in_files and stronger.group != "all"
    after = (*weaker.order, weaker.group) > (*stronger.order, stronger.group)
    if not alike or after:
        return f"write it in {file}"
    if weaker.order[0] == stronger.order[0]:
        return f"write it in {file}, and {ORDER}: 10 in vars of {weaker.group} in hosts.yml"
    return "write it in the lines of these hosts in hosts.yml, or in host_vars"


@cache
def _by_keys() -> dict[str, Mapping[str, Any]]:
    """Return the dicts of the wiring of which it takes single keys: without one of them nothing works."""
    plain = {name: value for name in project_variables() if isinstance(value := project_value(name), Mapping)}
    told = " ".join(text for name in project_variables() for text in texts(project_value(name)))
    return {name: value for name, value in plain.items() if re.search(rf"\b{name}\.[a-z]", told)}


def replaced(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield dicts of the project that a site says anew with less in them."""
    for host in model.function_hosts:
        for name, ours in _by_keys().items():
            value = reader.raw(host).get(name)
            if isinstance(value, Mapping) and (lacking := [key for key in ours if key not in value]):
                wrong = f"it takes the place of the project's, and lacks {', '.join(lacking)}"
                single = {
                    word: value[key]
                    for key in value
                    for word in project_variables()
                    if project_value(word) == f"{{{{ {name}.{key} }}}}"
                }
                whole = f"add {', '.join(f'{key}: {_text(ours[key])}' for key in lacking)}"
                alone = ", ".join(f"{word}: {said}" for word, said in sorted(single.items()))
                advice = f"write {alone} instead, or {whole}" if single else whole
                yield Problem((host,), name, "DEFAULTS_REPLACED", None, wrong, advice)


def _text(value: Any) -> str:
    """Return a value as YAML reads it again: a text that looks like a number in quotes."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    return f'"{value}"' if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value) else str(value)
