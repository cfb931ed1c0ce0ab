"""What all hosts of an inventory are, to be compared with what they were.

As a program: run a command, and fail if it changed a host.

tests/operations/untouched.py INVENTORY COMMAND...
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from faults.inventory import Inventory, load

SCRIPT = Path(__file__).with_name("manifest.py").read_text()
SHOWN = 40
BOOT = 120
# A host greets on SSH while it still boots: units change until its manager has nothing queued.
SETTLED = (
    f"timeout {BOOT} sh -c 'until jobs=$(systemctl list-jobs --no-legend) && [ -z \"$jobs\" ]; do sleep 0.2; done'"
)
# Facts that every host has; without one of these a manifest shows nothing.
KINDS = (
    "file '/etc/passwd': ",
    "file '/opt': ",
    "sysctl ",
    "mount ",
    "dpkg-query ",
    "getent passwd: root:",
    "systemctl list-units ",
)


@dataclass(frozen=True)
class Manifests:
    """What hosts are, by host: one fact a line."""

    hosts: Mapping[str, frozenset[str]]

    def differences(self, after: Manifests) -> list[str]:
        """Return what is gone (-) and what has come (+) on every host."""
        return [
            f"{host}: {sign} {fact}"
            for host in self.hosts
            for sign, facts in (
                ("-", self.hosts[host] - after.hosts[host]),
                ("+", after.hosts[host] - self.hosts[host]),
            )
            for fact in sorted(facts)
        ]


def manifests(inventory: Inventory, hosts: Sequence[str], *options: str) -> Manifests:
    """Return the manifests of hosts, which all run manifest.py at once; see there for the options."""

    def ask(host: str) -> frozenset[str]:
        inventory.run(host, SETTLED, seconds=BOOT + 30)
        return frozenset(inventory.run(host, f"python3 - {' '.join(options)}", stdin=SCRIPT).splitlines())

    with ThreadPoolExecutor(len(hosts)) as pool:
        found = dict(zip(hosts, pool.map(ask, hosts), strict=True))
    for host, facts in found.items():
        missing = [kind for kind in KINDS if not any(fact.startswith(kind) for fact in facts)]
        assert not missing, f"{host}: its manifest has nothing of {missing}"
    return Manifests(found)


def main() -> int:
    """Return the command's exit status, 1 where it changed a host."""
    inventory = load(Path(sys.argv[1]).resolve())
    try:
        began = time.monotonic()
        before = manifests(inventory, inventory.hosts("all"))
        took = time.monotonic() - began
        code = subprocess.run(sys.argv[2:]).returncode
        found = before.differences(manifests(inventory, inventory.hosts("all")))
    finally:
        inventory.close()
    print(
        f"compared {sum(map(len, before.hosts.values()))} facts of {len(before.hosts)} hosts, "
        f"each time in {took:.1f} s",
        *found[:SHOWN],
        sep="\n",
    )
    return code or bool(found)


if __name__ == "__main__":
    sys.exit(main())
