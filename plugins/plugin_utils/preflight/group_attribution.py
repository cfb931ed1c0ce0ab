"""Finds the group that sets a wrong datacenter, if a cluster has the wrong number of datacenters.

Such a group repeats the datacenter of another group.
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layouts import LAYOUTS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import (
    LAYOUT_DATACENTERS,
    required_datacenters,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

LAYOUT_DATACENTERS_GROUP = LAYOUT_DATACENTERS.variant(
    message="group {other} has the same datacenter, but layout {layout} requires {required}",
    advice="set another datacenter",
)
LAYOUT_DATACENTERS_NAME = LAYOUT_DATACENTERS_GROUP.variant(advice="did you mean {name}?")


def with_repeating_group(problem: Problem, reader: Reader, model: Model) -> Problem:
    """Return the problem LAYOUT_DATACENTERS, changed to name the group that repeats another group's datacenter.

    Return `problem` unchanged if it has another code, or if there is not exactly one such group.
    """
    if problem.code != LAYOUT_DATACENTERS.code:
        return problem
    datacenters = {
        layer.group: str(layer.variables["datacenter"])
        for layer in reader.layers
        if layer.set_by_site("datacenter") and layer.group not in ("all", *functions())
    }
    repeating = [group for group in datacenters if _repeats(group, datacenters, model)]
    # Of two groups with one datacenter, the one that has the name of the datacenter is right.
    renamed = [group for group in repeating if group != datacenters[group]]
    repeating = repeating if len(repeating) == 1 else renamed
    if len(repeating) != 1:
        return problem
    (group,) = repeating
    value = datacenters[group]
    other = next(name for name, datacenter in datacenters.items() if datacenter == value and name != group)
    kind = LAYOUT_DATACENTERS_NAME if group not in datacenters.values() else LAYOUT_DATACENTERS_GROUP
    return kind.instead_of(
        problem,
        hosts=tuple(model.all_groups[group]),
        variable="datacenter",
        value=value,
        other=other,
        layout=model.layout,
        required=required_datacenters(model.layout),
        name=group,
    )


def _repeats(group: str, datacenters: Mapping[str, str], model: Model) -> bool:
    """Tell whether a group sets the datacenter of another group, and the layout would fit if it had its own.

    `datacenters` is {group: datacenter that it sets}.
    """
    members = set(model.all_groups.get(group, ()))
    others = [
        set(model.all_groups.get(other, ()))
        for other in datacenters
        if other != group and datacenters[other] == datacenters[group]
    ]
    if not members or not any(other and other.isdisjoint(members) for other in others):
        return False
    brokers, servers = (
        {group if machine.name in members else f" {machine.datacenter}" for machine in machines}
        for machines in (model.brokers, model.servers)
    )
    return (len(brokers), len(servers - brokers)) == LAYOUTS.get(model.layout)
