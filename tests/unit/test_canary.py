"""The canary of the exporter, with a pretended cluster and clock; at the end, with librdkafka's mock cluster."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from confluent_kafka import Producer
from unit.clock import Clock

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Failure
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter import canary, server
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.canary import (
    Answer,
    Canary,
    Complaints,
    Message,
    Runner,
    Tally,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.canary import Wire as RealWire

HOUR = 3600
QUICK, SLOW = 0.004, 0.008
"""Seconds until a record of the pretended cluster is acknowledged, and until it is read."""


class Cluster:
    """A cluster with one topic, as a canary's connections show it."""

    def __init__(self, clock: Clock, leaders: Mapping[int, int]) -> None:
        self.clock, self.partitions, self.down, self.closed = clock, dict(leaders), False, 0
        self.logs: dict[int, list[bytes]] = {number: [] for number in leaders}
        self.results = deque[tuple[float, Answer]]()
        self.messages = deque[tuple[float, Message]]()
        self.assigned: list[dict[int, int]] = []
        self.mute = False
        """Whether nothing can be read."""

    def leaders(self) -> Mapping[int, int]:
        if self.down:
            self.clock.rest(0.5)
            raise Failure("no answer")
        return dict(self.partitions)

    def send(self, partition: int, number: int, value: bytes) -> None:
        if self.down or self.partitions.get(partition, -1) < 0:
            self.results.append((self.clock.now() + 5, Answer(number, error="timed out")))
            return
        log = self.logs[partition]
        self.results.append((self.clock.now() + QUICK, Answer(number, QUICK, len(log))))
        self.messages.append((self.clock.now() + SLOW, Message(partition, len(log), value)))
        log.append(value)

    def answers(self, seconds: float) -> list[Answer]:
        self.wait(seconds, self.results)
        found = [one for at, one in self.results if at <= self.clock.now()]
        self.results = deque((at, one) for at, one in self.results if at > self.clock.now())
        return found

    def assign(self, positions: Mapping[int, int]) -> None:
        self.assigned.append(dict(positions))

    def read(self, seconds: float) -> list[Message]:
        self.wait(seconds, self.messages)
        arrived = [one for at, one in self.messages if at <= self.clock.now() and self.assigned and not self.mute]
        self.messages = deque((at, one) for at, one in self.messages if one not in arrived and not self.mute)
        return [one for one in arrived if one.offset >= self.assigned[-1].get(one.partition, 10**9)]

    def close(self) -> None:
        self.closed += 1

    def wait(self, seconds: float, coming: Iterable[tuple[float, Any]]) -> None:
        """Wait until one of these comes, but no longer than so many seconds."""
        wait = min((at - self.clock.now() for at, _ in coming), default=seconds)
        self.clock.rest(max(0.0, min(seconds, wait)))


class Tried:
    """A canary at a pretended cluster."""

    def __init__(self, leaders: Mapping[int, int]) -> None:
        self.clock = Clock()
        self.cluster, self.tally = Cluster(self.clock, leaders), Tally([1, 2, 3])
        self.complaints: list[str] = []
        self.canary = Canary(self.tally, "own")
        self.runner = Runner(self.canary, self.complaints.append, self.clock.now)

    def seconds(self, number: float) -> None:
        """Let time go by."""
        end = self.clock.at + number
        while self.clock.at < end:
            self.runner.turn(self.cluster)

    def counts(self) -> tuple[int, int, int, int]:
        """Return how many records were sent, acknowledged and failed, and how many still have no result."""
        sent, good, bad = (sum(one.values()) for one in (self.tally.sent, self.tally.acknowledged, self.tally.failed))
        return sent, good, bad, sum(one.offset is None for one in self.canary.records.values())

    def reads(self, above: bool = False) -> int:
        """Return how many records were read, or only those that took longer than the last bucket."""
        found = [counts for (_, step), counts in self.tally.counts.items() if step == "read"]
        return sum(counts[-1] if above else sum(counts) for counts in found)


@pytest.fixture
def three() -> Tried:
    """A topic with three partitions, each with another leader."""
    return Tried({0: 1, 1: 2, 2: 3})


