"""Replicas move to other brokers under load: nothing is lost, and no throttle is left."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from faults.lab import Lab

from operations.conftest import Operator, kill
from operations.moving import SLOW, UNLIMITED, Topic, begun, ids, written


def test_drained_and_filled_under_load(operator: Operator, made: Callable[..., Topic], tmp_path: Path) -> None:
    """Check mode predicts it, and that plan alone is carried out; it is printed before that."""
    one, two, three = ids(operator)
    topic = made([three, one], [two, three], [one, two])
    with written(topic, tmp_path):
        predicted = operator.play(*topic.verb, f"drain={three}", *UNLIMITED, "--check")
        assert predicted.code == 0, predicted.output[-3000:]
        assert topic.layout() == {0: [three, one], 1: [two, three], 2: [one, two]}
        (plan,) = re.findall(r"plan (\w{8}) \(-e plan=", predicted.output)
        drained = operator.play(*topic.verb, f"drain={three}", *UNLIMITED, "-e", f"plan={plan}")
        assert drained.code == 0, drained.output[-3000:]
        assert topic.moved().keys() == {0, 1, 2}
        assert [sorted(replicas) for replicas in topic.layout().values()] == [[one, two]] * 3
        back = operator.play(*topic.verb, f"add={three}", *SLOW)
        assert back.code == 0, back.output[-3000:]
        assert sum(three in replicas for replicas in topic.moved().values()) == 2
        assert topic.limits() == []
    plan = rf"drain={three} topic={topic.name}: 2 partitions change; 2 replicas are copied"
    for run in (predicted, drained):
        assert re.search(plan, run.output) and f"  {topic.name}-0: {three},{one} -> {two},{one}, " in run.output
        assert sum(run.recap("changed").values()) >= 1


@pytest.mark.campaign
def test_killed_and_resumed(operator: Operator, made: Callable[..., Topic], tmp_path: Path) -> None:
    """The control node dies in the middle; its limits stay, another request is refused, and the same one ends it."""
    one, two, three = ids(operator)
    topic = made([three, one], [three, two], [three, one], [three, two])
    with written(topic, tmp_path, fill=4000):
        run = begun(operator, topic, f"drain={three}", *SLOW)
        kill(run)
        assert topic.limits()
        other = operator.play(*topic.verb, "rebalance=true", *UNLIMITED)
        assert other.code != 0 and "was interrupted" in other.output, other.output[-3000:]
        again = operator.play(*topic.verb, f"drain={three}", *UNLIMITED)
        assert again.code == 0, again.output[-3000:]
        assert "resumes an interrupted run" in again.output
        assert not any(three in replicas for replicas in topic.moved().values())
        assert topic.limits() == []


@pytest.mark.campaign
def test_killed_and_reverted(operator: Operator, made: Callable[..., Topic], tmp_path: Path) -> None:
    """All partitions are where they were, in their order."""
    one, two, three = ids(operator)
    before = {0: [three, one], 1: [three, two], 2: [three, one], 3: [three, two]}
    topic = made(*before.values())
    with written(topic, tmp_path, fill=4000):
        kill(begun(operator, topic, f"drain={three}", *SLOW))
        cancelled = operator.play("reassign", "-e", "cancel=true", *UNLIMITED)
        assert cancelled.code == 0, cancelled.output[-3000:]
        assert topic.moved() == before
        assert topic.limits() == []


@pytest.mark.campaign
def test_a_third_replica(operator: Operator, made: Callable[..., Topic], tmp_path: Path) -> None:
    """And two again, in the racks that they had; a single one is refused, where a topic needs two."""
    one, two, three = ids(operator)
    topic = made([one, two], [two, three], [three, one])
    with written(topic, tmp_path, fill=500):
        more = operator.play(*topic.verb, "replication_factor=3", "-e", "rate=20MB")
        assert more.code == 0, more.output[-3000:]
        assert [sorted(replicas) for replicas in topic.moved().values()] == [[one, two, three]] * 3
        fewer = operator.play(*topic.verb, "replication_factor=2", *UNLIMITED)
        assert fewer.code == 0, fewer.output[-3000:]
        assert [len(replicas) for replicas in topic.moved().values()] == [2, 2, 2]
        assert topic.limits() == []


def declaring(operator: Operator, topic: Topic, **more: Any) -> Path:
    """Return a copy of the inventory that declares a topic, and what more of it, beside its own."""
    own = operator.inventory.variables[operator.inventory.hosts("kafka")[0]]["kafka_topics"]
    entry = {"name": topic.name, "partitions": len(topic.layout()), "config": topic.config, **more}
    line = f"    kafka_topics: {json.dumps([*own, entry])}\n"
    return operator.changed_inventory("declared", (r"(\n  vars:\n)", rf"\g<1>{line}"))


@pytest.mark.campaign
def test_a_third_replica_is_declared(operator: Operator, made: Callable[..., Topic], tmp_path: Path) -> None:
    """resources.yml moves nothing, and names the command that does; after that it finds all as declared."""
    one, two, three = ids(operator)
    topic = made([one, two], [two, three], [three, one], least=2)
    before, inventory = topic.layout(), declaring(operator, topic, replication_factor=3)
    command = ("reassign", "-e", "declared=true", "-e", "rate=20MB")
    with written(topic, tmp_path, fill=500):
        refused = operator.play("resources", inventory=inventory)
        assert refused.code != 0, "it is not as declared"
        words = " ".join(refused.output.split())
        assert f"topic {topic.name}: has 2 replicas, 3 are declared" in words, refused.output[-3000:]
        assert "reassign.yml -e declared=true -e rate=" in words
        predicted = operator.play(*command, "--check", inventory=inventory)
        assert predicted.code == 0, predicted.output[-3000:]
        assert "declared=true: 3 partitions change; 3 replicas are copied" in predicted.output
        assert topic.layout() == before
        copied = operator.play(*command, inventory=inventory)
        assert copied.code == 0, copied.output[-3000:]
        assert [sorted(replicas) for replicas in topic.moved().values()] == [[one, two, three]] * 3
        assert topic.limits() == []
        for playbook in (("resources",), command):
            again = operator.play(*playbook, inventory=inventory)
            assert (again.code, set(again.recap("changed").values())) == (0, {0}), again.output[-3000:]
        assert "declared=true: nothing to move" in again.output


@pytest.mark.campaign
def test_a_throttle_that_was_left_is_named(operator: Operator) -> None:
    """As kafka-reassign-partitions.sh leaves it where nobody asks it to verify."""
    broker, admin = ids(operator)[0], Lab(operator.inventory).admin
    key = "leader.replication.throttled.rate"

    def tell(operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(key, "1000000", incremental_operation=operation)
        told = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
        (future,) = admin.incremental_alter_configs([told]).values()
        future.result(10)

    tell(AlterConfigOpType.SET)
    try:
        run = operator.play("check")
    finally:
        tell(AlterConfigOpType.DELETE)
    assert run.code != 0
    assert f"broker {broker} throttles replication to 1000000 bytes a second, but no reassignment runs" in run.output


@pytest.mark.campaign
def test_fewer_copies_than_kafkas_own_tool_proposes(
    operator: Operator, made: Callable[..., Topic], note: Callable[[str], None]
) -> None:
    """Of the same topic: of 48 replicas one broker has 24, one 18 and one 6, so that 10 have to be copied."""
    one, two, three = ids(operator)
    topic = made(*[[one, two], [two, one], [one, two], [three, one]] * 6)
    asked = json.dumps({"version": 1, "topics": [{"topic": topic.name}]})
    tool = "f=/etc/kafka/client.properties; cat >/run/topics.json; kafka-reassign-partitions.sh --command-config $f"
    tool += " --bootstrap-server $(sed -n 's/^bootstrap.servers=//p' $f) --topics-to-move-json-file /run/topics.json"
    host = operator.inventory.hosts("kafka")[0]
    said = operator.inventory.run(host, f"{tool} --broker-list {one},{two},{three} --generate", stdin=asked)
    proposed = {entry["partition"]: entry["replicas"] for entry in json.loads(said.splitlines()[-1])["partitions"]}
    before = topic.layout()
    theirs = sum(len(set(proposed[number]) - set(replicas)) for number, replicas in before.items())
    run = operator.play(*topic.verb, "rebalance=true", *UNLIMITED)
    assert run.code == 0, run.output[-3000:]
    ours = sum(len(set(replicas) - set(before[number])) for number, replicas in topic.moved().items())
    note(f"{ours} of 48 replicas are copied, and {theirs} would be by kafka-reassign-partitions.sh --generate")
    assert ours == 10 <= theirs
