"""Reads which Ansible groups set a host's variables, in their order of precedence."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ansible.vars.plugins import get_vars_from_inventory_sources

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import weakest_first
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import LAID, Layer


def layers_of(hostvars: Any, loader: Any) -> list[Layer]:
    """Return what the groups set, lowest precedence first: group_vars override the hosts file, for any group."""
    inventory, found = hostvars._inventory, list[Layer]()
    groups = weakest_first(group for group in inventory.groups.values() if group.name != "ungrouped")
    for group in groups:  # the first is all: it has no depth
        said = (group.get_vars(), getattr(group, LAID, {}))
        found.append(Layer(group.name, False, (group.depth, group.priority), *said))
    for group in groups:
        said = get_vars_from_inventory_sources(loader, inventory._sources, [group], "task")
        found.append(Layer(group.name, True, (group.depth, group.priority), said, {}))
    return found


def groups_of(hostvars: Any, host: str) -> list[str]:
    """Return the groups of a host, the one with the highest precedence last."""
    return [group.name for group in weakest_first(hostvars._inventory.get_host(host).get_groups())]


def rivals_of(hostvars: Any, host: str) -> list[tuple[str, str]]:
    """Return pairs of groups of a host of which neither contains the other; the second overrides the first.

    There is none if the site sets ansible_group_priority for them.
    """
    groups = [
        group for group in hostvars._inventory.get_host(host).get_groups() if group.name not in ("all", "ungrouped")
    ]
    return [
        (one.name, other.name)
        for one, other in combinations(weakest_first(groups), 2)
        if one not in other.get_ancestors() and other not in one.get_ancestors() and one.priority == other.priority
    ]
