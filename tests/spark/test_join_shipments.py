"""Orders and their shipments: the join on rows written by hand, and as a real stream whose state is bounded."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from millrace_jobs.jobs.join_shipments import Parameters, transform
from pyspark.sql import SparkSession

from .broker import Broker
from .streams import Raw, configured, record, reported, run, values

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(minutes: int) -> datetime:
    """A moment."""
    return BEGIN + timedelta(minutes=minutes)


def text(minutes: int) -> str:
    """The same as JSON."""
    return at(minutes).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def order(name: str, minutes: int, event: str = "OrderClosed") -> Raw:
    """A record of one."""
    return record(name, {"order_id": name, "event": event, "sequence": 2, "at": text(minutes)})


def shipment(name: str, of: str, minutes: int) -> Raw:
    """A record of one."""
    return record(name, {"shipment_id": name, "order_id": of, "carrier": "van", "at": text(minutes)})


def told(found: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str | None, str | None]]:
    """What a topic says, sorted."""
    return sorted(
        ((one["order_id"], one["closed_at"], one.get("shipment_id"), one.get("shipped_at")) for one in found), key=str
    )


def test_an_order_has_its_shipments_in_time(spark: SparkSession) -> None:
    """Two of them, or none: too early, too late, or of an order that was not closed."""
    orders = [("a", "OrderClosed", at(0)), ("b", "OrderClosed", at(0)), ("c", "OrderCancelled", at(0))]
    left = [
        ("s1", "a", "van", at(0)),
        ("s2", "a", "ship", at(60)),
        ("s3", "b", "van", at(61)),
        ("s4", "c", "van", at(1)),
    ]
    found = transform(
        Parameters(within="1 hour"),
        spark.createDataFrame(orders, "order_id string, event string, at timestamp"),
        spark.createDataFrame(left, "shipment_id string, order_id string, carrier string, at timestamp"),
    )
    assert found.columns == ["order_id", "closed_at", "shipment_id", "carrier", "shipped_at"]
    assert sorted((row.order_id, row.shipment_id, row.carrier) for row in found.collect() if row.shipment_id) == [
        ("a", "s1", "van"),
        ("a", "s2", "ship"),
    ]
    assert [row.order_id for row in found.collect() if row.shipment_id is None] == ["b"]


def test_a_stream_forgets_what_cannot_match_any_more(
    spark: SparkSession, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An order without a shipment is told once its time is over, and no state is kept of what is past."""
    orders, shipments, sink, dead = broker.topic(2), broker.topic(3), broker.topic(), broker.topic()
    data = configured(
        broker, tmp_path, input_topic=orders, shipments_topic=shipments, output_topic=sink, dead_letter_topic=dead,
        within="1 hour", late_by="1 minute",
    )  # fmt: skip
    broker.send_records(orders, [order("a", 0), order("b", 0), order("c", 0, "OrderCreated"), ("x", b"", [])])
    broker.send_records(shipments, [shipment("s1", "a", 5), shipment("s2", "c", 5), ("s3", b"{}", [])])
    run(spark, "join_shipments", data)
    matched = ("a", text(0), "s1", text(5))
    assert told(values(broker, sink)) == [matched]
    broker.send_records(orders, [order("d", 600)])
    broker.send_records(shipments, [shipment("s4", "d", 601)])
    with reported(spark, caplog) as facts:
        run(spark, "join_shipments", data)
    assert told(values(broker, sink)) == [matched, ("b", text(0), None, None), ("d", text(600), "s4", text(601))]
    assert facts[-1]["rows"] == 2
    found = [dict(headers) for _, _, headers in broker.raw(dead)]
    assert {(one["dead_topic"].decode(), one["dead_reason"]) for one in found} == {
        (orders, b"malformed"),
        (shipments, b"malformed"),
    }
    held = spark.read.format("statestore").option("joinSide", "left").load(str(tmp_path))
    assert [row.value.order_id for row in held.collect()] == ["d"]
