"""The ledger sees a loss where there is one: a checker that never failed proves nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from .lab import Lab, until
from .ledger import load
from .reader import read_all
from .writer import Writer

SAFE, LOST = 200, 300  # records that both replicas hold, and records that the leader alone acknowledged


@pytest.fixture
def unsafe_topic(lab: Lab, run_id: str) -> Iterator[str]:
    """One partition on two brokers, min ISR 1, unclean election on: everything that the roles' defaults forbid."""
    brokers = sorted(lab.inventory.broker_id(host) for host in lab.inventory.hosts("kafka"))
    config = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    lab.create_topic(run_id, partitions=1, replicas=brokers[:2], config=config)
    yield run_id
    lab.heal()
    lab.delete_topic(run_id)


def write(lab: Lab, topic: str, directory: Path, name: str, number: int, acks: str) -> list[str]:
    """Write so many records and see each of them acknowledged; return their keys."""
    with Writer(
        lab.inventory.kafka_properties, topic, directory, run=topic, name=name, acks=acks, limit=number
    ) as writer:
        writer.join()
    keys = sorted(ack.key for ack in load(directory).acks if ack.key.startswith(f"{topic}-{name}-"))
    assert len(keys) == number
    return keys


@pytest.mark.campaign
def test_unclean_election_loses_what_acks_1_promised(
    lab: Lab, unsafe_topic: str, tmp_path: Path, note: Callable[[str], None]
) -> None:
    """The follower is down while the leader acknowledges alone; the leader dies and the follower takes its place."""
    inventory, topic = lab.inventory, unsafe_topic
    replicas = lab.partitions(topic)[0].replicas
    leader = lab.leader(topic)
    follower = inventory.broker(next(number for number in replicas if number != inventory.broker_id(leader)))
    write(lab, topic, tmp_path, "safe", SAFE, acks="all")

    inventory.run(follower, "systemctl stop kafka")
    until("the leader is alone in the ISR", lambda: lab.partitions(topic)[0].isr == [inventory.broker_id(leader)], 30)
    doomed = write(lab, topic, tmp_path, "doomed", LOST, acks="1")
    lab.kill_and_keep_down(leader, "kafka.service")
    inventory.run(follower, "systemctl start kafka")
    until("unclean election", lambda: lab.partitions(topic)[0].leader == inventory.broker_id(follower), 60)
    lab.heal()

    report = load(tmp_path).compare(read_all(inventory.kafka_properties, topic))
    note(f"reported as it must be: {report}")
    assert report.missing == doomed
    assert report == replace(report, double=[], foreign=[], corrupt=[], disordered=[], misplaced=[])
