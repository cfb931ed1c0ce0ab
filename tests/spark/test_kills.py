"""Kills that a seed chooses, round by round: of a job, of its database, of its broker. The read model stays exact.

Events come meanwhile. In a transaction of the job's, whose rows are written and whose positions are not, or at any
moment.
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event as Pause
from threading import Thread

import psycopg
import pytest
from confluent_kafka import Producer

from .broker import Broker
from .database import Server, rows
from .helpers import environment, eventually
from .ledger import Event, expected, read_model, some_events
from .projected import committed, held, project_orders

pytestmark = pytest.mark.campaign
EACH, FIRST, RATE = 400, 100, 200
"""Events of a round, those that are there when its job starts, and how many of the others are sent in a second."""
IN_BATCH, ANY, DATABASE, BROKER = "in a transaction", "at any moment", "with its database", "with its broker"
WAITING = """SELECT count(*) FROM pg_locks
WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
LONGEST = 120


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the job, Python and JVM in a group of their own, which is gone afterwards."""
    with log.open("ab") as file:
        job = subprocess.Popen(command, stderr=file, env=environment(), start_new_session=True)
    try:
        yield job
    finally:
        kill(job)


def kill(job: "subprocess.Popen[bytes]") -> None:
    """Kill both with signal 9."""
    with suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    job.wait(60)


class Sender(Thread):
    """Sends a round's events, whatever happens to the broker meanwhile."""

    def __init__(self, servers: str, topic: str, events: Sequence[Event]) -> None:
        """Begin."""
        super().__init__(daemon=True)
        self.servers, self.topic, self.events, self.acknowledged = servers, topic, events, 0
        self.start()

    def run(self) -> None:
        """Send them at RATE."""
        quick = {"reconnect.backoff.max.ms": 500, "log_level": 0}
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, **quick})
        for order, value in self.events:
            producer.produce(self.topic, value, order, on_delivery=self.answered)
            producer.poll(1 / RATE)
        producer.flush(LONGEST)

    def answered(self, error: object, _: object) -> None:
        """Count those that are acknowledged."""
        self.acknowledged += error is None

    def end(self) -> None:
        """Return once all are acknowledged."""
        self.join(2 * LONGEST)
        assert self.acknowledged == len(self.events)


@contextmanager
def held_up(database: dict[str, str]) -> Iterator[None]:
    """Let the job write its rows, and wait before it writes how far they reach; it goes on afterwards."""
    deadline = time.monotonic() + LONGEST
    with psycopg.connect(**database) as connection:
        connection.execute("LOCK TABLE job_positions IN SHARE MODE")
        while rows(database, WAITING) == [(0,)]:
            assert time.monotonic() < deadline
            Pause().wait(0.01)
        yield


def end(
    kind: str,
    job: "subprocess.Popen[bytes]",
    server: Server,
    broker: Broker,
    database: dict[str, str],
    chance: random.Random,
) -> None:
    """Kill the job, and who goes with it: before the job or after it."""
    if kind == IN_BATCH:
        with held_up(database):
            if chance.random() < 0.5:
                return kill(job)
        Pause().wait(chance.uniform(0, 0.02))  # the rest of the transaction takes about as long
        return kill(job)
    Pause().wait(chance.uniform(0, 1.5))
    victim = {DATABASE: (server.stop, server.start), BROKER: (broker.kill, broker.start)}.get(kind)
    if victim is None:
        return kill(job)
    down, up = victim
    down()
    Pause().wait(chance.uniform(0, 3))
    if chance.random() < 0.5:
        kill(job)
        up()
    else:  # it sees that they are back, and is killed then
        up()
        Pause().wait(chance.uniform(0, 3))
        kill(job)
    return None


def test_kills(broker: Broker, server: Server, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Nothing is missing and nothing double, and the group never says more than the database holds."""
    seed, rounds = pytestconfig.getoption("--kills-seed"), pytestconfig.getoption("--kills-rounds")
    chance, done, database, topic = random.Random(seed), Counter[str](), server.database(), broker.topic(partitions=2)
    command, events = project_orders(broker, topic, database, tmp_path), some_events(EACH * (rounds + 1), seed)
    subprocess.run([*command, "--migrate"], capture_output=True, env=environment(), check=True)
    for number in range(rounds):
        sent = EACH * number
        first = Sender(broker.servers, topic, events[sent : sent + FIRST])
        before = sum(held(database).values())
        with running(command, tmp_path / "log") as job:
            deadline = time.monotonic() + LONGEST
            while sum(held(database).values()) == before:
                assert job.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()[-5000:]
                Pause().wait(0.02)
            first.end()  # the others come in their order
            rest = Sender(broker.servers, topic, events[sent + FIRST : EACH * (number + 1)])
            kind = chance.choice([IN_BATCH, IN_BATCH, ANY, DATABASE, BROKER])
            end(kind, job, server, broker, database, chance)
        rest.end()
        done[kind] += 1
        found, said = held(database), committed(broker, topic)
        assert all(said[partition] <= found.get(partition, 0) for partition in said), f"SEED={seed} {number}: {kind}"
        print(f"round {number + 1} of {rounds} (SEED={seed}): {kind}; {sum(found.values())} held", flush=True)
    with running(command, tmp_path / "log") as job:  # and is stopped as a unit is, once it holds all
        sender = Sender(broker.servers, topic, events[EACH * rounds :])
        eventually(lambda: sum(held(database).values()), len(events), LONGEST)
        sender.end()
        eventually(lambda: committed(broker, topic) == held(database), True)
        job.send_signal(signal.SIGTERM)
        assert job.wait(LONGEST) == 0, (tmp_path / "log").read_text()[-5000:]
    print(f"SEED={seed}: {len(events)} events; {', '.join(f'{kind} {times}' for kind, times in sorted(done.items()))}")
    assert read_model(database) == expected(events)
    assert rounds < 20 or done[IN_BATCH] >= rounds / 5, done
