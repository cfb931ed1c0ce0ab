"""Mistakes that only the hosts can show: named before anything is changed, in check mode too."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from operations.conftest import Operator

Change = Callable[[str], str]


def replace(old: str, new: str) -> Change:
    """Return a change of one text."""
    return lambda text: text.replace(old, new, 1)


MISTAKES: dict[str, tuple[str, Change, list[str]]] = {
    "broker id other than the disk's": (
        "hosts.yml",
        replace("kafka_broker_id: 3", "kafka_broker_id: 7"),
        ["KAFKA_ID_CHANGED dc1-kafka3/kafka_broker_id = 7", "/data/kafka1/meta.properties says broker.id=3", "declare 3 again"],
    ),
    "ZooKeeper id other than the disk's": (
        "hosts.yml",
        replace("zookeeper_id: 3", "zookeeper_id: 9"),
        ["ZOOKEEPER_ID_CHANGED dc1-zk3/zookeeper_id = 9", "/myid says 3"],
    ),
    "address not on the host": (
        "hosts.yml",
        lambda text: re.sub(r"(dc1-kafka2: .*replication_address: [\d.]+\.)22", r"\g<1>99", text),
        ["ADDRESS_ABSENT dc1-kafka2/replication_address", "correct the inventory, or configure the interface"],
    ),
    "log dir not mounted": (
        "group_vars/kafka.yml",
        replace("[/data/kafka1, /data/kafka2]", "[/data/kafka1, /data/kafka9]"),
        ["NOT_MOUNTED group kafka/kafka_log_dirs = /data/kafka9", "mount the disk"],
    ),
    "archive checksum wrong": (
        "group_vars/kafka.yml",
        replace('"sha512:{{ kafka_archive }}.sha512"', '"sha512:' + "ab" * 64 + '"'),
        ["ARCHIVE group kafka/kafka_archive", "declared is abababab", "correct the checksum or the archive"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_is_named_before_any_host_changes(operator: Operator, mistake: str) -> None:
    file, change, texts = MISTAKES[mistake]
    wrong: Path = operator.changed_inventory("wrong", change, file)
    before, processes = operator.fingerprint(), operator.processes()
    for options in ((), ("--check",)):
        run = operator.play("site", *options, inventory=wrong)
        assert run.code != 0
        assert set(run.recap("changed").values()) == {0}
        assert "Role" not in run.output and "Configure" not in run.output
        unwrapped = re.sub(r"\s+", " ", run.output)
        for text in texts:
            assert text in unwrapped, run.output[-3000:]
    assert operator.fingerprint() == before
    assert operator.processes() == processes
