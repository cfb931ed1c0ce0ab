"""Describes which variables one Ansible group of an inventory sets, and its place in the precedence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PLUGIN_VARIABLES = "millrace_plugin_variables"
"""Attribute of a group: the variables that the inventory plugin set there; the site did not set them."""


@dataclass(frozen=True)
class Layer:
    """The variables that one group sets in its group_vars (`in_files` is true), or in the hosts file (false)."""

    group: str
    in_files: bool
    order: tuple[int, int]
    """Depth and priority of the group. If two groups have the same order, the later name overrides the earlier."""
    variables: Mapping[str, Any]
    by_plugin: Mapping[str, Any]
    """The variables that the inventory plugin set, not the site."""

    def set_by_site(self, name: str) -> bool:
        """Tell whether this Layer has the variable `name` from the site; False if only the inventory plugin set it."""
        return name in self.variables and self.by_plugin.get(name, self) is not self.variables[name]
