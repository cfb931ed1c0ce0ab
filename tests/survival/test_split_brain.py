"""Two operators state wrongly that the other datacenter has no power: what the record of a failover protects from.

The cluster is of no use afterwards, so this runs in a lab of its own (make campaign PARTS=split-brain).
"""

import json
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

from .failures import cut_off
from .stretched import Stretched, statement

pytestmark = pytest.mark.campaign
LAYOUT = "lab_stretch2"


def write(cluster: Stretched, topic: str, hosts: list[str], value: str) -> int:
    """Write a record to the first partition over the brokers among these hosts; return its offset."""
    brokers = [host for host in cluster.inventory.hosts("kafka") if host in hosts]
    servers = [f"{cluster.inventory.client_address(host)}:{cluster.inventory.port('CLIENT')}" for host in brokers]
    written: list[int | None] = []

    def keep(error: object, message: Message) -> None:
        assert error is None, error
        written.append(message.offset())

    properties = {**cluster.inventory.kafka_properties, "bootstrap.servers": ",".join(servers), "acks": "all"}
    producer = Producer(properties)
    producer.produce(topic, value.encode(), partition=0, on_delivery=keep)
    assert producer.flush(60) == 0
    assert written[0] is not None
    return written[0]


def test_without_the_record_both_datacenters_serve(stretched: Stretched, topic: str, tmp_path: Path) -> None:
    """With it the second failover is refused; without it, two records get one offset. Then all commands refuse."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    sides = {name: stretched.servers_of(name) for name in ("dc1", "dc2")}
    mend = cut_off(stretched, sides["dc1"])
    stretched.attempt("playbooks/disaster.yml", "-e", "wait=20")
    stretched.play("playbooks/failover.yml", *statement("dc2"))
    mend()
    mend = cut_off(stretched, sides["dc2"])
    code, text = stretched.attempt("playbooks/failover.yml", *statement("dc1"))
    assert (code != 0, "dc2 already took over" in " ".join(text.split())) == (True, True), text[-2000:]
    other = json.dumps({"failover_lock": str(tmp_path / "failover.json")})  # as on another control node
    stretched.play("playbooks/failover.yml", *statement("dc1"), "-e", other)
    mend()
    values = {name: f"{name} {uuid.uuid4().hex}" for name in sides}
    offsets = {name: write(stretched, topic, hosts, values[name]) for name, hosts in sides.items()}
    assert len(set(offsets.values())) == 1, f"the datacenters did not serve beside each other: {offsets}"
    for playbook, words in (
        ("playbooks/disaster.yml", "failover forbidden"),
        ("playbooks/site.yml", "FAILOVER_ACTIVE"),
        ("playbooks/failback.yml", "has the record of a failover to its own datacenter"),
    ):
        code, text = stretched.attempt(playbook)
        assert (code != 0, words in " ".join(text.split())) == (True, True), text[-3000:]
