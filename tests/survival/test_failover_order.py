"""Failovers and failbacks in an unusual order: a run is killed just before its point of no return, or sides change."""

import json
import uuid

import pytest
from confluent_kafka.admin import ConfigResource, ConfigSource, ResourceType
from confluent_kafka.cimpl import NewTopic

from survival.conftest import QUICK

from .failures import cut_off
from .stretched import Stretched, statement
from .test_failover import LAYOUT, lose, min_isr
from .writes import Writes

pytestmark = pytest.mark.campaign
FENCES = "nft list tables | grep -c millrace_fence || true"


def unwritable(cluster: Stretched, topic: str, datacenter: str) -> dict[int, str]:
    """Write to each partition of a topic while only one datacenter serves; return the error of each that rejects it."""
    hosts = [host for host in cluster.inventory.hosts("kafka") if host.startswith(f"{datacenter}-")]
    alive = [cluster.inventory.broker_id(host) for host in hosts]
    partitions = range(len(cluster.lab.admin.list_topics(topic, timeout=20).topics[topic].partitions))
    return Writes(cluster.inventory.kafka_properties, topic, uuid.uuid4().hex, alive).run(partitions, True)


def has_own_min_isr(cluster: Stretched, topic: str) -> bool:
    """Tell whether a topic has a min.insync.replicas of its own."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    found = cluster.lab.admin.describe_configs([resource], request_timeout=20)[resource].result(30)
    return bool(found["min.insync.replicas"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)


def fenced(cluster: Stretched) -> list[str]:
    """Return the ZooKeeper servers and brokers that have the table of the fence."""
    hosts = cluster.servers_of("dc1") + cluster.servers_of("dc2")
    return [host for host, count in cluster.lab.on_all(hosts, FENCES).items() if int(count)]


def test_a_run_killed_before_the_first_restart_is_undone(stretched: Stretched, topic: str) -> None:
    """The record names the ensemble already, no server was restarted, and dc1 returns: failback.yml only unfences."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    mend = lose(stretched, "dc1")
    stretched.interrupt("playbooks/failover.yml", "Restart the ZooKeeper servers", *statement("dc2"))
    assert json.loads(stretched.record.read_text())["state"] == "ensemble"
    mend()
    stretched.start_zookeeper(stretched.servers_of("dc1"))
    stretched.play("playbooks/failback.yml")
    assert (fenced(stretched), stretched.record.exists()) == ([], False)
    stretched.start_brokers(stretched.servers_of("dc1"))
    stretched.whole()


def test_a_datacenter_that_is_lost_again_during_the_failback_returns(stretched: Stretched, topic: str) -> None:
    """The second failover is killed before its first restart. failback.yml removes its fences, and completes."""
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    before = min_isr(stretched, topic)
    mend = lose(stretched, "dc1")
    stretched.play("playbooks/failover.yml", *statement("dc2"))
    mend()
    stretched.interrupt("playbooks/failback.yml", "Wait until every replica is in sync")
    mend = lose(stretched, "dc1")
    stretched.interrupt("playbooks/failover.yml", "Restart the ZooKeeper servers", *statement("dc2"))
    assert json.loads(stretched.record.read_text())["state"] == "returning"
    mend()
    stretched.start_zookeeper(stretched.servers_of("dc1"))
    stretched.play("playbooks/failback.yml")
    stretched.whole()
    assert (fenced(stretched), stretched.record.exists(), min_isr(stretched, topic)) == ([], False, before)


def test_the_other_datacenter_is_lost_next(stretched: Stretched, topic: str) -> None:
    """A broker misses the failback, and takes part in the next failover to the other side; no fence stays.

    A topic with one replica in each datacenter accepts writes meanwhile, and follows the default afterwards.
    """
    if stretched.name != LAYOUT:
        pytest.skip("one layout is enough")
    before, pair = min_isr(stretched, topic), f"pair{uuid.uuid4().hex[:8]}"
    there = [stretched.inventory.broker_id(host) for host in ("dc1-kafka1", "dc2-kafka1")]
    two = NewTopic(pair, 2, replica_assignment=[there, there[::-1]])  # none on the broker that is left out
    stretched.lab.admin.create_topics([two], operation_timeout=30)[pair].result(40)
    stretched.whole()
    mend = lose(stretched, "dc1")
    stretched.play("playbooks/failover.yml", *statement("dc2"))
    assert unwritable(stretched, pair, "dc2") == {}
    assert has_own_min_isr(stretched, pair)
    mend()
    mend = cut_off(stretched, ["dc2-kafka2"])
    code, text = stretched.attempt("playbooks/failback.yml", "-e", "ansible_ssh_timeout=5")
    words = "Left out: dc2-kafka2. Still separated: dc2-kafka2."
    assert (code != 0, words in " ".join(text.split())) == (True, True), text[-3000:]
    assert (min_isr(stretched, topic), has_own_min_isr(stretched, pair)) == (before, False)
    mend()
    assert fenced(stretched) == ["dc2-kafka2"]
    mend = lose(stretched, "dc2")
    stretched.play("playbooks/failover.yml", *statement("dc1"))
    assert unwritable(stretched, pair, "dc1") == {}
    mend()
    stretched.play("playbooks/failback.yml")
    stretched.whole()
    assert (fenced(stretched), stretched.record.exists()) == ([], False)
    assert (min_isr(stretched, topic), has_own_min_isr(stretched, pair)) == (before, False)
    states = stretched.lab.on_all(stretched.servers_of("dc1"), "cat /etc/millrace/failover.json")
    assert {json.loads(text)["state"] for text in states.values()} == {"ended"}
    stretched.play("playbooks/site.yml", "-e", json.dumps(QUICK))  # records that have ended block no playbook
