"""Measures whether records can be written and read, by writing one to each partition of a topic each second. No I/O.

The connections to the cluster are in facade/canary.py.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Failure

INTERVAL = 1.0
"""Seconds between two records of a partition."""
TIMEOUT = 10.0
"""Seconds after which a record expires. No more records are kept than are sent in this time."""
UNREAD = 11.0
"""Seconds that are counted for a record that was acknowledged, but not read within TIMEOUT: above all buckets."""
POLL = 0.01
"""Seconds to wait for acknowledgements and then for records, in turn, while acknowledgements are missing."""
REPEAT = 60.0
"""Seconds in which at most one error is printed."""
RESTART = 10.0
"""Seconds after an unexpected error until new connections are made."""
ACKNOWLEDGED, READ = STEPS = ("acknowledged", "read")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper limits of the buckets in seconds."""
NO_LEADER = "none"
UNSEEN = 5
"""Seconds for which the topic may be missing, as at a broker that has just started, until this counts as failures."""


@dataclass
class Record:
    """A record that was sent, and has not been both acknowledged and read yet."""

    number: int
    partition: int
    broker: str
    """The id of the partition's leader when the record was sent."""
    sent: float
    """The monotonic time."""
    offset: int | None = None
    """The offset that its acknowledgement named."""


@dataclass(frozen=True)
class Answer:
    """The result of a record: acknowledged at an offset, or failed."""

    number: int
    seconds: float = 0.0
    """How long the acknowledgement took."""
    offset: int | None = None
    """None if the record failed."""
    error: str = ""


@dataclass(frozen=True)
class Message:
    """A record as it was read."""

    partition: int
    offset: int
    value: bytes


class Wire(Protocol):
    """The connections of a canary to the brokers; facade/canary.py implements them."""

    def leaders(self) -> Mapping[int, int]:
        """Return the leader of each partition, -1 without one; {} if the topic is missing. Raises Failure."""

    def send(self, partition: int, number: int, value: bytes) -> None:
        """Start to write a record; its Answer follows. Raises Failure if it cannot be written."""

    def answers(self, seconds: float) -> Iterable[Answer]:
        """Wait at most so many seconds for a result, and return the results since the last call."""

    def assign(self, positions: Mapping[int, int]) -> None:
        """Read these partitions from these offsets, and no other partitions."""

    def read(self, seconds: float) -> Iterable[Message]:
        """Wait at most so many seconds for a record, and return the records that have arrived."""

    def close(self) -> None:
        """Close the connections."""


class Tally:
    """Counts records and their times by broker. Threads may count and read at the same time."""

    def __init__(self, brokers: Iterable[int] = ()) -> None:
        """Begin with zeros for `brokers`: Prometheus sees no increase of a metric that was not there before."""
        self.lock = threading.Lock()
        self.sent, self.acknowledged, self.failed = dict[str, int](), dict[str, int](), dict[str, int]()
        self.counts = dict[tuple[str, str], list[int]]()
        """By (broker, step), the number of records in each bucket; the last is that above all limits."""
        self.seconds = dict[tuple[str, str], float]()
        for broker in (NO_LEADER, *map(str, brokers)):
            self.add("sent", broker, 0)

    def add(self, kind: str, broker: str, number: int = 1) -> None:
        """Count records; `kind` is sent, acknowledged or failed."""
        with self.lock:
            if broker not in self.sent:
                for each in (self.sent, self.acknowledged, self.failed):
                    each[broker] = 0
                for step in STEPS:
                    self.counts[broker, step] = [0] * (len(BUCKETS) + 1)
                    self.seconds[broker, step] = 0.0
            vars(self)[kind][broker] += number

    def took(self, broker: str, step: str, seconds: float) -> None:
        """Count the time that a record took until a step."""
        with self.lock:
            self.counts[broker, step][bisect_left(BUCKETS, seconds)] += 1
            self.seconds[broker, step] += seconds

    def counters(self) -> list[tuple[str, str, list[tuple[str, int]]]]:
        """Return (name, text, [(broker, number)]) of each counter."""
        texts = {
            "sent": "Records of the canary that were sent, or could not be because the topic was missing.",
            "acknowledged": "Records of the canary that all in-sync replicas have.",
            "failed": "Records of the canary that were not acknowledged in time.",
        }
        with self.lock:
            return [(f"kafka_canary_{kind}", text, sorted(vars(self)[kind].items())) for kind, text in texts.items()]

    def histograms(self) -> list[tuple[tuple[str, str], list[tuple[str, int]], float]]:
        """Return ((broker, step), [(upper limit, number of records up to it)], sum of seconds)."""
        limits = [*map(str, BUCKETS), "+Inf"]
        with self.lock:
            return [
                (labels, list(zip(limits, accumulate(counts), strict=True)), self.seconds[labels])
                for labels, counts in sorted(self.counts.items())
            ]


