"""Asks the Prometheus of a monitoring host, and measures its alerts."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from faults.inventory import Inventory
from faults.lab import until
from observations import read, write

LONGEST = 1500
"""Seconds; KafkaUnderReplicated waits for 15 minutes."""


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


@dataclass(frozen=True)
class Watch:
    """Measures how long alerts take to fire and to end."""

    inventory: Inventory
    file: Path | None
    note: Callable[[str], None]

    def fault(self, text: str, names: set[str], cause: Callable[[], object], cure: Callable[[], object]) -> None:
        """Cause a fault until these alerts fire, cure it, wait for their end, and keep the seconds of both."""
        try:
            cause()
            fires = self.seconds(names, True)
        finally:
            cure()
        ends = self.seconds(names, False)
        for name in sorted(names):
            values = {"fault": text, "fires": fires[name], "ends": ends[name]}
            self.note(f"{name}: {json.dumps(values)}")
            if self.file:
                write(self.file, json.dumps({**read(self.file), name: values}, indent=1) + "\n")

    def seconds(self, names: set[str], there: bool) -> dict[str, int]:
        """Return how long it takes from now on until each of these alerts fires, or has ended."""
        began, taken = time.monotonic(), dict[str, int]()

        def turned() -> bool:
            now = firing(self.inventory)
            for name in names - taken.keys():
                if (name in now) is there:
                    taken[name] = round(time.monotonic() - began)
            return taken.keys() == names

        until(f"{', '.join(sorted(names))} {'fire' if there else 'end'}", turned, LONGEST, 2)
        return taken
