"""A topic whose replicas a test moves, and what is written to it meanwhile."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka.admin import ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic
from faults.inventory import Inventory
from faults.lab import Lab, until
from faults.ledger import load
from faults.reader import read_all
from faults.writer import Writer

if TYPE_CHECKING:
    from operations.conftest import Operator

UNLIMITED = ("-e", "rate=unlimited")
SLOW = ("-e", "rate=1MB")
THROTTLED = ".replication.throttled."
Layout = dict[int, list[int]]


class Topic:
    """A topic of two replicas, on brokers that a test chooses, and what is written to it."""

    def __init__(self, inventory: Inventory, layout: Sequence[Sequence[int]], least: int) -> None:
        """Make it."""
        self.lab, self.name = Lab(inventory), f"moves-{secrets.token_hex(4)}"
        self.config = {"min.insync.replicas": str(least)}
        new = NewTopic(self.name, len(layout), replica_assignment=[list(one) for one in layout], config=self.config)
        self.lab.admin.create_topics([new])[self.name].result(30)
        self.verb = ("reassign", "-e", f"topic={self.name}", "-e")

    def layout(self) -> Layout:
        """Return the replicas of each partition, the preferred leader first."""
        return {number: list(one.replicas) for number, one in self.lab.partitions(self.name).items()}

    def moved(self) -> Layout:
        """Return the replicas when every broker has heard of them, all in sync and led by the first."""

        def whole() -> bool:
            found = self.lab.partitions(self.name).values()
            return all(one.leader == one.replicas[0] and set(one.isr) == set(one.replicas) for one in found)

        until(f"{self.name} is in sync", whole, 20)
        return self.layout()

    def on_the_move(self) -> bool:
        """Tell whether a partition has more replicas than two: those that it gets, and those that it loses."""
        return any(len(replicas) > 2 for replicas in self.layout().values())

    def leaders(self) -> set[int]:
        """Return the brokers that lead a partition."""
        return {one.leader for one in self.lab.partitions(self.name).values()}

    def limits(self) -> list[str]:
        """Return what limits moves, of the topic and of all brokers."""
        inventory = self.lab.inventory
        asked = [(ResourceType.BROKER, str(inventory.broker_id(host))) for host in inventory.hosts("kafka")]
        asked.append((ResourceType.TOPIC, self.name))
        found = []
        for kind, name in asked:
            (future,) = self.lab.admin.describe_configs([ConfigResource(kind, name)]).values()
            entries = future.result(10).values()
            found += [f"{name}: {one.name} = {one.value}" for one in entries if THROTTLED in one.name and one.value]
        return [text for text in found if not text.endswith(f"= {2**63 - 1}")]


@contextmanager
def written(topic: Topic, folder: Path, *, fill: int = 0) -> Iterator[None]:
    """Write to a topic with acks=all; afterwards all that was acknowledged is there once, and no send has failed.

    At first so many records of 10 kB.
    """
    properties = topic.lab.inventory.kafka_properties
    if fill:
        with Writer(
            properties, topic.name, folder, run=topic.name, name="f", limit=fill, rate=2000, size=10_000
        ) as one:
            one.join()
    with Writer(properties, topic.name, folder, run=topic.name, limit=200_000, rate=200):
        yield
    ledger = load(folder)
    report = ledger.compare(read_all(properties, topic.name))
    assert report.ok and not ledger.unknown, f"{report}; failed sends: {dict([*ledger.unknown.items()][:5])}"
    assert report.acknowledged > 100


def ids(operator: Operator) -> list[int]:
    """Return the ids of three brokers."""
    return [operator.inventory.broker_id(host) for host in operator.inventory.hosts("kafka")][:3]


def begun(operator: Operator, topic: Topic, *options: str) -> subprocess.Popen[str]:
    """Start a run, and wait until replicas are on the move."""
    run = operator.begin(*topic.verb, *options)
    until("replicas are on the move", lambda: topic.on_the_move() or run.poll() is not None, 120)
    assert run.poll() is None, run.communicate()[0][-3000:]
    return run
