"""A campaign of kills: whom which fault hits, round by round, as a seed says; never more than the layout survives."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout

from .injector import Injector

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


def hit(injector: Injector, faults: Sequence[Fault]) -> None:
    """Do all faults of a round, side by side; return when none of them lasts any more, and what was killed runs."""
    with ThreadPoolExecutor(len(faults)) as pool:
        list(pool.map(lambda fault: _hit_one(injector, fault), faults))


def _hit_one(injector: Injector, fault: Fault) -> None:
    time.sleep(fault.after)
    acts: Mapping[str, Callable[[], None]] = {
        KILL: lambda: injector.kill(fault.host),
        TWICE: lambda: injector.kill(fault.host, times=2),
        FREEZE: lambda: injector.freeze(fault.host, fault.seconds),
        POWER: lambda: injector.power_off(fault.host, fault.seconds),
        CLIENT: lambda: injector.cut([fault.host], "client", fault.seconds),
        REPLICATION: lambda: injector.cut([fault.host], "replication", fault.seconds),
    }
    acts[fault.kind]()
