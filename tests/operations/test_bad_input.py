"""Mistakes that only the hosts can show: site.yml reports all of them in one run, and changes no host."""

import re

from operations.conftest import Operator

# Each with the change that makes it, and what is said of it.
MISTAKES: dict[str, tuple[tuple[str, str], list[str]]] = {
    "broker id other than the disk's": (
        ("kafka_broker_id: 3", "kafka_broker_id: 7"),
        [
            "KAFKA_ID_CHANGED dc1-kafka3/kafka_broker_id = 7",
            "/data/kafka1/meta.properties has broker.id=3",
            "set kafka_broker_id to 3 again",
        ],
    ),
    "ZooKeeper id other than the disk's": (
        ("zookeeper_id: 3", "zookeeper_id: 9"),
        ["ZOOKEEPER_ID_CHANGED dc1-zk3/zookeeper_id = 9", "/myid contains 3"],
    ),
    "address not on the host": (
        (r"(dc1-kafka2: .*replication_address: [\d.]+\.)22", r"\g<1>99"),
        ["ADDRESS_ABSENT dc1-kafka2/replication_address", "correct the inventory, or configure the interface"],
    ),
    "log dir not mounted": (
        ("    kafka:\n", "    kafka:\n      vars: {kafka_log_dirs: [/data/kafka1, /data/kafka2, /data/kafka9]}\n"),
        ["NOT_MOUNTED group kafka/kafka_log_dirs = /data/kafka9", "mount the disk"],
    ),
    "archive checksum wrong": (
        ("      vars: {kafka_log_dirs", f"      vars: {{kafka_archive_checksum: 'sha512:{'ab' * 64}', kafka_log_dirs"),
        ["ARCHIVE group kafka/kafka_archive", "but abababab", "correct the checksum or the archive"],
    ),
}


def test_all_are_named_in_one_run_before_any_host_changes(operator: Operator) -> None:
    wrong = operator.changed_inventory("wrong", *(change for change, _ in MISTAKES.values()))
    before, processes = operator.fingerprint(), operator.processes()
    run = operator.play("site", inventory=wrong)
    assert run.code != 0
    assert set(run.recap("changed").values()) == {0}
    assert "Role" not in run.output and "Configure" not in run.output
    unwrapped = re.sub(r"\s+", " ", run.output)
    missing = [text for _, texts in MISTAKES.values() for text in texts if text not in unwrapped]
    assert missing == [], run.output[-5000:]
    assert f"{len(MISTAKES) + 1} mistakes, listed above; no host was changed" in unwrapped, "the id, on two disks"
    assert operator.fingerprint() == before
    assert operator.processes() == processes
