"""A broker that died with its disks: another one takes what it held, or it comes back under its id, under load."""

from collections.abc import Callable
from pathlib import Path

import pytest
from faults.lab import until

from operations.conftest import Operator
from operations.moving import Topic, ids, written

pytestmark = pytest.mark.campaign


def test_a_broker_that_died_is_replaced_by_another(
    operator: Operator, made: Callable[..., Topic], tmp_path: Path
) -> None:
    """What it held comes from those that are left; what it has of that, when it is back, is named as nobody's."""
    one, two, three = ids(operator)
    topic = made([three, one], [one, three])
    host = operator.inventory.broker(three)
    with written(topic, tmp_path, fill=500):
        operator.inventory.run(host, "systemctl stop kafka")
        try:
            until("it is unregistered", lambda: three not in topic.lab.admin.list_topics(timeout=5).brokers, 60)
            run = operator.play(*topic.verb, f"replace={three}:{two}", "-e", "rate=20MB")
            assert run.code == 0, run.output[-3000:]
            assert topic.moved() == {0: [two, one], 1: [one, two]}
        finally:
            topic.lab.heal()
        assert topic.limits() == []
    stray = operator.play("check")
    assert stray.code != 0
    said = " ".join(stray.output.split())
    assert f"broker {three} ({host}) holds " in said and f"({topic.name}-0" in said, stray.output[-3000:]
    operator.inventory.run(host, f"systemctl stop kafka && rm -r /data/kafka*/{topic.name}-*", seconds=120)
    topic.lab.heal()
    healthy = operator.play("check")
    assert healthy.code == 0, healthy.output[-3000:]


def test_a_broker_that_died_with_its_disks_comes_back_under_its_id(
    operator: Operator, made: Callable[..., Topic], tmp_path: Path
) -> None:
    """Nothing is moved: it copies what it lacks, and leads what it led."""
    one, two, three = ids(operator)
    topic = made([three, one, two], [one, three, two], [two, one, three], least=2)
    host, before = operator.inventory.broker(three), topic.layout()
    dirs = "$(sed -n 's/^log.dirs=//p' /etc/kafka/server.properties | tr , ' ')"
    with written(topic, tmp_path, fill=4000):
        wipe = f"find {dirs} -mindepth 1 -delete"
        operator.inventory.run(host, f"systemctl kill -s KILL kafka; systemctl stop kafka; {wipe}")
        try:
            until("it is unregistered", lambda: three not in topic.lab.admin.list_topics(timeout=5).brokers, 60)
            down = operator.play("check")
            assert down.code != 0 and "not registered" in down.output, down.output[-3000:]
            run = operator.play("kafka")
            assert run.code == 0, run.output[-3000:]
            assert topic.moved() == before
        finally:
            topic.lab.heal()
    healthy = operator.play("check")
    assert healthy.code == 0 and "\nHEALTHY\n" in healthy.output, healthy.output[-3000:]
