"""The lab's view of an inventory host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def lab_host(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, addresses, disks and shared directory of a host; its functions say what is a disk of its own.

    replication_address is empty for a host with one network.
    """
    mounts = variables.get("function_mounts", {})
    disks = [path for group in variables["group_names"] if group in mounts for path in mounts[group]]
    client, replication = variables["client_address"], variables.get("replication_address", "")
    return {
        "name": variables["inventory_hostname"],
        "client_address": client,
        "replication_address": "" if replication == client else replication,
        "disks": disks,
        "shared": variables.get("lab_shared", ""),
    }


class FilterModule:
    """The filter under its name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {"lab_host": lab_host}
