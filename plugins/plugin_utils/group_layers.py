"""Describes what the Ansible groups of an inventory set, in their order of precedence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAID = "millrace_laid"
"""Attribute of a group: what the inventory plugin has set there, which is no word of the site's."""


@dataclass(frozen=True)
class Layer:
    """What one group sets in one place: in the hosts file or in its group_vars."""

    group: str
    in_files: bool
    order: tuple[int, int]
    """Depth and priority of the group: of two that have the same, the later name goes first."""
    said: Mapping[str, Any]
    laid: Mapping[str, Any]
    """What of it the site did not write."""

    def wrote(self, name: str) -> bool:
        """Tell whether the site itself sets a variable here."""
        return name in self.said and self.laid.get(name, self) is not self.said[name]
