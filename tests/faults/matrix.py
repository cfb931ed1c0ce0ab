"""The fault matrix of one datacenter: what is done, what is promised of it, and in how many seconds.

docs/reliability.md shows the table with what runs have measured (make faults, make docs).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from .injector import Injector
from .lab import UNITS, Lab, until

CLIENT, REPLICATION = "client", "replication"


@dataclass(frozen=True)
class Attack:
    """A lab under load, and what a row does to it."""

    lab: Lab
    injector: Injector
    topic: str
    acked: Callable[[], int]
    """How many records are acknowledged."""

    @property
    def leader(self) -> str:
        """The host that leads the first partition."""
        return self.lab.leader(self.topic)

    @property
    def controller(self) -> str:
        """The host of the controller."""
        found = self.lab.admin.describe_cluster().result(10).controller
        assert found is not None, "no controller"
        return self.lab.inventory.broker(found.id)

    @property
    def followers(self) -> list[str]:
        """The ZooKeeper servers that follow."""
        return [host for host, said in self.lab.zookeeper().items() if said.get("Mode") == "follower"]


@dataclass(frozen=True)
class Row:
    """One fault. Both times are promises in seconds."""

    number: str
    """In the matrix; rows are named by it: ROWS=2,9a."""
    fault: str
    promise: str
    gap: float
    """Longest time without an acknowledgement of any one partition, the fault itself included."""
    whole: float
    """From the end of the fault until every ISR and the ensemble are full."""
    act: Callable[[Attack], None]
    """Does the fault, and returns when it is over."""
    least: float = 0
    """The gap is no shorter: where nothing can be acknowledged meanwhile."""


def stop_gently(attack: Attack) -> None:
    """SIGTERM: the broker hands its partitions over first."""
    with attack.injector.down([attack.leader], gently=True):
        time.sleep(5)


def two_brokers(attack: Attack) -> None:
    """Below min.insync.replicas nothing is acknowledged."""
    brokers = attack.lab.inventory.hosts("kafka")
    with attack.injector.down([host for host in brokers if host != attack.leader][:2]):
        time.sleep(10)  # what was on its way is answered
        before = attack.acked()
        time.sleep(5)
        assert attack.acked() == before, f"{attack.acked() - before} records were acknowledged below min ISR"


def all_brokers(attack: Attack) -> None:
    """Killed at once; systemd starts them."""
    hosts = attack.lab.inventory.hosts("kafka")
    before = {host: attack.lab.pid(host, UNITS["kafka"]) for host in hosts}
    attack.lab.on_all(hosts, f"kill -9 $(systemctl show -p MainPID --value {UNITS['kafka']})")
    for host, pid in before.items():
        attack.injector.back(host, UNITS["kafka"], pid, 60)


def rack(attack: Attack) -> None:
    """All hosts of the leader's rack lose their power at once."""
    inventory = attack.lab.inventory
    name = inventory.variables[attack.leader]["rack"]
    hosts = [
        host
        for host in dict.fromkeys([*inventory.hosts("zookeeper"), *inventory.hosts("kafka")])
        if inventory.variables[host].get("rack") == name
    ]
    assert len(hosts) > 1, f"rack {name} is {hosts}"
    attack.injector.power_off_together(hosts, 8)


def without_quorum(attack: Attack) -> None:
    """Records go on; a topic cannot be made; all recovers by itself."""
    with attack.injector.down(attack.followers):
        time.sleep(5)
        try:
            attack.lab.admin.create_topics(
                [NewTopic(f"{attack.topic}-refused", 1, 3)], operation_timeout=5, request_timeout=8
            )[f"{attack.topic}-refused"].result(10)
        except KafkaException:
            pass
        else:
            raise AssertionError("a topic was made without a quorum")


def disks_full(attack: Attack) -> None:
    """The broker ends when its files need another block, the others go on; it starts again when there is room."""
    host, unit = attack.leader, UNITS["kafka"]
    pid = attack.lab.pid(host, unit)
    with attack.injector.full(host, attack.lab.inventory.variables[host]["kafka_log_dirs"]):
        until(f"the broker on {host} ends", lambda: attack.lab.pid(host, unit) != pid, 120)
        time.sleep(5)
    attack.injector.back(host, unit, pid, 60)


def five_kills(attack: Attack) -> None:
    """Whoever leads, as soon as the last one's process is back."""
    for _ in range(5):
        attack.injector.kill(attack.leader)


def frozen(seconds: float) -> Callable[[Attack], None]:
    """Freeze the leader."""
    return lambda on: on.injector.freeze(on.leader, seconds)


def cut(network: str) -> Callable[[Attack], None]:
    """Take a network from the leader's host for 15 s."""
    return lambda on: on.injector.cut([on.leader], network, 15)


def everywhere(network: str) -> Callable[[Attack], None]:
    """Take a network from all brokers and servers at once for 15 s, as their switch would."""
    return lambda on: on.injector.cut(
        [*on.lab.inventory.hosts("kafka"), *on.lab.inventory.hosts("zookeeper")], network, 15
    )


def unheard(attack: Attack) -> None:
    """What the leader sends to ZooKeeper is dropped; the rest arrives."""
    attack.injector.drop(attack.leader, attack.lab.inventory.zookeeper_port, 20)


RPO = "no acknowledged record is lost"
ON, STOP, WAIT = f"{RPO}; writes continue", f"{RPO}; writes stop", f"{RPO}; writes to its partitions wait"
ROWS = (
    Row("1", "SIGTERM of a leader, down for 5 s", ON, 2.5, 30, stop_gently),
    Row("2", "kill -9 of a leader", ON, 7, 40, lambda on: on.injector.kill(on.leader)),
    Row("3", "kill -9 of the controller", ON, 8, 40, lambda on: on.injector.kill(on.controller)),
    Row("4", "five kills of the current leader", f"{STOP} while two brokers are down", 60, 60, five_kills),
    Row("5a", "a leader frozen for 5 s", WAIT, 10, 20, frozen(5), least=4.5),
    Row("5b", "a leader frozen for 20 s", ON, 15, 40, frozen(20)),
    Row("6", "two brokers of three down for 15 s", STOP, 45, 60, two_brokers, least=14),
    Row("7", "kill -9 of all brokers at once", STOP, 45, 60, all_brokers),
    Row("8", "power off of a rack for 8 s", ON, 15, 60, rack),
    Row("9a", "kill -9 of a ZooKeeper follower", ON, 2.5, 25, lambda on: on.injector.kill(on.followers[0])),
    Row("9b", "kill -9 of ZooKeeper's leader", ON, 3, 25, lambda on: on.injector.kill(on.lab.zookeeper_leader())),
    Row("10", "ZooKeeper without a quorum for 15 s", f"{ON}, changes of metadata wait", 5, 40, without_quorum),
    Row("12a", "no client network on any host for 15 s", STOP, 40, 60, everywhere(CLIENT), least=14),
    Row("12b", "no replication network on any host for 15 s", STOP, 45, 60, everywhere(REPLICATION)),
    Row("13", "a leader's host loses the client network for 15 s", RPO, 35, 60, cut(CLIENT), least=14),
    Row("23", "packets from a leader to ZooKeeper dropped for 20 s", ON, 15, 60, unheard),
    Row("24", "a leader's host loses the replication network for 15 s", WAIT, 40, 60, cut(REPLICATION)),
    Row("26", "all disks of a leader full, until the broker ends", ON, 15, 60, disks_full),
)
