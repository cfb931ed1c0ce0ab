"""Rows of the fault matrix that need several datacenters: what is done, what is promised, and in how many seconds."""

import time
from collections.abc import Callable

from faults.matrix import ON, RPO, STOP, Attack, Row

from .distance import apart

DOWN = 20
"""Seconds that a datacenter is down."""
CUT = 45
LINK = 30


def cut(attack: Attack) -> None:
    """Cut the link; both datacenters live, and clients reach both. No write is acknowledged."""
    with apart(attack.lab.inventory, 0) as link:
        link.toggle()
        time.sleep(10)  # what was on its way is answered
        before = attack.acked()
        time.sleep(CUT - 10)
        acked = attack.acked() - before
        link.toggle()
        assert acked == 0, f"{acked} records were acknowledged by one datacenter"


def poor(*options: str) -> Callable[[Attack], None]:
    """The link is slow, or loses packets."""

    def act(attack: Attack) -> None:
        with apart(attack.lab.inventory, 0, *options):
            time.sleep(LINK)

    return act


def lost(attack: Attack) -> None:
    """Kill the datacenter of the leader; it is down, and returns without a command."""
    name = attack.leader.partition("-")[0]
    with attack.injector.down([host for host in servers(attack) if host.startswith(f"{name}-")]):
        time.sleep(DOWN)


def witness_and_another(attack: Attack) -> None:
    """Kill the witness, and a ZooKeeper server of a datacenter with brokers."""
    hosts = attack.lab.inventory.hosts("zookeeper")
    brokers = {host.partition("-")[0] for host in attack.lab.inventory.hosts("kafka")}
    witness = next(host for host in hosts if host.partition("-")[0] not in brokers)
    with attack.injector.down([witness, next(host for host in hosts if host != witness)]):
        time.sleep(DOWN)


def servers(attack: Attack) -> list[str]:
    """Return all ZooKeeper servers and brokers."""
    return [*attack.lab.inventory.hosts("zookeeper"), *attack.lab.inventory.hosts("kafka")]


ROWS: dict[str, tuple[Row, ...]] = {
    "lab_stretch2": (
        Row("15", f"the link between two datacenters cut for {CUT} s", STOP, CUT + 30, 90, cut, least=CUT - 10),
        Row("22a", f"a link of 5 Mbit/s for {LINK} s", ON, 10, 60, poor("--rate", "5")),
        Row("22b", f"a link that loses 20 % of the packets for {LINK} s", RPO, LINK + 20, 60, poor("--loss", "20")),
    ),
    "lab_stretch2_5": (
        Row("19", f"a datacenter of `stretch2_5` down for {DOWN} s", STOP, DOWN + 40, 60, lost, least=DOWN - 5),
        Row("20", f"the witness and another ZooKeeper server down for {DOWN} s", ON, 5, 40, witness_and_another),
    ),
    "lab_stretch3": (Row("21", f"a datacenter of `stretch3` down for {DOWN} s", ON, 30, 60, lost),),
}
"""By layout. Rows 16 to 18, a failover, are in test_failover.py."""