class Canary:
    """Keeps the records that have no result yet, and the position of the consumer in each partition."""

    def __init__(self, tally: Tally, name: str) -> None:
        """Count in `tally`. `name` differs from that of each other canary, whose records may be in the same topic."""
        self.tally, self.name, self.last = tally, name, 0
        self.records = dict[int, Record]()
        """By number, those that are neither read nor failed."""
        self.read = set[int]()
        """Numbers of records that were read before their acknowledgement arrived."""
        self.positions = dict[int, int]()
        """The next offset to read of each partition. Reading begins at the first acknowledged record."""
        self.moved = False
        """Whether the consumer must continue at other positions."""

    def expire(self, now: float) -> None:
        """Forget records that are too old: those without an acknowledgement failed, others count with UNREAD."""
        for record in [one for one in self.records.values() if now - one.sent >= TIMEOUT]:
            if record.offset is None and record.number not in self.read:
                self.tally.add("failed", record.broker)
            elif record.offset is None:  # it was read, so it was written
                self.tally.add(ACKNOWLEDGED, record.broker)
            else:
                self.tally.took(record.broker, READ, UNREAD)
                if record.offset >= self.positions.get(record.partition, 0):  # not skipped by an earlier expiry
                    self.positions.pop(record.partition, None)  # reading restarts at the next acknowledged record
            self.forget(record)

    def next(self, partition: int, leader: int, now: float) -> Record:
        """Return a record to send to a partition."""
        self.last += 1
        record = Record(self.last, partition, str(leader) if leader >= 0 else NO_LEADER, now)
        self.records[record.number] = record
        self.tally.add("sent", record.broker)
        return record

    def missing(self, number: int) -> None:
        """Count records that cannot be sent because the topic is missing: to a client, it is not available."""
        self.tally.add("sent", NO_LEADER, number)
        self.tally.add("failed", NO_LEADER, number)

    def value(self, record: Record) -> bytes:
        """Return the value of a record, by which it is recognised."""
        return f"{self.name}:{record.number}".encode()

    def answered(self, answer: Answer) -> None:
        """Count the result of a record. A result that comes too late is not counted again."""
        record = self.records.get(answer.number)
        if record is None:
            return
        if answer.offset is None:
            self.tally.add("failed", record.broker)
            self.forget(record)
            return
        record.offset = answer.offset
        self.tally.add(ACKNOWLEDGED, record.broker)
        self.tally.took(record.broker, ACKNOWLEDGED, answer.seconds)
        if record.number in self.read:
            self.forget(record)
        elif answer.offset < self.positions.get(record.partition, answer.offset + 1):
            # the partition is not read yet, or the topic is a new one
            self.positions[record.partition], self.moved = answer.offset, True

    def arrived(self, message: Message, now: float) -> None:
        """Count a record that was read."""
        if message.partition in self.positions:
            self.positions[message.partition] = message.offset + 1
        name, _, number = message.value.decode(errors="replace").rpartition(":")
        own = name == self.name and number.isdecimal() and len(number) < 20
        record = self.records.get(int(number)) if own else None
        if record is None or record.number in self.read:
            return
        self.tally.took(record.broker, READ, now - record.sent)
        if record.offset is None:
            self.read.add(record.number)
        else:
            self.forget(record)

    def forget(self, record: Record) -> None:
        """Stop waiting for a record."""
        del self.records[record.number]
        self.read.discard(record.number)

    def keep(self, partitions: Iterable[int]) -> None:
        """Stop reading partitions that no longer exist."""
        for gone in self.positions.keys() - set(partitions):
            del self.positions[gone]
            self.moved = True

    @property
    def unsettled(self) -> bool:
        """Whether acknowledgements are missing."""
        return any(record.offset is None for record in self.records.values())


