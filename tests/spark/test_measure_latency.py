"""Canaries: what is made of their times, and that they are measured where they arrive."""

import json
import threading
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from millrace_jobs import outage
from millrace_jobs.config import parse
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.jobs import measure_latency
from millrace_jobs.jobs.measure_latency import Canaries, loop, percentile
from millrace_jobs.outage import KafkaWatch
from millrace_jobs.sending import producer_of

from .broker import Broker
from .helpers import eventually

MS = 10**6


@pytest.mark.parametrize(("part", "found"), [(0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1000), (0.0001, 1)])
def test_percentiles_are_by_nearest_rank(part: float, found: int) -> None:
    """Of 1 to 1000 in any order."""
    assert percentile(list(range(1000, 0, -1)), part) == found
    assert percentile([7], part) == 7


def test_a_canary_counts_once_or_is_missing() -> None:
    """A second copy and a stranger are nothing; one that is given up is missing, also when it comes after all."""
    canaries = Canaries(missing_after=100 * MS, sent={0: 0, 1: 0, 2: 50 * MS})
    for number, now in ((0, 10), (0, 20), (7, 20), (1, 30)):
        canaries.arrived(number, now * MS)
    assert canaries.report(100 * MS) == {
        "arrived": 2, "missing": 0, "missing_ever": 0, "p50_ms": 10, "p99_ms": 30, "p999_ms": 30, "greatest_ms": 30,
    }  # fmt: skip
    assert canaries.report(151 * MS) == {"arrived": 0, "missing": 1, "missing_ever": 1}
    canaries.arrived(2, 160 * MS)
    assert canaries.report(200 * MS) == {"arrived": 0, "missing": 0, "missing_ever": 1}


def test_canaries_are_measured_where_they_arrive(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """Through somebody who hands on all but one; others' canaries and older records are left alone."""
    caplog.set_level("INFO")
    sent, arrives, stopping = broker.topic(), broker.topic(partitions=2), threading.Event()
    broker.send(arrives, ["old"])
    data = {
        "kafka": {"bootstrap.servers": broker.servers},
        "output_topic": sent,
        "arrives_topic": arrives,
        "canaries_per_second": 50,
        "report_seconds": 1,
        "missing_after_seconds": 1,
    }
    config = parse("measure_latency", data)
    assert [topic.name for topic in config.topics] == [sent, arrives]

    def hand_on() -> None:
        consumer = Consumer(
            {"bootstrap.servers": broker.servers, "group.id": sent, "auto.offset.reset": "earliest", "log_level": 0}
        )
        consumer.subscribe([sent])
        producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
        while not stopping.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.value() != b"3":
                producer.produce(arrives, message.value(), message.key(), headers=message.headers())
                producer.produce(arrives, message.value(), message.key(), headers=[("canary_run", b"another")])
                producer.flush(10)
        consumer.close()

    def reports() -> list[dict[str, Any]]:
        lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("latency ")]
        return [json.loads(line[len("latency ") :]) for line in lines]

    threads = [
        threading.Thread(target=hand_on),
        threading.Thread(target=loop, args=(config.parameters, config.outputs, stopping)),
    ]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: any(one["arrived"] and one["missing_ever"] for one in reports()), True)
    finally:
        stopping.set()
        for thread in threads:
            thread.join(60)
    found = next(one for one in reports() if "p50_ms" in one)
    assert 0 < found["p50_ms"] <= found["p99_ms"] <= found["p999_ms"] <= found["greatest_ms"] < 60_000


def test_a_canary_that_is_refused_is_named(broker: Broker) -> None:
    """By what the broker said of the first; those are refused by the client itself whose topic it knows by then."""
    data: dict[str, Any] = {"kafka": {"bootstrap.servers": broker.servers}, "canaries_per_second": 1000}
    config = parse("measure_latency", {**data, "output_topic": "later", "arrives_topic": broker.topic()})
    outputs = {name: Topic("no name of a topic", end.client) for name, end in config.outputs.items()}
    refused = "topic no name of a topic: a canary was refused: .*(Invalid|Unknown) topic; create the topic"
    with pytest.raises(JobError, match=refused):
        loop(config.parameters, outputs, threading.Event())  # type: ignore[arg-type]


def test_an_outage_is_named_and_ends_nothing(
    broker: Broker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent meanwhile counts as missing; then canaries are measured as before."""
    caplog.set_level("INFO")
    soon = {"message.timeout.ms": 1000, "socket.timeout.ms": 1000}
    monkeypatch.setattr(measure_latency, "producer_of", lambda client, **more: producer_of(client, **more, **soon))
    monkeypatch.setattr(outage, "KafkaWatch", partial(KafkaWatch, ask_seconds=0.2, answer_seconds=5))
    stopping, topic = threading.Event(), broker.topic()
    data = {
        "kafka": {"bootstrap.servers": broker.servers},
        "output_topic": topic,
        "report_seconds": 1,
        "missing_after_seconds": 2,
    }
    config = parse("measure_latency", data)
    thread = threading.Thread(target=loop, args=(config.parameters, config.outputs, stopping))
    thread.start()

    def said(begin: str) -> list[str]:
        return [record.getMessage() for record in caplog.records if record.getMessage().startswith(begin)]

    def last() -> dict[str, Any]:
        return json.loads(said("latency ")[-1][len("latency ") :]) if said("latency ") else {}

    try:
        eventually(lambda: last().get("arrived", 0) > 0, True)
        with broker.silent():
            eventually(lambda: last()["missing_ever"] > 5, True)
            eventually(lambda: len(said(f"kafka: no answer from {broker.servers}")), 1)
        eventually(lambda: last().get("arrived", 0) > 0 or not thread.is_alive(), True)
        assert thread.is_alive()
        eventually(lambda: len(said(f"kafka: {broker.servers} answers again")), 1)
    finally:
        stopping.set()
        thread.join(60)
