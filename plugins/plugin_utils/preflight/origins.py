"""Which group says what is wrong: a line of group_vars/all is mended there, whichever hosts it is wrong for."""

from __future__ import annotations

import re
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import written_at
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import base
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# What is wrong with the groups of a host, and not with what one of them says.
OF_HOSTS = re.compile(r"GROUP_(RIVALS|SHADOWED)|DICT_REPLACED|DATACENTER_GROUP|RACK_(GROUP|TWICE)")


def with_origin(problem: Problem, reader: Reader, model: Model) -> Problem:
    """Return a problem with the group in which the site wrote its value for all its hosts, where it is one group."""
    if not problem.hosts or OF_HOSTS.fullmatch(problem.code):
        return problem
    groups = {_group(host, base(problem.variable), reader, model) for host in problem.hosts}
    group = groups.pop() if len(groups) == 1 else None
    return replace(problem, group=group) if group else problem


def _group(host: str, name: str, reader: Reader, model: Model) -> str | None:
    """Return the group from which a host has a variable; None where that is the host itself, the wiring or -e."""
    value = reader.raw(host).get(name)
    if value is None:
        return None
    for layer in reversed(reader.layers):
        if name in layer.variables and host in model.all_groups.get(layer.group, ()):
            own = layer.variables[name] == value and written_at(layer.variables[name]) == written_at(value)
            return layer.group if own and layer.set_by_site(name) else None
    return None
