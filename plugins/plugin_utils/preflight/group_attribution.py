"""A layout that hosts do not fit, since a group repeats the datacenter of another: said of that group's line."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import (
    LAYOUT_DATACENTERS,
    LAYOUTS,
    required_datacenters,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

LAYOUT_DATACENTERS_GROUP = LAYOUT_DATACENTERS.variant(
    message="group {other} sets it too, and {layout} requires {required}", advice="set another"
)
LAYOUT_DATACENTERS_NAME = LAYOUT_DATACENTERS_GROUP.variant(advice="did you mean {datacenter_group}?")


def at_the_group(problem: Problem, reader: Reader, model: Model) -> Problem:
    """Return a problem of the layout with the one group whose datacenter is another's, where that is all of it."""
    if problem.code != "LAYOUT_DATACENTERS":
        return problem
    said = {
        layer.group: str(layer.variables["datacenter"])
        for layer in reader.layers
        if layer.set_by_site("datacenter") and layer.group not in ("all", *functions())
    }
    found = [(group, value) for group, value in said.items() if _repeats(group, said, model)]
    named = [(group, value) for group, value in found if group != value]  # the other is called as it says
    found = found if len(found) == 1 else named
    if len(found) != 1:
        return problem
    group, value = found[0]
    other = next(one for one, own in said.items() if own == value and one != group)
    kind = LAYOUT_DATACENTERS_NAME if group not in said.values() else LAYOUT_DATACENTERS_GROUP
    return kind.problem(
        tuple(model.all_groups[group]),
        "datacenter",
        value,
        group=problem.group,
        warning=problem.warning,
        other=other,
        layout=model.layout,
        required=required_datacenters(model.layout),
        datacenter_group=group,
    )


def _repeats(group: str, said: Mapping[str, str], model: Model) -> bool:
    """Tell whether another group says the same of other hosts, and the layout fits with a place of this one's own."""
    members = set(model.all_groups.get(group, ()))
    others = [set(model.all_groups.get(one, ())) for one in said if one != group and said[one] == said[group]]
    if not members or not any(other and other.isdisjoint(members) for other in others):
        return False
    brokers, servers = (
        {group if machine.name in members else f" {machine.datacenter}" for machine in machines}
        for machines in (model.brokers, model.servers)
    )
    return (len(brokers), len(servers - brokers)) == LAYOUTS.get(model.layout)
