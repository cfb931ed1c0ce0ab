"""Reads the Ansible groups of a host and the variables that each group sets, in the order of their precedence."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ansible.vars.plugins import get_vars_from_inventory_sources

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import by_precedence
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import PLUGIN_VARIABLES, Layer


def layers_of(hostvars: Any, loader: Any) -> list[Layer]:
    """Return the variables that each group of the inventory sets, as Layers with the lowest precedence first.

    A group has two Layers: one for its `vars` in the hosts file, one for its files in group_vars. The group_vars of
    every group override the hosts file of all groups. `hostvars` and `loader` are Ansible's HostVars and DataLoader.
    """
    inventory, layers = hostvars._inventory, list[Layer]()
    groups = by_precedence(group for group in inventory.groups.values() if group.name != "ungrouped")
    for group in groups:  # the first is all: it has no depth
        values = (group.get_vars(), getattr(group, PLUGIN_VARIABLES, {}))
        layers.append(Layer(group.name, False, (group.depth, group.priority), *values))
    for group in groups:
        values = get_vars_from_inventory_sources(loader, inventory._sources, [group], "task")
        layers.append(Layer(group.name, True, (group.depth, group.priority), values, {}))
    return layers


def groups_of(hostvars: Any, host: str) -> list[str]:
    """Return the names of the groups of a host, lowest precedence first; `hostvars` is Ansible's HostVars."""
    return [group.name for group in by_precedence(hostvars._inventory.get_host(host).get_groups())]


def unrelated_groups_of(hostvars: Any, host: str) -> list[tuple[str, str]]:
    """Return pairs of a host's groups (overridden group, overriding group) of which neither contains the other.

    Pairs whose groups have different values of ansible_group_priority are left out: by this variable, the site itself
    decides which group overrides. `hostvars` is Ansible's HostVars.
    """
    groups = [
        group for group in hostvars._inventory.get_host(host).get_groups() if group.name not in ("all", "ungrouped")
    ]
    return [
        (weaker.name, stronger.name)
        for weaker, stronger in combinations(by_precedence(groups), 2)
        if weaker not in stronger.get_ancestors()
        and stronger not in weaker.get_ancestors()
        and weaker.priority == stronger.priority
    ]
