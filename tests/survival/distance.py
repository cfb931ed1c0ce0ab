"""A distance between the datacenters of a stretched cluster, and what it costs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from confluent_kafka import Producer
from faults.inventory import ROOT, Inventory
from faults.lab import UNITS, until

from .quorum import modes_of
from .stretched import ENVIRONMENT, Stretched

RECORDS, RECORD = 200, 1024
COPIED = 40_000_000
"""Bytes that a broker copies when it returns."""
HANDSHAKE = """
import socket, ssl, sys, time
context = ssl.create_default_context(cafile=sys.argv[3])
context.check_hostname = False
begun = time.monotonic()
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connected = time.monotonic()
context.wrap_socket(connection)
print(connected - begun, time.monotonic() - connected)
"""


class Link:
    """The link between the datacenters of a lab: bytes that passed it."""

    def __init__(self, counts: Path, relay: int) -> None:
        """`counts` is the file that the relay writes once a second, `relay` the id of its process."""
        self._counts, self._relay = counts, relay

    def toggle(self) -> None:
        """Cut the datacenters off from each other, or connect them again."""
        os.kill(self._relay, signal.SIGUSR1)

    def settled(self) -> Mapping[str, int]:
        """Return {"client dc1 dc2": bytes} once the relay has written what passed until now."""
        written = self._counts.stat().st_mtime_ns
        until("the relay writes its counts again", lambda: self._counts.stat().st_mtime_ns > written, 30)
        found: dict[str, int] = json.loads(self._counts.read_text())
        return found


@contextmanager
def apart(inventory: Inventory, milliseconds: float, *options: str) -> Iterator[Link]:
    """Put the datacenters so many milliseconds apart, there and back, until the end of the block.

    Further options are those of lab/distance.py.
    """
    directory = inventory.lab_directory
    assert directory
    (directory / "distance.json").unlink(missing_ok=True)
    command = [
        *(sys.executable, str(ROOT / "lab" / "distance.py"), str(directory)),
        *("--round-trip", str(milliseconds), *options),
    ]
    relay = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert relay.stdout
    try:
        line = relay.stdout.readline()
        assert "apart" in line, line
        until("the relay counts", (directory / "distance.json").exists, 30)
        yield Link(directory / "distance.json", relay.pid)
    finally:
        relay.terminate()
        print(relay.communicate(timeout=60)[0])
    assert relay.returncode == 0


def connection(cluster: Stretched) -> tuple[float, float]:
    """Return how long a broker takes to connect to one of the other datacenter, and for the TLS handshake then, in ms.

    The shortest and the median of ten.
    """
    here, there = (cluster.inventory.hosts("kafka")[number] for number in (0, -1))
    address, port = cluster.inventory.client_address(there), cluster.inventory.port("CLIENT")
    command = f"python3 - {address} {port} /etc/kafka/tls/ca.pem"
    times = [[float(word) for word in cluster.inventory.run(here, command, stdin=HANDSHAKE).split()] for _ in range(10)]
    return 1000 * min(first for first, _ in times), 1000 * median(second for _, second in times)


def acknowledgements(cluster: Stretched, topic: str) -> tuple[float, float]:
    """Return median and 99th percentile of milliseconds until a record is acknowledged by all replicas, one by one.

    The producer is next to the leader.
    """
    producer = Producer({**cluster.inventory.kafka_properties, "acks": "all", "linger.ms": 0})
    taken = []
    for number in range(RECORDS + 20):
        begun = time.monotonic()
        producer.produce(topic, bytes(RECORD), partition=0)
        assert producer.flush(60) == 0
        if number >= 20:  # the first ones connect
            taken.append(1000 * (time.monotonic() - begun))
    taken.sort()
    return median(taken), taken[len(taken) * 99 // 100]


def election(cluster: Stretched) -> float:
    """Kill the leader of the ensemble; return the seconds until another one leads. The first one is started again."""
    servers = list(cluster.inventory.hosts("zookeeper"))

    def leading() -> list[str]:
        """Return the modes of all servers, [] while none leads."""
        found = modes_of(cluster.inventory, servers)
        return found if "leader" in found else []

    modes = until("one server leads", leading, 60)
    leader = servers[modes.index("leader")]
    left = [host for host in servers if host != leader]
    cluster.take_away([leader])
    begun = time.monotonic()
    until("another one leads", lambda: "leader" in modes_of(cluster.inventory, left), 120, 0.1)
    taken = time.monotonic() - begun
    cluster.start_zookeeper([leader])
    until("all serve", lambda: all(modes_of(cluster.inventory, servers)), 120)
    return taken


def fill(cluster: Stretched, topic: str, size: int) -> None:
    """Write so many bytes to the first partition."""
    producer = Producer(
        {**cluster.inventory.kafka_properties, "acks": "1", "linger.ms": 50, "message.timeout.ms": 300000}
    )
    value = bytes(100_000)
    for _ in range(size // len(value)):
        producer.produce(topic, value, partition=0)
        producer.poll(0)
        if len(producer) > 100:
            producer.flush(300)
    assert producer.flush(300) == 0


def copying(cluster: Stretched, topic: str) -> float:
    """Stop a broker that follows from far away, write, start it; return how fast it copies what it missed, in MB/s."""
    partition = cluster.lab.partitions(topic)[0]
    near = cluster.inventory.broker(partition.leader).partition("-")[0]
    follower = next(
        host for host in map(cluster.inventory.broker, partition.replicas) if not host.startswith(f"{near}-")
    )
    number = cluster.inventory.broker_id(follower)
    cluster.inventory.run(follower, f"systemctl stop {UNITS['kafka']}", seconds=120)
    fill(cluster, topic, COPIED)
    cluster.start_brokers([follower])
    until(f"{follower} is registered", lambda: number in cluster.lab.admin.list_topics(timeout=20).brokers, 120, 0.1)
    begun = time.monotonic()
    until(f"{follower} is in sync", lambda: number in cluster.lab.partitions(topic)[0].isr, 400, 0.1)
    taken = time.monotonic() - begun
    cluster.whole()
    return COPIED / taken / 1e6


def measured(cluster: Stretched, topic: str) -> dict[str, float]:
    """Return what one distance costs."""
    connect, handshake = connection(cluster)
    middle, most = acknowledgements(cluster, topic)
    return {
        "connection ms": round(connect, 1),
        "TLS handshake ms": round(handshake, 1),
        "acks=all p50 ms": round(middle, 1),
        "acks=all p99 ms": round(most, 1),
        "election s": round(election(cluster), 1),
        "copy MB/s": round(copying(cluster, topic), 1),
    }
