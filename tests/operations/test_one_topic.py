"""What people do with one topic by hand, and a cluster that was set up by hand, as an inventory says it."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from faults.inventory import Inventory
from faults.lab import Lab, until

from ansible_collections.millrace.kafka.plugins.modules import kafka_topic
from operations.conftest import Operator
from operations.direct import Direct, direct

LAYER = "layers/resources"


@pytest.fixture
def topic(inventory: Inventory) -> Iterator[str]:
    """A topic of two partitions with a setting and five records, that no inventory says."""
    name, admin = f"by-hand-{secrets.token_hex(4)}", Lab(inventory).admin
    admin.create_topics([NewTopic(name, 2, 3, config={"retention.ms": "86400000"})])[name].result(30)
    producer = Producer(inventory.admin_properties)
    for number in range(5):
        producer.produce(name, f"v{number}", f"k{number}", number % 2, headers={"trace": f"t{number}"})
    assert producer.flush(30) == 0
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


@pytest.fixture
def run(inventory: Inventory, capsys: pytest.CaptureFixture[str]) -> Direct:
    return direct(inventory, capsys)


def test_verbs_of_one_topic(operator: Operator, inventory: Inventory, topic: str, run: Direct) -> None:
    """The playbook shows what the module returns; deleting records requires the topic's name, and keeps settings."""
    admin = Lab(inventory).admin
    committed = ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 0, 1)])
    admin.alter_consumer_group_offsets([committed])[topic].result(30)
    said = ("topic", "-e", f"topic={topic}", "-e")

    shown = operator.play(*said, "do=describe").output
    assert len(re.findall(r"^  \d+ +/\S+ +\d+ ", shown, re.MULTILINE)) >= 3 and "retention.ms: 86400000 (1 d)" in shown
    found = operator.play(*said, "do=find", "-e", "key=k3").output
    assert re.search(r"^  1 +1 +20\S+Z +k3 +trace=t3 +v3$", found, re.MULTILINE), found
    groups = run(kafka_topic, topic=topic, do="lag")["groups"]
    assert [(group["name"], group["lag"]) for group in groups] == [(topic, 2)]

    for verb in ("purge", "recreate"):
        refused = run(kafka_topic, topic=topic, do=verb)
        assert refused["failed"] and f"set confirm={topic} to do it" in refused["msg"]
    assert run(kafka_topic, topic=topic, do="purge", confirm=topic)["deleted"] == 5
    assert run(kafka_topic, topic=topic, do="find", key="k3")["records"] == []
    before = admin.list_topics(topic, timeout=10).topics[topic].partitions
    assert "retention.ms=86400000" in operator.play(*said, "do=recreate", "-e", f"confirm={topic}").output
    after = until("the topic anew", lambda: admin.list_topics(topic, timeout=10).topics[topic].partitions, 30)
    assert {number: one.replicas for number, one in after.items()} == {
        number: one.replicas for number, one in before.items()
    }


def test_an_export_changes_nothing(operator: Operator, topic: str, tmp_path: Path) -> None:
    """What was set up by hand is said, and a run on it leaves all as it is."""
    file = tmp_path / "resources.yml"
    assert operator.play("export", "-e", f"to={file}").code == 0
    found = yaml.safe_load(file.read_text())
    assert {"name": topic, "partitions": 2, "replication_factor": 3, "config": {"retention.ms": 86400000}} in found[
        "kafka_topics"
    ]
    run = operator.play(LAYER, "--diff", "-e", f"@{file}")
    assert (run.code, set(run.recap("changed").values())) == (0, {0}), run.output[-3000:]
    again = operator.play("export", "-e", f"to={file}")
    assert again.code != 0 and yaml.safe_load(file.read_text()) == found
