"""Asks the Prometheus of a monitoring host."""

import json
from typing import Any
from urllib.parse import quote

from faults.inventory import Inventory


def found(inventory: Inventory, query: str) -> list[dict[str, Any]]:
    """Return the result of a query, asked on the host of Prometheus."""
    (host,) = inventory.hosts("monitoring")
    url = f"http://127.0.0.1:9090/api/v1/query?query={quote(query)}"
    program = f"from urllib.request import urlopen; print(urlopen('{url}').read().decode())"
    answer = json.loads(inventory.run(host, f'python3 -c "{program}"'))
    assert answer["status"] == "success", answer
    return list(answer["data"]["result"])


def firing(inventory: Inventory) -> set[str]:
    """Return the names of the alerts that fire."""
    return {one["metric"]["alertname"] for one in found(inventory, 'ALERTS{alertstate="firing"}')}
