"""The generators of shipments and readings: what they send, again for the same seed, and that it fits its contract."""

import json
import threading
from datetime import datetime, timedelta
from itertools import islice

import pytest
from millrace_jobs.codec import decode
from millrace_jobs.config import JOBS, parse
from millrace_jobs.contract import READINGS, SHIPMENTS, Contract
from millrace_jobs.jobs.generate_orders import order_events
from millrace_jobs.jobs.generate_readings import readings
from millrace_jobs.jobs.generate_shipments import shipments
from pyspark.sql import SparkSession

from .broker import Broker


def moment(text: object) -> datetime:
    """A time as JSON holds it."""
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def test_shipments_are_those_of_closed_orders() -> None:
    """None, one or two of each, within an hour, under ids that no other has; the same for the same seed."""
    sent = list(islice(shipments(3, 10), 300))
    assert list(islice(shipments(3, 10), 300)) == sent != list(islice(shipments(4, 10), 300))
    assert len({event.key for event in sent}) == len({event.event_id for event in sent}) == 300
    orders = list(islice(order_events(3, 10), 3000))
    closed = {event.key: moment(event.value["at"]) for event in orders if event.value["event"] == "OrderClosed"}
    known = [event for event in sent if event.value["order_id"] in closed]
    assert len(known) == 300
    for event in known:
        assert event.key == event.value["shipment_id"]
        after = moment(event.value["at"]) - closed[str(event.value["order_id"])]
        assert timedelta(0) <= after < timedelta(hours=1)
    numbers = [str(event.key).rpartition("-")[2] for event in known]
    assert {*numbers} == {"0", "1"}


def test_readings_come_in_turn_and_some_are_late() -> None:
    """Each sensor once a second; one of a hundred up to ten minutes late; the same for the same seed."""
    sent = list(islice(readings(3, 4), 40_000))
    assert sent[:100] == list(islice(readings(3, 4), 100)) != list(islice(readings(5, 4), 100))
    assert [event.key for event in sent[:5]] == ["sensor-0", "sensor-1", "sensor-2", "sensor-3", "sensor-0"]
    begin = moment("2026-01-01T00:00:00.000Z")
    late = [(begin + timedelta(seconds=place // 4)) - moment(event.value["at"]) for place, event in enumerate(sent)]
    assert timedelta(0) == min(late) and max(late) < timedelta(minutes=10)
    assert 300 < sum(one > timedelta(0) for one in late) < 500


@pytest.mark.parametrize(("job", "contract"), [("generate_shipments", SHIPMENTS), ("generate_readings", READINGS)])
def test_what_arrives_fits_its_contract(spark: SparkSession, broker: Broker, job: str, contract: Contract) -> None:
    """As many as were asked for, each with key, id, time of sending and version."""
    topic = broker.topic(partitions=2)
    data = {"kafka": {"bootstrap.servers": broker.servers}, "output_topic": topic, "events": 50}
    config, loop = parse(job, {**data, "events_per_second": 1000}), JOBS[job].loop
    assert loop is not None
    loop(config.parameters, config.outputs, threading.Event())
    records = spark.read.format("kafka").options(
        **{"kafka.bootstrap.servers": broker.servers, "subscribe": topic, "includeHeaders": "true"}
    )
    found = records.load().selectExpr(
        "key", "value", "struct(topic, partition, offset, timestamp, headers, key) record"
    )
    assert [row.reason for row in decode(found, contract).select("reason").collect()] == [None] * 50
    for one in broker.records(topic):
        assert one.key == json.loads(str(one.value))[contract.key]
        assert one.headers.keys() == {"event_id", "sent_at", "schema_version"}
