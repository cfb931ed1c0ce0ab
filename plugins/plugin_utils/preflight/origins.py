"""Finds the group that sets the wrong value of a problem: a correction in this group corrects all its hosts."""

from __future__ import annotations

import re
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import written_at
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.root_causes import base
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import same

# Problems of the groups that a host is in, instead of a value that one of them sets.
GROUP_PROBLEMS = re.compile(r"GROUP_(RIVALS|SHADOWED)|DICT_REPLACED|DATACENTER_GROUP|RACK_(GROUP|TWICE)")


def with_group(problem: Problem, reader: Reader, model: Model) -> Problem:
    """Return a problem with its attribute `group` set to the group that sets the wrong value.

    Return `problem` unchanged if no group, or not the same group for all hosts of the problem, sets the value.
    """
    if not problem.hosts or GROUP_PROBLEMS.fullmatch(problem.code):
        return problem
    groups = {_group(host, base(problem.variable), reader, model) for host in problem.hosts}
    group = groups.pop() if len(groups) == 1 else None
    return replace(problem, group=group) if group else problem


def _group(host: str, name: str, reader: Reader, model: Model) -> str | None:
    """Return the group that sets the variable `name` of a host; None if the host itself, the project or -e sets it."""
    value = reader.raw(host).get(name)
    if value is None:
        return None
    for layer in reversed(reader.layers):
        if name in layer.variables and host in model.all_groups.get(layer.group, ()):
            is_value = same(layer.variables[name], value) and written_at(layer.variables[name]) == written_at(value)
            return layer.group if is_value and layer.set_by_site(name) else None
    return None
