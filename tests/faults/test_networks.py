"""Brokers talk among themselves on the replication network alone, and clients on the client network alone."""

from collections.abc import Callable, Mapping
from pathlib import Path

from .lab import Lab
from .ledger import load
from .reader import read_all
from .writer import Writer

RECORDS, SIZE = 8000, 2500  # 20 MB
FOLLOWERS = 2  # of a topic of RF 3
COUNTERS = ("client/rx", "client/tx", "replication/rx", "replication/tx")


def bytes_moved(lab: Lab) -> dict[str, dict[str, int]]:
    """Return {host: {interface/direction: bytes so far}} of the brokers."""
    files = " ".join("/sys/class/net/{}/statistics/{}_bytes".format(*name.split("/")) for name in COUNTERS)
    said = lab.on_all(lab.inventory.hosts("kafka"), f"cat {files}")
    return {host: dict(zip(COUNTERS, map(int, text.split()), strict=True)) for host, text in said.items()}


def total(moved: Mapping[str, Mapping[str, int]], counter: str) -> int:
    """Sum one counter over the brokers."""
    return sum(counters[counter] for counters in moved.values())


def test_replication_stays_off_the_client_network(
    lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None]
) -> None:
    """Clients send each byte once, brokers to two followers, and hardly anything leaves on the client network."""
    sent = RECORDS * SIZE
    before = bytes_moved(lab)
    with Writer(
        lab.inventory.kafka_properties, topic, tmp_path, run=topic, limit=RECORDS, rate=4000, size=SIZE
    ) as writer:
        writer.join()
    ledger = load(tmp_path)
    assert len(ledger.acks) == RECORDS
    after = bytes_moved(lab)
    moved = {host: {name: after[host][name] - before[host][name] for name in COUNTERS} for host in before}

    note(
        f"{sent / 1e6:.1f} MB produced; " + ", ".join(f"{name} {total(moved, name) / 1e6:.2f} MB" for name in COUNTERS)
    )
    assert sent <= total(moved, "client/rx") <= 1.25 * sent
    for direction in ("replication/rx", "replication/tx"):
        assert FOLLOWERS * sent <= total(moved, direction) <= 1.25 * FOLLOWERS * sent, direction
    for host, counters in moved.items():
        assert counters["replication/tx"] > 0.1 * sent, f"{host} led nothing, and proves nothing: {counters}"
        assert counters["client/tx"] < 0.05 * counters["replication/tx"], f"{host}: {counters}"
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic))
    assert report.ok, str(report)
