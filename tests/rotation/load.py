"""Clients that write and read all the while, and what ports and hosts show of their certificates."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from faults.inventory import Inventory
from faults.lab import until
from faults.ledger import load, longest_gaps
from faults.promises import GAP, Clock
from faults.reader import read_all
from faults.writer import Writer
from operations.conftest import Operator

PARTITIONS = 6
LIMIT, RATE = 180_000, 200  # 15 minutes: longer than any rotation


class Follower(threading.Thread):
    """A consumer that reads on and on; counts what it reads and remembers every error."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        """Begin at the first record of every partition."""
        super().__init__(daemon=True)
        self.read, self.errors, self.stop = 0, list[str](), threading.Event()
        own = {
            "group.id": f"{topic}-follower",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.min.bytes": 10_000,  # else a request for each record; brokers answer after that time all the same
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
        self.consumer = Consumer({**properties, **own, "error_cb": lambda error: self.errors.append(str(error))})
        self.consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def run(self) -> None:
        """Read until told to stop."""
        while not self.stop.is_set():
            for message in self.consumer.consume(500, 0.2):
                self.errors += [str(message.error())] if message.error() else []
                self.read += message.error() is None
        self.consumer.close()


class Load:
    """A producer with acks=all and a follower, and what the ledger says of them: from `with` to `end`, or its end."""

    def __init__(self, inventory: Inventory, topic: str, folder: Path, name: str) -> None:
        """Make both; nothing is sent or read yet."""
        self.properties, self.topic, self.folder = inventory.kafka_properties, topic, folder / name
        self.clock = Clock("rotation of certificates and passwords")
        self.follower = Follower(self.properties, topic)
        self.writer = Writer(self.properties, topic, self.folder, run=topic, name=name, limit=LIMIT, rate=RATE)
        self.running = ExitStack()

    def __enter__(self) -> Load:
        """Start both."""
        with ExitStack() as running:
            self.follower.start()
            running.callback(self.follower.join, 30)
            running.callback(self.follower.stop.set)
            running.enter_context(self.writer)
            self.running = running.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what still runs."""
        self.running.close()

    def goes_on(self) -> None:
        """After the last step: the producer still writes."""
        acked = self.writer.acked
        until("the load goes on after the last step", lambda: self.writer.acked >= acked + 100, 60)

    def end(self) -> str:
        """Stop and return the measured.

        Raises AssertionError where a send failed or took too long, a record is missing, or the follower met an error.
        """
        self.goes_on()
        self.running.close()
        ledger = load(self.folder)
        assert ledger.unknown == {}, "sends failed"
        keys = {ack.key for ack in ledger.acks}
        found = [record for record in read_all(self.properties, self.topic) if record.key in {*ledger.intents}]
        assert ledger.compare(found).ok, ledger.compare(found)
        assert len(keys) > 500
        assert self.follower.errors == []
        assert self.follower.read >= len(keys) * 0.9, "the follower stood still"
        self.clock.compare(GAP, max(longest_gaps(ledger.acks, range(PARTITIONS)).values()))
        return f"{len(keys)} acknowledged, none failed, none missing, {self.follower.read} read meanwhile, {self.clock}"


def served(inventory: Inventory) -> dict[str, str]:
    """Return the serial that each port of a broker or server presents, asked from a peer, where all ports are open."""
    asked = {
        f"{host} {port}": (host, inventory.client_address(host), port)
        for host in inventory.hosts("kafka")
        for port in (9092,)
    }
    asked |= {
        f"{host} {port}": (host, inventory.replication_address(host), port)
        for host in inventory.hosts("kafka")
        for port in (9093,)
    }
    asked |= {
        f"{host} {port}": (host, inventory.replication_address(host), port)
        for host in inventory.hosts("zookeeper")
        for port in (2281, 3888)
    }
    found = {}
    for name, (host, address, port) in asked.items():
        folder = "/etc/kafka/tls" if host in inventory.hosts("kafka") else "/etc/zookeeper/tls"
        command = (
            f"openssl s_client -connect {address}:{port} -cert {folder}/keystore.pem -key {folder}/keystore.pem "
            "</dev/null 2>/dev/null | openssl x509 -noout -serial"
        )
        found[name] = inventory.run(host, command).strip()
    return found


def on_disk(inventory: Inventory) -> dict[str, str]:
    """Return the serial of each host's certificate file, as openssl says it."""
    folders = {"kafka": "/etc/kafka/tls", "zookeeper": "/etc/zookeeper/tls"}
    return {
        host: inventory.run(host, f"openssl x509 -noout -serial -in {folder}/keystore.pem").strip()
        for group, folder in folders.items()
        for host in inventory.hosts(group)
    }


def services(operator: Operator) -> dict[str, str]:
    """Return the processes of servers and brokers."""
    return {
        host: text
        for host, text in operator.processes().items()
        if host in (*operator.inventory.hosts("kafka"), *operator.inventory.hosts("zookeeper"))
    }
