"""All brokers are restarted under 2,000 messages a second, by restart.yml and by bare scripts: what each costs."""

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from faults.lab import Lab, until
from faults.ledger import load, longest_gaps
from faults.promises import GAP, Clock
from faults.reader import read_all
from faults.writer import Writer

from operations.conftest import Operator
from operations.test_restart import Watch

pytestmark = [pytest.mark.campaign, pytest.mark.timed]
RATE, LONGEST, SLEEP, SETTLED = 2000, 600, 20, 5
PRODUCER = {"linger.ms": "20", "retry.backoff.max.ms": "100"}
"""As the jobs' own producers: fewer and larger requests, or the load alone keeps the machine busy; soon again."""
MADE = (KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError._WAIT_COORD)
HANDED = r"\[.* : Hand the controller over to another broker\] \*+\nchanged: "
RATIO = "times the seconds of a bare script"


def bare(lab: Lab, sleep: float = 0) -> float:
    """Restart one broker after the other, each when all is whole; return the seconds it took."""
    begun = time.monotonic()
    for host in lab.inventory.hosts("kafka"):
        lab.inventory.run(host, "systemctl restart kafka.service")
        lab.wait()
        time.sleep(sleep)
    return time.monotonic() - begun


def ours(operator: Operator) -> float:
    """Restart all brokers through the gate; return the seconds it took, preflight among them."""
    begun = time.monotonic()
    run = operator.play("restart", "-l", "kafka", "-e", "again=true")
    assert run.code == 0, run.output[-3000:]
    assert re.search(HANDED, run.output), "the controller was restarted as such"
    return time.monotonic() - begun


def keep_an_offset(client: Mapping[str, str], topic: str) -> None:
    """Commit one, so that the topic of offsets is there, as wherever records are read in groups."""
    consumer = Consumer({**client, "group.id": topic, "log_level": 0})
    until("an offset is kept", lambda: committed(consumer, TopicPartition(topic, 0, 0)), 60)
    consumer.close()


def committed(consumer: Consumer, offset: TopicPartition) -> bool:
    """Commit it; return whether it is kept."""
    try:
        return bool(consumer.commit(offsets=[offset], asynchronous=False))
    except KafkaException as error:
        if error.args[0].retriable() or error.args[0].code() in MADE:
            return False
        raise


def test_roll(operator: Operator, tmp_path: Path, note: Callable[[str], None]) -> None:
    """A bare script, restart.yml, and the script with 20 s of sleep after each broker, under one writer."""
    lab, topic = Lab(operator.inventory), f"roll-{time.time_ns()}"
    lab.create_topic(topic)
    keep_an_offset(operator.inventory.kafka_properties, topic)
    aside, watch = Watch(lab.admin, topic), Watch(lab.admin, topic)
    clock = Clock("rolling restart of all brokers")
    client = {**operator.inventory.kafka_properties, **PRODUCER}
    with Writer(client, topic, tmp_path, run=topic, rate=RATE, limit=RATE * LONGEST) as writer:
        aside.start()  # whoever restarts them shares the machine with the same load
        script = bare(lab)
        aside.stop.set()
        lab.elect_preferred_leaders()
        done = writer.acked + RATE * SETTLED
        until("writes are past the script's last election", lambda: writer.acked >= done, 60)
        watch.start()
        begun = time.monotonic()
        seconds = ours(operator)
        ended = time.monotonic()
        watch.stop.set()
        watch.join(10)
        sleeping = bare(lab, SLEEP)
    lab.elect_preferred_leaders()
    ledger = load(tmp_path)
    report = ledger.compare(read_all(operator.inventory.kafka_properties, topic, 300))
    meanwhile = [ack for ack in ledger.acks if begun <= ack.at <= ended]
    gap = max(longest_gaps(meanwhile, lab.partitions(topic)).values())
    lab.delete_topic(topic)
    note(
        f"restart.yml {seconds:.1f} s, a bare script {script:.1f} s, with sleeps of {SLEEP} s {sleeping:.1f} s "
        f"({seconds / script:.2f} and {seconds / sleeping:.2f} times); longest gap {gap:.2f} s; {report}"
    )
    assert report.ok and not ledger.unknown, f"{report}; failed sends: {dict([*ledger.unknown.items()][:5])}"
    assert max(map(len, watch.out_of_sync)) == 1, f"brokers seen out of an ISR together: {watch.out_of_sync}"
    clock.compare(GAP, gap)
    clock.compare(RATIO, seconds / script)
