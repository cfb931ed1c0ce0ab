"""Compare the read model of orders with the events of its topic, reduced here by other means.

The job's transaction holds rows and offsets, so one snapshot of the database says both: which orders there are, and up
to which record of each partition. The same records are read here from their beginning by another client, and reduced in
plain Python. A difference is a failure.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from wordcount import client_properties

TOPIC = "orders"
COLUMNS = ("order_id", "status", "customer", "amount_cents", "events", "created_at", "changed_at")
# One transaction: rows and offsets are of one moment.
SNAPSHOT = f"""
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT json_build_object(
  'offsets', (SELECT coalesce(json_object_agg(partition, until_offset), '{{}}') FROM job_positions
              WHERE topic = '{TOPIC}'),
  'dead', (SELECT coalesce(sum(records), 0) FROM job_dead_letters),
  'rows', (SELECT coalesce(json_agg(json_build_array({", ".join(COLUMNS)})), '[]') FROM orders));
COMMIT;
"""
Row = tuple[Any, ...]


@dataclass
class Order:
    """What the events of an order come to."""

    last: dict[str, tuple[int, Any]] = field(default_factory=dict)
    events: int = 0
    times: list[datetime] = field(default_factory=list)

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event more; what it does not say stays as it was, and so does what a later one said."""
        self.events += 1
        self.times.append(datetime.fromisoformat(event["at"].replace("Z", "+00:00")))
        for key in ("event", "customer", "amount_cents"):
            said = event["sequence"], event.get(key)
            if said[1] is not None and said[0] >= self.last.get(key, said)[0]:
                self.last[key] = said

    def row(self, name: str) -> Row:
        """Return it as a row of the read model."""
        last = [self.last.get(key, (0, None))[1] for key in ("event", "customer", "amount_cents")]
        return (name, *last, self.events, min(self.times), max(self.times))


@dataclass(frozen=True)
class Snapshot:
    """The read model at one moment: its rows, the offset after the last record of each partition, and dead letters."""

    rows: Mapping[str, Row]
    offsets: Mapping[int, int]
    dead: int

    @property
    def records(self) -> int:
        """How many records it has taken, of partitions that begin at 0."""
        return sum(self.offsets.values())


def snapshot(lab: Path, host: str) -> Snapshot:
    """Ask the database on its own host, as its superuser."""
    command = "cd / && runuser -u postgres -- psql -d orders -qAt -v ON_ERROR_STOP=1"
    done = subprocess.run(
        ["ssh", "-F", str(lab / "ssh_config"), host, command], input=SNAPSHOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{host}: the database does not answer: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    rows = {row[0]: (*row[:5], *(datetime.fromisoformat(text) for text in row[5:])) for row in found["rows"]}
    return Snapshot(rows, {int(number): until for number, until in found["offsets"].items()}, int(found["dead"]))


class Topic:
    """The topic, read from its beginning: the orders that its events come to."""

    def __init__(self, properties: Mapping[str, str | int | float | bool]) -> None:
        """Join no group."""
        settings = {"group.id": "millrace-lab-compare", "enable.auto.commit": False, "auto.offset.reset": "error"}
        self.consumer = Consumer({**properties, **settings})
        self.orders: dict[str, Order] = collections.defaultdict(Order)
        self.events = 0

    def read(self, offsets: Mapping[int, int], seconds: float) -> None:
        """Take the records below these offsets, in the order of each partition. Exits where they do not come."""
        missing = {number: until for number, until in offsets.items() if until}
        self.consumer.assign([TopicPartition(TOPIC, number, 0) for number in missing])
        deadline = time.monotonic() + seconds
        while missing:
            if time.monotonic() > deadline:
                sys.exit(f"topic {TOPIC}: no record for {seconds:.0f} s in partitions {sorted(missing)}")
            for message in self.consumer.consume(5000, 1):
                if message.error():
                    raise KafkaException(message.error())
                number, offset = message.partition() or 0, message.offset() or 0
                if number in missing and offset < missing[number]:
                    self.events += 1
                    self.orders[(message.key() or b"").decode()].add(json.loads(message.value() or b"{}"))
                if offset + 1 >= missing.get(number, offset + 2):
                    del missing[number]
                    self.consumer.pause([TopicPartition(TOPIC, number)])


def differences(expected: Mapping[str, Row], found: Mapping[str, Row]) -> Iterable[str]:
    """Return up to ten orders that differ."""
    names = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    return [f"{name}: topic {expected.get(name)}, database {found.get(name)}" for name in names[:10]]


def main() -> int:
    """Wait until enough events are applied, compare, print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=Path, required=True, help="the lab's directory, .lab/<inventory>")
    parser.add_argument("--events", type=int, default=3000, help="how many the read model has to hold more than now")
    parser.add_argument("--timeout", type=float, default=300, help="seconds to wait for them")
    arguments = parser.parse_args()
    host = json.loads((arguments.lab / "lab.json").read_text())["databases"][0]
    held, pause = snapshot(arguments.lab, host), threading.Event()
    wanted, deadline = held.records + arguments.events, time.monotonic() + arguments.timeout
    while held.records < wanted:
        if time.monotonic() > deadline:
            print(f"TOO FEW after {arguments.timeout:.0f} s: {held.records} of {wanted} events", file=sys.stderr)
            print("Look at: journalctl -u 'spark-job@*' on the Spark nodes", file=sys.stderr)
            return 1
        print(f"  applied so far: {held.records} of {wanted} events", flush=True)
        pause.wait(5)
        held = snapshot(arguments.lab, host)
    topic = Topic(client_properties(arguments.lab))
    topic.read(held.offsets, 60)
    expected = {name: order.row(name) for name, order in topic.orders.items()}
    if expected != held.rows or held.dead:
        print(f"DIFFERENT, {held.dead} dead letters:", *differences(expected, held.rows), sep="\n  ", file=sys.stderr)
        return 1
    by_status = collections.Counter(row[1] for row in held.rows.values())
    ours = collections.Counter(row[1] for row in expected.values())
    print(f"EQUAL: {len(expected)} orders of {topic.events} events, kept by the Spark job and here by other means")
    for status, count in by_status.most_common():
        print(f"  {status:<16} {count:>8} (database) = {ours[status]:>8} (here)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