def test_each_partition_each_second(three: Tried) -> None:
    """Each record is acknowledged and read, and counted for the leader of its partition."""
    three.seconds(9.9)
    assert three.tally.sent == {"none": 0, "1": 10, "2": 10, "3": 10} == three.tally.acknowledged
    assert three.counts() == (30, 30, 0, 0) and three.reads() == 30 and not three.canary.records
    assert three.cluster.assigned == [{0: 0, 1: 0, 2: 0}], "the first record of each is read, too"
    assert three.complaints == []


def test_times_of_both_steps(three: Tried) -> None:
    """In buckets whose limits are included, summed up to each limit, as Prometheus has them."""
    three.seconds(4.9)
    for seconds in (10.0, 10.1):
        three.tally.took("2", "read", seconds)
    found = {labels: (dict(buckets), total) for labels, buckets, total in three.tally.histograms()}
    buckets, total = found["2", "acknowledged"]
    assert (buckets["0.005"], buckets["10.0"], buckets["+Inf"]) == (5, 5, 5) and total == pytest.approx(5 * QUICK)
    buckets, _ = found["2", "read"]
    assert (buckets["0.005"], buckets["5.0"], buckets["10.0"], buckets["+Inf"]) == (0, 5, 6, 7)
    assert found["none", "read"] == (dict.fromkeys(buckets, 0), 0), "zeros from the start"


