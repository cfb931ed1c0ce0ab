"""Brokers that give no answer are named in the journal, and so is that they are back; what ends a job meanwhile."""

import json
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from millrace_jobs.errors import BrokersUnavailable, JobError
from millrace_jobs.lifecycle import await_end
from millrace_jobs.outage import KafkaWatch
from pyspark.sql import SparkSession

from .broker import Broker
from .built import unpacked
from .helpers import MILLRACE, environment, eventually, spark_properties
from .streams import configured, running, stopping_after


def test_an_outage_is_said_once_and_its_end_too(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """Once a minute, however often it asks; nothing is said while all is well."""
    caplog.set_level("INFO")
    door = socket.create_server(("127.0.0.1", 0))  # takes connections, and answers nothing
    servers = f"127.0.0.1:{door.getsockname()[1]}"
    well = KafkaWatch({"bootstrap.servers": broker.servers}, [broker.topic()], ask_seconds=0.05)
    watch = KafkaWatch(
        {"bootstrap.servers": servers, "socket.timeout.ms": 1000}, ["t"], ask_seconds=0.05, answer_seconds=0.2
    )
    try:
        eventually(lambda: [record.levelname for record in caplog.records], ["WARNING"])
        assert not threading.Event().wait(1)
        (record,) = caplog.records
        assert record.getMessage().startswith(f"kafka: no answer from {servers} for ")
        assert record.getMessage().endswith("; retrying")
    finally:
        watch.close()
        well.close()
        door.close()


def test_a_topic_that_is_deleted_ends_the_job(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Asking again is of no use."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"])
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink)
    with running(spark, "relay", data) as one:
        eventually(lambda: [record.value for record in broker.records(sink)], ["a"])
        broker.delete(source)
        with pytest.raises(JobError, match="UnknownTopicOrPartition") as failed:
            await_end([one], stopping_after(300))
    assert not isinstance(failed.value, BrokersUnavailable)


def test_a_topic_that_is_made_anew_ends_the_job(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Its offsets mean others; to wait until it holds as many as were read would leave those out."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a", "b", "c"])
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink)
    with running(spark, "relay", data) as one:
        eventually(lambda: len(broker.records(sink)), 3)
        broker.delete(source)
        broker.make(source)
        broker.send(source, ["d"])
        with pytest.raises(JobError) as failed:
            await_end([one], stopping_after(300))
    assert not isinstance(failed.value, BrokersUnavailable)
    assert len(broker.records(sink)) == 3


def test_a_topic_that_is_made_anew_and_filled_ends_the_job(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """It holds more than was read, so that Spark misses nothing."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"])
    watch = KafkaWatch({"bootstrap.servers": broker.servers}, [source], ask_seconds=0.1)
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink, trigger_interval="1 hour")
    try:
        with running(spark, "relay", data) as one:
            eventually(lambda: len(broker.records(sink)), 1)
            broker.delete(source)
            broker.make(source)
            broker.send(source, ["b", "c"])
            with pytest.raises(
                JobError, match=f"^topic {source}: deleted and recreated while the job ran, so stored offsets"
            ):
                await_end([one], stopping_after(300), watch=watch)
    finally:
        watch.close()
    assert [record.value for record in broker.records(sink)] == ["a"]


def test_a_stop_does_not_wait_for_brokers(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """No batch has begun where Spark still asks for offsets: the stop is done while the brokers are still silent.

    A stop that waits for Spark's answer ends with its failure.
    """
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"])
    quick = {"request.timeout.ms": 4000, "default.api.timeout.ms": 8000}  # else a question takes a minute
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink)
    with running(spark, "relay", {**data, "kafka": {"bootstrap.servers": broker.servers, **quick}}) as one:
        one.query.processAllAvailable()  # a record can be read before the batch that wrote it is over
        assert [record.value for record in broker.records(sink)] == ["a"]
        with broker.silent():
            eventually(lambda: one.query.status["message"].startswith("Getting offsets"), True)
            time.sleep(1)
            await_end([one], stopping_after(0))
        assert one.query.exception() is None


def test_a_job_outlives_its_brokers(broker: Broker, tmp_path: Path) -> None:
    """Where Spark gives up, its queries begin again in this process, and go on where they were; it stops as asked."""
    source, sink, log = broker.topic(), broker.topic(), tmp_path / "log"
    quick = {"request.timeout.ms": 4000, "default.api.timeout.ms": 8000}  # else it gives up after minutes
    data = configured(broker, tmp_path / "checkpoint", input_topic=source, output_topic=sink)
    data |= {"kafka": {"bootstrap.servers": broker.servers, **quick}, "spark": spark_properties()}
    config = tmp_path / "job.json"
    config.write_text(json.dumps({**data, "jars_directory": str(unpacked("spark-jars-*.tgz"))}))
    broker.send(source, ["a"])
    command = [MILLRACE, "relay", "--config", str(config)]
    with log.open("ab") as file, subprocess.Popen(command, stderr=file, env=environment()) as job:
        try:
            eventually(lambda: log.read_text().count(" rows in "), 1)  # the batch is over
            assert [record.value for record in broker.records(sink)] == ["a"]
            with broker.silent():
                eventually(lambda: "the job continues once they answer" in log.read_text(), True)
            broker.send(source, ["b"])
            eventually(lambda: log.read_text().count(" rows in "), 2)
            assert [record.value for record in broker.records(sink)] == ["a", "b"]
            with broker.silent():
                time.sleep(1)  # it asks for offsets meanwhile
                job.send_signal(signal.SIGTERM)
                assert job.wait(120) == 0, log.read_text()[-5000:]
        finally:
            job.kill()
