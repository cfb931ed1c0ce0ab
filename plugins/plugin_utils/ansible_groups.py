"""Reads the Ansible groups of a host and the variables that each group sets, in the order of their precedence."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import by_precedence, file_variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.group_layers import PLUGIN_VARIABLES, Layer


def layers_of(inventory: Any, loader: Any) -> list[Layer]:
    """Return the variables that each group of the inventory sets, as Layers with the lowest precedence first.

    A group has two Layers: one for its `vars` in the hosts file, one for its files in group_vars. The group_vars of
    every group override the hosts file of all groups. `inventory` and `loader` are Ansible's InventoryManager and
    DataLoader.
    """
    layers = list[Layer]()
    groups = by_precedence(group for group in inventory.groups.values() if group.name != "ungrouped")
    for group in groups:  # the first is all: it has no depth
        values = (group.get_vars(), getattr(group, PLUGIN_VARIABLES, {}))
        layers.append(Layer(group.name, False, (group.depth, group.priority), *values))
    for group in groups:
        found = file_variables(inventory, group, loader)
        layers.append(Layer(group.name, True, (group.depth, group.priority), found, {}))
    return layers


def groups_of(inventory: Any, host: str) -> list[str]:
    """Return the names of the groups of a host, lowest precedence first; `inventory` is an InventoryManager."""
    return [group.name for group in by_precedence(inventory.get_host(host).get_groups())]


def unrelated_groups_of(inventory: Any, host: str) -> list[tuple[str, str]]:
    """Return pairs of a host's groups (overridden group, overriding group) of which neither contains the other.

    Pairs whose groups have different values of ansible_group_priority are left out: by this variable, the site itself
    decides which group overrides. `inventory` is an InventoryManager.
    """
    groups = [group for group in inventory.get_host(host).get_groups() if group.name not in ("all", "ungrouped")]
    return [
        (weaker.name, stronger.name)
        for weaker, stronger in combinations(by_precedence(groups), 2)
        if weaker not in stronger.get_ancestors()
        and stronger not in weaker.get_ancestors()
        and weaker.priority == stronger.priority
    ]
