"""Brokers that give no answer are named in the journal, and so is that they are back; what ends a job meanwhile."""

import socket
import threading
import time
from pathlib import Path

import pytest
from millrace_jobs.errors import JobError
from millrace_jobs.lifecycle import await_end
from millrace_jobs.outage import KafkaWatch
from pyspark.sql import SparkSession

from .broker import Broker
from .helpers import eventually
from .streams import configured, running, stopping_after


def test_an_outage_is_said_once_and_its_end_too(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """Once a minute, however often it asks; nothing is said while all is well."""
    caplog.set_level("INFO")
    door = socket.create_server(("127.0.0.1", 0))  # takes connections, and answers nothing
    servers = f"127.0.0.1:{door.getsockname()[1]}"
    well = KafkaWatch({"bootstrap.servers": broker.servers}, [broker.topic()], ask_seconds=0.05)
    watch = KafkaWatch({"bootstrap.servers": servers, "socket.timeout.ms": 1000}, ["t"], 0.05, answer_seconds=0.2)
    try:
        eventually(lambda: [record.levelname for record in caplog.records], ["WARNING"], 30)
        assert not threading.Event().wait(1)
        (record,) = caplog.records
        assert record.getMessage().startswith(f"kafka: no answer from {servers} for ")
        assert record.getMessage().endswith("; trying again")
    finally:
        watch.close()
        well.close()
        door.close()


def test_a_topic_that_is_deleted_ends_the_job(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Spark asks again as for brokers that are away; nothing else that is there is taken for gone."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"])
    watch = KafkaWatch({"bootstrap.servers": broker.servers}, [sink, source], ask_seconds=0.5)
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink)
    try:
        with running(spark, "relay", data) as one:
            eventually(lambda: [record.value for record in broker.records(sink)], ["a"], 60)
            assert watch.gone == ""
            broker.delete(source)
            with pytest.raises(JobError, match=rf"^topic {source}: .*nknown topic.*; put it back, or let this user"):
                await_end([one], stopping_after(120), watch)
    finally:
        watch.close()


def test_a_stop_does_not_wait_for_brokers(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """No batch has begun where Spark still asks for offsets."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"])
    quick = {"request.timeout.ms": 4000, "default.api.timeout.ms": 8000}  # else a question takes a minute
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink)
    with running(spark, "relay", {**data, "kafka": {"bootstrap.servers": broker.servers, **quick}}) as one:
        eventually(lambda: [record.value for record in broker.records(sink)], ["a"], 60)
        with broker.silent():
            eventually(lambda: one.query.status["message"].startswith("Getting offsets"), True, 30)
            time.sleep(1)
            begun = time.monotonic()
            await_end([one], stopping_after(0))
            assert time.monotonic() - begun < 25
        assert one.query.exception() is None
