#!/usr/bin/env python3
"""Dynamic inventory: prints the servers that the company's own list has, as Ansible reads them from a script.

The list is cmdb/servers.csv. Replace `servers` by a request to your own database.
"""

import csv
import json
from pathlib import Path

LIST = Path(__file__).parents[2] / "cmdb" / "servers.csv"
ID = {"zookeeper": "zookeeper_id", "kafka": "kafka_broker_id"}


def servers() -> list[dict[str, str]]:
    """Return the servers, each with name, function, id, rack and its two addresses."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def names(listed: list[dict[str, str]], column: str, value: str) -> list[str]:
    """Return the names of the servers that have a value in a column."""
    return [server["name"] for server in listed if server[column] == value]


def main() -> None:
    """Print the groups of functions and racks, and the facts of each host."""
    listed = servers()
    groups = {function: {"hosts": names(listed, "function", function)} for function in ID}
    racks = {
        f"rack_{rack}": {"hosts": names(listed, "rack", rack), "vars": {"rack": rack}}
        for rack in sorted({server["rack"] for server in listed})
    }
    hosts = {
        server["name"]: {
            ID[server["function"]]: int(server["id"]),
            "client_address": server["client_address"],
            "replication_address": server["replication_address"],
        }
        for server in listed
    }
    print(json.dumps({**groups, **racks, "_meta": {"hostvars": hosts}}))


main()
