"""The generator of orders: what it sends, again for the same seed, and how it arrives."""

import json
import threading
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from millrace_jobs import sending
from millrace_jobs.config import parse
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.jobs.generate_orders import loop, order_events
from millrace_jobs.sending import queue, reason, reporting_fatal

from .broker import Broker


class Clock(threading.Event):
    """A stop that is asked for at the second `end`, and the clock of the sender: only its rests take time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, end: float = float("inf")) -> None:
        super().__init__()
        self.now, self.end = 0.0, end
        monkeypatch.setattr(sending, "time", self)

    def monotonic(self) -> float:
        """Return the seconds that the sender has rested so far."""
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        """Let these seconds pass at once."""
        self.now += timeout or 0
        if self.now >= self.end:
            self.set()
        return self.is_set()


def test_each_order_is_created_changed_and_ended() -> None:
    """In this order, with numbers without a gap, and ids that are no other event's; orders mix."""
    events = list(islice(order_events(3, 10), 2000))
    assert len({event.event_id for event in events}) == 2000
    of: dict[str, list[tuple[object, object]]] = defaultdict(list)
    for event in events:
        of[event.key].append((event.value["event"], event.value["sequence"]))
    for told in of.values():
        kinds = [kind for kind, _ in told]
        assert [number for _, number in told] == list(range(1, len(told) + 1))
        assert kinds[0] == "OrderCreated"
        assert set(kinds[1:-1]) <= {"OrderUpdated"}
        assert kinds[-1] in ("OrderCreated", "OrderUpdated", "OrderClosed", "OrderCancelled")
    assert {kinds for told in of.values() for kinds, _ in told} == {
        "OrderCreated", "OrderUpdated", "OrderClosed", "OrderCancelled",
    }  # fmt: skip
    assert list(islice(order_events(3, 10), 2000)) == events
    assert list(islice(order_events(4, 10), 2000)) != events


def test_events_arrive_once_in_their_order_at_the_rate(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event has its order as key, and its id, time of sending and version as headers."""
    topic, begin = broker.topic(partitions=3), datetime.now(timezone.utc) - timedelta(milliseconds=1)
    data = {
        "kafka": {"bootstrap.servers": broker.servers},
        "output_topic": topic,
        "seed": 5,
        "events": 200,
        "events_per_second": 400,
        "customers": 9,
    }
    config = parse("generate_orders", data)
    clock = Clock(monkeypatch)
    loop(config.parameters, config.outputs, clock)  # type: ignore[arg-type]
    assert clock.now == pytest.approx(199 / 400)
    sent = list(islice(order_events(5, 9), 200))
    found = broker.records(topic)
    assert sorted(record.headers["event_id"] for record in found) == sorted(event.event_id for event in sent)
    of: dict[str, list[object]] = defaultdict(list)
    for record in found:
        of[str(record.key)].append(json.loads(str(record.value)))
        at = datetime.fromisoformat(record.headers["sent_at"].replace("Z", "+00:00"))
        assert begin <= at <= datetime.now(timezone.utc)
        assert record.headers["schema_version"] == "1"
    wanted: dict[str, list[object]] = defaultdict(list)
    for event in sent:
        wanted[event.key].append(event.value)
    assert of == wanted


def test_a_stop_ends_it_with_all_that_was_sent_stored(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default it sends 100 events a second without end; a stop just before the 101st leaves 100 in the topic."""
    topic = broker.topic()
    config = parse("generate_orders", {"kafka": {"bootstrap.servers": broker.servers}, "output_topic": topic})
    loop(config.parameters, config.outputs, Clock(monkeypatch, end=0.995))  # type: ignore[arg-type]
    assert [record.headers["event_id"] for record in broker.records(topic)] == [
        event.event_id for event in islice(order_events(1, 1000), 100)
    ]


class Refusing:
    """A client that has heard of its topic, and not said so yet."""

    def __init__(self, code: int) -> None:
        self.code, self.waited = code, list[float]()
        self.heard: Any = None

    def produce(self, topic: str, value: str, key: str, headers: object, on_delivery: Any) -> None:
        self.heard = on_delivery
        raise KafkaException(KafkaError(self.code))

    def poll(self, seconds: float) -> int:
        self.waited.append(seconds)
        self.heard(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), None)
        return 1


@pytest.mark.parametrize(("code", "waits"), [(KafkaError._UNKNOWN_TOPIC, 0), (KafkaError._FATAL, 1)])
def test_what_brokers_said_comes_before_what_the_client_says(code: int, waits: int) -> None:
    """The reason that is told is the first; what ended the client is waited for, for it comes after that."""
    client, said = Refusing(code), list[int]()
    queue(client, "t", "v", "k", [], lambda error, _: said.append(error.code()))  # type: ignore
    assert (said, client.waited) == ([KafkaError.TOPIC_AUTHORIZATION_FAILED, code], [waits])


def test_an_error_that_ends_a_producer_is_heard() -> None:
    """As it is raised by who asks for answers, and as it comes where a callback runs just then."""
    fatal, said = KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)), list[int]()

    def raised() -> int:
        raise fatal

    def wrapped() -> int:
        raise SystemError("returned a result with an exception set") from fatal

    def other() -> int:
        raise SystemError("of something else")

    for act in (raised, wrapped):
        assert reporting_fatal(act, lambda error, _: said.append(error.code() if error else 0)) == 0
    assert said == [KafkaError.CLUSTER_AUTHORIZATION_FAILED] * 2
    with pytest.raises(SystemError, match="of something else"):
        reporting_fatal(other, lambda error, _: None)
    assert reporting_fatal(lambda: 3, lambda error, _: None) == 3


@pytest.mark.parametrize(
    ("code", "mend"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "grant this user WRITE on it"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "create the topic"),
        (KafkaError._MSG_TIMED_OUT, "check that its brokers answer and that enough replicas are in sync"),
        (KafkaError.MSG_SIZE_TOO_LARGE, ""),
    ],
)
def test_each_refusal_has_its_own_advice(code: int, mend: str) -> None:
    error = KafkaError(code)
    assert reason([error, KafkaError(KafkaError._FAIL)]) == (f"{error.str()}; {mend}" if mend else error.str())


def test_what_ended_a_producer_is_the_reason() -> None:
    """Not what became of the records that it had then."""
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no right to write", True)
    assert reason([KafkaError(KafkaError._PURGE_QUEUE), fatal]) == "no right to write; grant this user WRITE on it"


def test_an_event_that_is_refused_is_named(broker: Broker) -> None:
    """By what the broker said of the first; those are refused by the client itself whose topic it knows by then."""
    config = parse("generate_orders", {"kafka": {"bootstrap.servers": broker.servers}, "output_topic": "later"})
    outputs = {name: Topic("no name of a topic", end.client) for name, end in config.outputs.items()}
    refused = "topic no name of a topic: an event was refused .*: .*(Invalid|Unknown) topic; create the topic"
    with pytest.raises(JobError, match=refused):
        loop(config.parameters, outputs, threading.Event())  # type: ignore[arg-type]
