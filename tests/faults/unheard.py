"""Replicas that ZooKeeper has in sync and their leader has not: what a lost answer leaves of Kafka's controller.

The controller wrote them into the ISR, lost its connection before it had the answer, wrote once more after it was back,
and took the version that it had made itself for somebody else's ("bad ZK version" in its log). So it does not tell the
leader, whose own request stays open: neither tries again. Nothing that is acknowledged is lost by it; the next election
of a leader ends it, or the replica's death, so that a restart of its broker does.
"""

import json
from collections.abc import Sequence

from .lab import Lab
from .zookeeper import session


def unheard(lab: Lab) -> dict[str, list[int]]:
    """Return {partition: the brokers whose replicas those are}, of all partitions that are not wholly in sync."""
    topics = lab.admin.list_topics(timeout=10).topics
    short = {
        (topic, number): found.isrs
        for topic, all_found in topics.items()
        for number, found in all_found.partitions.items()
        if len(found.isrs) < len(found.replicas)
    }
    with session(lab.inventory) as client:
        states = {
            (topic, number): json.loads(client.get(f"/kafka/brokers/topics/{topic}/partitions/{number}/state")[0])
            for topic, number in short
        }
    missing = {one: sorted({*states[one]["isr"]} - {*isr}) for one, isr in short.items()}
    return {f"{topic}-{number}": brokers for (topic, number), brokers in missing.items() if brokers}


def restart(lab: Lab, found: dict[str, list[int]]) -> None:
    """Restart the brokers of such replicas, one after the other, as an operator does who sees them in check.yml."""
    numbers: Sequence[int] = sorted({number for brokers in found.values() for number in brokers})
    for number in numbers:
        lab.inventory.run(lab.inventory.broker(number), "systemctl restart kafka.service", seconds=120)
