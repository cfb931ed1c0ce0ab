"""A campaign of kills: whom which fault hits, round by round, as a seed says; never more than the layout survives."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout

from .containers import podman
from .interfaces import Interfaces
from .lab import UNITS, Lab, until

KILL, TWICE, FREEZE, POWER = "kill -9", "kill -9, and again once it is back", "frozen", "power off"
CLIENT, REPLICATION = "client network", "replication network"
LASTS: Mapping[str, tuple[float, float]] = {
    KILL: (0, 0),
    TWICE: (0, 0),
    FREEZE: (1, 12),  # sessions of a lab end after 6 s
    POWER: (0, 10),
    CLIENT: (2, 12),
    REPLICATION: (2, 12),
}
"""Each kind, and how many seconds it lasts, from and to; systemd starts again what was killed."""
LATEST = 5.0
"""Seconds from the first fault of a round to the last."""
_FAILURES = ("server", "rack", "datacenter", "witness", "pair")


@dataclass(frozen=True)
class Fault:
    """What happens to one host."""

    host: str
    kind: str
    after: float
    """Seconds from the begin of the round."""
    seconds: float
    """How long it lasts."""

    def __str__(self) -> str:
        """Return it in words."""
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.host} {self.kind}{lasts} (at {self.after:.1f} s)"


def plan(layout: Layout, seed: int, rounds: int) -> list[tuple[Fault, ...]]:
    """Return the faults of each round; the same seed gives the same.

    Those who are hit in one round are a row of the survival table that goes on, and loses nothing though they never
    came back. Raises ValueError where the layout survives the loss of no server.
    """
    victims = sorted(
        sorted(row.lost)
        for row in survival(layout)
        if row.kind in _FAILURES and row.lost and row.quorum and row.writable and row.zero_loss
    )
    if not victims:
        raise ValueError("this layout survives the loss of no server")
    chance = random.Random(seed)
    return [tuple(_fault(host, chance) for host in chance.choice(victims)) for _ in range(rounds)]


def _fault(host: str, chance: random.Random) -> Fault:
    kind = chance.choice([*LASTS])
    return Fault(host, kind, round(chance.uniform(0, LATEST), 1), round(chance.uniform(*LASTS[kind]), 1))


class Injector:
    """Does the faults of a round to a lab, side by side, and takes back what lasts."""

    def __init__(self, lab: Lab) -> None:
        """Nothing is done yet."""
        self.lab, self.inventory = lab, lab.inventory
        self._acts: dict[str, Callable[[Fault], None]] = {
            KILL: self._kill,
            TWICE: self._kill_twice,
            FREEZE: self._freeze,
            POWER: self._power_off,
            CLIENT: lambda fault: self._cut(fault, "client"),
            REPLICATION: lambda fault: self._cut(fault, "replication"),
        }

    def hit(self, faults: Sequence[Fault]) -> None:
        """Do all faults of a round, and wait until none of them lasts any more, and what was killed runs again."""
        with ThreadPoolExecutor(len(faults)) as pool:
            list(pool.map(self._one, faults))

    def _one(self, fault: Fault) -> None:
        time.sleep(fault.after)
        self._acts[fault.kind](fault)

    def _units(self, host: str) -> list[str]:
        return [unit for group, unit in UNITS.items() if host in self.inventory.hosts(group)]

    def _kill(self, fault: Fault) -> None:
        for unit in self._units(fault.host):
            pid = self.lab.pid(fault.host, unit)
            self.lab.kill(fault.host, unit)
            self._back(fault.host, unit, pid, 60)

    def _kill_twice(self, fault: Fault) -> None:
        self._kill(fault)
        self._kill(fault)

    def _freeze(self, fault: Fault) -> None:
        # One command on the host: it thaws though nobody can reach it meanwhile.
        pids = " ".join(str(self.lab.pid(fault.host, unit)) for unit in self._units(fault.host))
        self.inventory.run(
            fault.host, f"trap 'kill -CONT {pids}' EXIT; kill -STOP {pids}; sleep {fault.seconds}", seconds=90
        )

    def _power_off(self, fault: Fault) -> None:
        container = self.inventory.container(fault.host)
        podman("kill", "--signal", "KILL", container)
        try:
            podman("wait", container)
            time.sleep(fault.seconds)
        finally:
            self.inventory.disconnect(fault.host)
            podman("start", container)
        for unit in self._units(fault.host):
            self._back(fault.host, unit, 0, 120)

    def _back(self, host: str, unit: str, before: int, seconds: float) -> None:
        """Wait until a unit runs, as another process than before; a host that is not reached yet is asked again."""

        def runs() -> bool:
            said = self.inventory.run(host, f"systemctl show -p MainPID --value {unit}", check=False).strip()
            return said.isdigit() and int(said) not in (0, before)

        until(f"{unit} of {host} is back", runs, seconds)

    def _cut(self, fault: Fault, interface: str) -> None:
        interfaces = Interfaces(self.inventory)
        interfaces.down(fault.host, interface=interface)
        try:
            time.sleep(fault.seconds)
        finally:
            interfaces.up()