def test_a_cluster_is_down_for_hours(three: Tried) -> None:
    """Records go to the leaders that were known last, and fail; no more are kept than those of ten seconds."""
    three.seconds(2.9)
    three.cluster.down = True
    for _ in range(HOUR // 100):
        three.seconds(100)
        assert len(three.canary.records) <= 3 * 10 and len(three.cluster.results) <= 3 * 10
    sent, good, bad, left = three.counts()
    assert good == 9 and sent == good + bad + left and left <= 3 * 6 and three.tally.failed["1"] > HOUR - 60
    three.cluster.down = False
    three.seconds(10)
    before, read = three.counts()[1], three.reads()
    three.seconds(5)
    assert (three.counts()[1] - before, three.reads() - read, three.counts()[2]) == (15, 15, sent - good)


def test_a_cluster_that_is_down_at_the_start() -> None:
    """Which partitions there are is not known, so one record each second counts as failed, until it answers.

    Otherwise, a restart of the exporter would hide the rest of an outage.
    """
    tried = Tried({0: 1})
    tried.cluster.down = True
    tried.seconds(30.4)
    assert tried.counts() == (26, 0, 26, 0) and "no answer" in tried.complaints
    tried.cluster.down = False
    tried.seconds(5)
    assert tried.tally.sent["1"] >= 5 and tried.counts()[2] == 26 and tried.reads() >= 4


def test_a_topic_comes_grows_and_is_created_anew() -> None:
    """Reading begins anew at the first record of the new topic, whose offsets are lower."""
    tried = Tried({})
    tried.seconds(5)
    assert tried.counts() == (0, 0, 0, 0)
    for number in range(2):
        tried.cluster.partitions[number], tried.cluster.logs[number] = number + 1, []
        tried.seconds(4.9)
    assert tried.tally.acknowledged == {"none": 0, "1": 10, "2": 5, "3": 0} and tried.reads() == 15
    tried.cluster.partitions = {}
    tried.seconds(5)
    assert tried.counts() == (15, 15, 0, 0)
    tried.cluster.partitions, tried.cluster.logs = {0: 3}, {0: []}
    tried.seconds(4.9)
    assert tried.counts() == (20, 20, 0, 0) and tried.reads() == 20 and tried.cluster.assigned[-1] == {0: 0}


def test_a_topic_that_cannot_be_seen_is_not_available(three: Tried) -> None:
    """A broker that has just started may not know it, so it counts only after some seconds; then for no broker."""
    three.seconds(4.9)
    known, three.cluster.partitions = three.cluster.partitions, {}
    three.seconds(canary.UNSEEN)
    assert three.counts() == (15, 15, 0, 0)
    three.seconds(60)
    assert three.counts() == (15 + 180, 15, 180, 0) and three.tally.failed["none"] == 180
    three.cluster.partitions = known
    three.seconds(5)
    assert three.counts() == (15 + 180 + 15, 30, 180, 0)


def test_a_partition_without_a_leader(three: Tried) -> None:
    """It has no broker; the others are not disturbed."""
    three.cluster.partitions[1] = -1
    three.seconds(20)
    assert three.tally.sent == {"none": 20, "1": 20, "2": 0, "3": 20}
    assert 15 <= three.tally.failed["none"] <= 16 and three.reads() == 40


def test_a_leader_that_fails(three: Tried) -> None:
    """Its partition is then led by another broker, and its records count for that one."""
    three.seconds(2.9)
    three.cluster.partitions[0] = 2
    three.seconds(3)
    assert three.tally.acknowledged == {"none": 0, "1": 3, "2": 9, "3": 6}


def test_a_result_counts_once(three: Tried) -> None:
    """Also if it comes after the record was given up, or if the record was read before."""
    record = three.canary.next(0, 1, 100.0)
    three.canary.arrived(Message(0, 7, three.canary.value(record)), 100.2)
    three.canary.arrived(Message(0, 8, three.canary.value(record)), 100.3)  # written twice, by a retry
    assert three.reads() == 1 and three.canary.records
    three.canary.answered(Answer(record.number, 0.3, 8))
    assert three.counts() == (1, 1, 0, 0) and not three.canary.records and not three.canary.read
    record = three.canary.next(0, 1, 200.0)
    three.canary.expire(209.9)
    assert three.counts() == (2, 1, 0, 1)
    three.canary.expire(210.0)
    three.canary.answered(Answer(record.number, 10.1, 9))
    three.canary.arrived(Message(0, 9, three.canary.value(record)), 210.2)
    assert three.counts() == (2, 1, 1, 0) and three.reads() == 1


def test_acknowledged_and_never_read(three: Tried) -> None:
    """Such a record took longer than all buckets, so that an alert fires; reading begins anew."""
    three.seconds(2.9)
    three.cluster.mute, begun = True, len(three.cluster.assigned)
    three.seconds(20)
    assert three.counts()[1:3] == (69, 0) and 24 <= three.reads(above=True) <= 30
    assert len(three.canary.records) <= 30 and len(three.cluster.assigned) > begun
    three.cluster.mute = False
    three.seconds(15)
    late = three.reads(above=True)
    three.seconds(5)
    assert three.reads(above=True) == late


def test_slow_reading_is_measured_after_an_interruption(three: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record that expires would otherwise let reading begin anew, before slow records are read."""
    monkeypatch.setattr(sys.modules[__name__], "SLOW", 2.0)
    three.seconds(4.9)
    three.cluster.mute = True
    three.seconds(12)
    three.cluster.mute = False
    three.seconds(15)
    late, read = three.reads(above=True), three.reads()
    three.seconds(60)
    assert (three.reads(above=True) - late, three.reads() - read) == (0, 180)


def test_records_of_others_are_not_counted(three: Tried) -> None:
    """Another monitoring host, and a program that writes anything."""
    three.seconds(0.9)
    record = three.canary.next(0, 1, 100.0)
    for value in (b"", b"other:4", b"own:", b"own:x", b"own:999", b"\xff\xfe:4", b"own:" + b"9" * 5000):
        three.canary.arrived(Message(0, 50, value), 101.0)
    assert three.reads() == 3 and record.number in three.canary.records
    assert three.canary.positions[0] == 51


def test_nothing_is_made_up_for_after_a_pause(three: Tried) -> None:
    three.seconds(2.9)
    three.clock.rest(100)
    three.seconds(0.9)
    assert three.tally.sent["1"] == 4


def test_errors_are_printed_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    complain = Complaints(clock.now)
    for number in range(130):
        complain(f"error {number}")
        clock.rest(1)
    assert capsys.readouterr().out.splitlines() == [
        "canary: error 0",
        "canary: error 60 (59 errors were not printed)",
        "canary: error 120 (59 errors were not printed)",
    ]


class Ended(BaseException):
    """Ends a canary, which nothing else does."""


def test_it_continues_after_any_error(three: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """With new connections, and whatever else they raise; no other thread sees the error."""
    connected = list[float]()

    def connect() -> Cluster:
        connected.append(three.clock.now())
        if len(connected) == 1:
            raise OSError("no such file")
        return three.cluster

    def read(seconds: float) -> list[Message]:
        three.clock.rest(seconds)
        raise ValueError("unexpected")

    def close() -> NoReturn:
        raise RuntimeError("not closed")

    def rest(seconds: float) -> None:
        three.clock.rest(seconds)
        if len(connected) == 3:
            raise Ended

    monkeypatch.setattr(three.cluster, "read", read)
    monkeypatch.setattr(three.cluster, "close", close)
    with pytest.raises(Ended):
        three.runner.run(connect, rest)
    assert len(connected) == 3 and connected[1] - connected[0] == canary.RESTART
    assert three.complaints[:3] == [
        "OSError: no such file", "ValueError: unexpected", "RuntimeError: not closed"
    ]  # fmt: skip


def test_a_record_that_the_library_does_not_take(three: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its queue is full, or the topic is unknown to it: the record failed."""

    def send(*_: Any) -> NoReturn:
        raise Failure("queue full")

    monkeypatch.setattr(three.cluster, "send", send)
    three.seconds(1.9)
    assert three.counts() == (6, 0, 6, 0) and set(three.complaints) == {"queue full"}


def test_metrics_as_prometheus_gets_them(three: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters by broker, and a histogram by broker and step."""

    class Family:
        def __init__(self, name: str, _text: str, labels: list[str]) -> None:
            self.name, self.labels, self.samples = name, labels, list[tuple[Any, ...]]()

        def add_metric(self, *sample: Any) -> None:
            self.samples.append(sample)

    core = SimpleNamespace(CounterMetricFamily=Family, HistogramMetricFamily=Family)
    monkeypatch.setitem(sys.modules, "prometheus_client.core", core)  # which is on monitoring hosts only
    monkeypatch.setitem(sys.modules, "prometheus_client", SimpleNamespace(core=core))
    three.seconds(0.9)
    found = {one.name: one for one in server.CanaryCollector(three.tally).collect()}
    assert list(found) == [
        "kafka_canary_sent", "kafka_canary_acknowledged", "kafka_canary_failed", "kafka_canary_seconds"
    ]  # fmt: skip
    assert found["kafka_canary_sent"].samples == [(["1"], 1), (["2"], 1), (["3"], 1), (["none"], 0)]
    assert found["kafka_canary_sent"].labels == ["broker"]
    assert found["kafka_canary_seconds"].labels == ["broker", "step"]
    (read,) = (one for one in found["kafka_canary_seconds"].samples if one[0] == ("3", "read"))
    assert read[1][1] == ("0.01", 1) and read[2] == pytest.approx(SLOW)


@pytest.fixture
def mocked() -> Iterator[str]:
    """Return the address of librdkafka's mock cluster; it has the topic canary."""
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    producer.produce("canary", b"of another", partition=0)
    assert producer.flush(10) == 0
    yield f"{broker.host}:{broker.port}"


def test_records_go_through_a_cluster(mocked: str) -> None:
    """They are written, acknowledged and read by confluent-kafka."""
    tried = Tried({})
    wire = RealWire({"bootstrap.servers": mocked}, "canary", tried.complaints.append)
    runner = Runner(Canary(tried.tally, "own"), tried.complaints.append)
    for _ in range(600):
        runner.turn(wire)
        if tried.reads() > 4:  # the mock cluster has four partitions
            break
    wire.close()
    assert tried.reads() > 4 and tried.counts()[1] >= 4 and tried.counts()[2] == 0, tried.complaints


def test_a_topic_that_does_not_exist(mocked: str) -> None:
    """It is not created; the canary waits for it."""
    complaints = list[str]()
    wire = RealWire({"bootstrap.servers": mocked}, "missing", complaints.append)
    assert wire.leaders() == {} == wire.leaders()
    assert set(complaints) == {"the topic missing does not exist"}
    wire.close()