class Complaints:
    """Prints errors, at most one in REPEAT seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now` returns the monotonic time."""
        self.now, self.last, self.hidden = now, float("-inf"), 0

    def __call__(self, text: str) -> None:
        """Print an error, or count it if one was printed a short time ago."""
        if self.now() - self.last < REPEAT:
            self.hidden += 1
            return
        hidden = f" ({self.hidden} errors were not printed)" if self.hidden else ""
        self.last, self.hidden = self.now(), 0
        print(f"canary: {text}{hidden}", flush=True)


class Runner:
    """Sends and reads the records of a canary until the process ends."""

    def __init__(
        self, canary: Canary, complain: Callable[[str], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        """`now` returns the monotonic time."""
        self.canary, self.complain, self.now = canary, complain, now
        self.due = now()
        self.leaders: Mapping[int, int] = {}
        """Those that the cluster named last: while it does not answer, records are sent to them."""
        self.unseen = 0
        """For how many records in turn the topic has been missing."""

    def run(self, connect: Callable[[], Wire], rest: Callable[[float], object] = time.sleep) -> None:
        """Make turns until the process ends. After an unexpected error, begin with new connections."""
        while True:
            wire = None
            try:
                wire = connect()
                self.canary.positions.clear()
                while True:
                    self.turn(wire)
            except Exception as error:  # the canary continues, whatever a connection does
                self.complain(f"{type(error).__name__}: {error}")
            if wire is not None:
                try:
                    wire.close()
                except Exception as error:
                    self.complain(f"{type(error).__name__}: {error}")
            rest(RESTART)

    def turn(self, wire: Wire) -> None:
        """Send what is due, and count what has arrived."""
        now = self.now()
        if now >= self.due:
            late = now >= self.due + INTERVAL
            self.due = (now if late else self.due) + INTERVAL  # after a pause, nothing is made up for
            self.send(wire)
        for answer in wire.answers(POLL if self.canary.unsettled else 0.0):
            if answer.error:
                self.complain(answer.error)
            self.canary.answered(answer)
        if self.canary.moved:
            wire.assign(self.canary.positions)
            self.canary.moved = False
        left = max(0.0, self.due - self.now())
        for message in wire.read(min(left, POLL) if self.canary.unsettled else left):
            self.canary.arrived(message, self.now())

    def send(self, wire: Wire) -> None:
        """Send a record to each partition."""
        self.canary.expire(self.now())
        try:
            leaders = wire.leaders()
        except Failure as error:
            self.complain(str(error))
            leaders = self.leaders
        if not leaders:
            self.unseen += 1
            if self.unseen > UNSEEN:
                self.canary.missing(len(self.leaders) or 1)
            return
        self.leaders, self.unseen = leaders, 0
        self.canary.keep(leaders)
        for partition, leader in sorted(leaders.items()):
            record = self.canary.next(partition, leader, self.now())
            try:
                wire.send(partition, record.number, self.canary.value(record))
            except Failure as error:
                self.canary.answered(Answer(record.number))
                self.complain(str(error))
