"""The lab's view of an inventory host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def lab_host(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, addresses and disks of a host; a disk is each entry of log.dirs and ZooKeeper's write-ahead log."""
    disks = list(variables.get("kafka_log_dirs") or [])
    if variables.get("zookeeper_data_log_dir"):
        disks.append(variables["zookeeper_data_log_dir"])
    return {
        "name": variables["inventory_hostname"],
        "client_address": variables["client_address"],
        "replication_address": variables.get("replication_address", ""),
        "disks": disks,
    }


class FilterModule:
    """The filter under its name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {"lab_host": lab_host}
