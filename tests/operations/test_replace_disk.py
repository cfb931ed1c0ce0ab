"""Disks of one broker under load: replacing a failed disk, and moving replicas between log dirs."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType
from faults.disks import UNIT, Disk
from faults.inventory import Inventory
from faults.lab import Lab, until, until_none
from faults.verdict import verdict
from faults.writer import Writer

from operations.conftest import Operator, Run, kill

pytestmark = pytest.mark.campaign
FIRST, SECOND = "/data/kafka1", "/data/kafka2"
LIMITS = re.compile(r".*\.replication\.throttled\..*|replica\.alter\.log\.dirs\..*")
NONE = str(2**63 - 1)


class Scene:
    """A topic of RF 3 and min ISR 2, and the second disk of the broker that leads its first partition."""

    def __init__(self, operator: Operator, name: str) -> None:
        """Make the topic."""
        self.operator, self.inventory, self.topic = operator, operator.inventory, name
        self.lab = Lab(operator.inventory)
        self.lab.wait()
        self.lab.create_topic(name)
        self.disk = Disk(operator.inventory, self.lab.leader(name), SECOND)
        self.broker = operator.inventory.broker_id(self.disk.host)
        self.verb = ("replace_disk", "-e", f"broker={self.broker}", "-e", f"log_dir={SECOND}")

    def on_disk(self, path: str) -> set[int]:
        """Return the partitions of which a log dir holds a replica."""
        folders = self.inventory.run(self.disk.host, f"ls {path}").split()
        return {number for number in self.lab.partitions(self.topic) if f"{self.topic}-{number}" in folders}

    def lacking(self) -> set[int]:
        """Return the partitions whose ISR lacks the broker."""
        return {number for number, one in self.lab.partitions(self.topic).items() if self.broker not in one.isr}

    def leaderless(self, topic: str) -> list[int]:
        """Return the partitions of a topic that nobody leads."""
        return [number for number, one in self.lab.partitions(topic).items() if one.leader < 0]

    def pid(self) -> object:
        """Return the broker's process."""
        return self.lab.pid(self.disk.host, UNIT)

    def limits(self) -> list[str]:
        """Return what limits copies, of the topic and of all brokers."""
        asked = [(ResourceType.BROKER, str(self.inventory.broker_id(one))) for one in self.inventory.hosts("kafka")]
        found = []
        for kind, name in [*asked, (ResourceType.TOPIC, self.topic)]:
            (future,) = self.lab.admin.describe_configs([ConfigResource(kind, name)]).values()
            entries = [one for one in future.result(10).values() if LIMITS.fullmatch(one.name)]
            found += [f"{name}: {one.name} = {one.value}" for one in entries if one.value and one.value != NONE]
        return found

    def whole(self) -> None:
        """Wait until all brokers are in every ISR."""
        until_none("all ISRs are full", self.lab.broker_problems, 60)


@pytest.fixture
def scene(inventory: Inventory, operator: Operator, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """One that is gone afterwards; the lab has its own disk again then."""
    made = Scene(operator, re.sub(r"\W", "-", f"disks-{request.node.name[:30]}-{id(request) % 10**6}"))
    yield made
    if made.disk.failed:
        made.disk.restore()
    made.lab.heal()
    made.lab.delete_topic(made.topic)


def well(run: Run) -> str:
    """Return what a run printed, in one line; it has to have ended well."""
    assert run.code == 0, run.output[-5000:]
    return re.sub(r"\s+", " ", run.output)


def test_a_disk_that_failed_is_replaced(scene: Scene, tmp_path: Path, note: Callable[[str], None]) -> None:
    """Refused as mkfs made it; check mode changes nothing; afterwards all is in sync, and nothing was lost."""
    play, disk = scene.operator.play, scene.disk
    with Writer(scene.inventory.kafka_properties, scene.topic, tmp_path, run=scene.topic, rate=200) as writer:
        until("records before the fault", lambda: writer.acked >= 500, 60)
        there = scene.on_disk(SECOND)
        assert there and scene.on_disk(FIRST), "both disks hold some partitions"
        disk.gives_errors()
        until("the broker has given its disk up", lambda: scene.lacking() == there, 60)
        pid = scene.pid()
        failing = play(*scene.verb)
        assert failing.code != 0 and f"{SECOND}: the file system fails" in failing.output, failing.output[-3000:]
        disk.mount_new()
        refused = play(*scene.verb)
        assert refused.code != 0 and f"rmdir {SECOND}/lost+found" in refused.output, refused.output[-3000:]
        scene.inventory.run(disk.host, f"rmdir {SECOND}/lost+found")
        predicted = well(play(*scene.verb, "-e", "rate=20MB", "--check"))
        assert "replicas are copied to the disk" in predicted and "would be restarted in this order" in predicted
        assert scene.pid() == pid and scene.lacking() == there and scene.limits() == []
        replaced = well(play(*scene.verb, "-e", "rate=20MB"))
        assert scene.lacking() == set() and scene.pid() != pid
        (words,) = set(re.findall(rf"broker {scene.broker} serves from {SECOND}: [^\"]*", replaced))
        assert scene.limits() == []
        assert scene.inventory.run(disk.host, f"stat -c '%U:%G %a' {SECOND}").split() == [disk.owner, disk.mode]
        assert scene.on_disk(SECOND) and scene.on_disk(FIRST) | scene.on_disk(SECOND) == {*range(6)}
        pid = scene.pid()
        assert "nothing to do" in well(play(*scene.verb)) and scene.pid() == pid
        enough = writer.acked + 500
        until("records after it", lambda: writer.acked >= enough, 60)
    scene.whole()
    _, report = verdict(scene.lab, scene.topic, tmp_path, 0)
    note(f"{disk.host}: {words}; {report}")


def test_an_interrupted_replacement_is_resumed(scene: Scene, tmp_path: Path) -> None:
    """The control node dies while replicas are copied: the throttles stay until the same command is run again."""
    play, disk = scene.operator.play, scene.disk
    properties = scene.inventory.kafka_properties
    with Writer(
        properties, scene.topic, tmp_path, run=scene.topic, name="f", limit=6000, rate=2000, size=10_000
    ) as one:
        one.join()
    there = scene.on_disk(SECOND)
    disk.gives_errors()
    with Writer(properties, scene.topic, tmp_path, run=scene.topic, rate=200) as writer:
        until("the broker has given its disk up", lambda: scene.lacking() == there, 60)
        disk.mount_new()
        scene.inventory.run(disk.host, f"rmdir {SECOND}/lost+found")
        pid = scene.pid()
        run = scene.operator.begin(*scene.verb, "-e", "rate=1MB")
        until("replicas come back", lambda: scene.pid() != pid and scene.on_disk(SECOND), 240)
        kill(run)
        assert scene.limits() and scene.lacking()
        pid = scene.pid()
        well(play(*scene.verb, "-e", "rate=unlimited"))
        assert scene.pid() == pid and scene.lacking() == set() and scene.limits() == []
        enough = writer.acked + 200
        until("records after it", lambda: writer.acked >= enough, 60)
    scene.whole()
    verdict(scene.lab, scene.topic, tmp_path, 0)


def test_no_broker_begins_with_nothing(scene: Scene, tmp_path: Path) -> None:
    """A restart with a new disk in place of the one that alone had a partition is refused; to give it up is a word."""
    play, disk, name = scene.operator.play, scene.disk, f"{scene.topic}-alone"
    first, second = (len(scene.inventory.run(disk.host, f"ls {path}").split()) for path in (FIRST, SECOND))
    partitions = max(0, second - first) + 4  # each comes to the log dir that has fewer
    scene.lab.create_topic(name, partitions=partitions, replicas=[scene.broker], config={"min.insync.replicas": "1"})
    try:
        folders = scene.inventory.run(disk.host, f"ls {SECOND}").split()
        alone = [f"{name}-{number}" for number in range(partitions) if f"{name}-{number}" in folders]
        assert alone
        disk.gives_errors()
        with Writer(scene.inventory.kafka_properties, scene.topic, tmp_path, run=scene.topic, rate=200):
            until("its partitions have no leader", lambda: len(scene.leaderless(name)) == len(alone), 60)
        disk.mount_new()
        scene.inventory.run(disk.host, f"rmdir {SECOND}/lost+found")
        pid = scene.pid()
        refused = play("restart", "--limit", disk.host)
        said = re.sub(r"\s+", " ", refused.output)
        assert refused.code != 0 and f"the only in-sync replica of {alone[0]}" in said, refused.output[-5000:]
        assert "the broker would lead with no records" in said and f"-e lost={alone[0]}" in said
        assert scene.pid() == pid and scene.leaderless(name)
        gap = json.dumps({"kafka_restart_accepts": [name]})  # its other partitions have this broker alone, too
        well(play(*scene.verb, "-e", "rate=20MB", "-e", f"lost={','.join(alone)}", "-e", gap))
        assert scene.pid() != pid and not scene.leaderless(name)
        scene.whole()
    finally:
        scene.lab.delete_topic(name)


def test_a_log_dir_is_emptied(scene: Scene, tmp_path: Path) -> None:
    """Interrupted, canceled, done: replicas stay in sync, and leaders do not change."""
    play, properties = scene.operator.play, scene.inventory.kafka_properties
    verb = ("reassign", "-e", f"topic={scene.topic}", "-e")
    empty = f"empty={scene.broker}:{SECOND}"
    with Writer(
        properties, scene.topic, tmp_path, run=scene.topic, name="f", limit=6000, rate=2000, size=10_000
    ) as one:
        one.join()
    with Writer(properties, scene.topic, tmp_path, run=scene.topic, rate=200) as writer:
        until("records before it", lambda: writer.acked >= 200, 60)
        before, pid = scene.on_disk(SECOND), scene.pid()
        assert before, "the second disk holds some partitions"
        predicted = well(play(*verb, empty, "-e", "rate=1MB", "--check"))
        assert f"{len(before)} replicas move to another log dir of their broker" in predicted
        assert scene.on_disk(SECOND) == before and scene.limits() == []
        run = scene.operator.begin(*verb, empty, "-e", "rate=1MB")
        coming = f"ls {FIRST} | grep -c -e -future || true"
        until("replicas are on their way", lambda: int(scene.inventory.run(scene.disk.host, coming)), 120)
        kill(run)
        assert scene.limits()
        other = play(*verb, f"disks={scene.broker}", "-e", "rate=unlimited")
        assert other.code != 0 and "was interrupted" in other.output, other.output[-3000:]
        well(play("reassign", "-e", "cancel=true", "-e", "rate=unlimited"))
        assert scene.on_disk(SECOND) == before and scene.limits() == []
        well(play(*verb, empty, "-e", "rate=50MB"))
        assert scene.on_disk(SECOND) == set() and scene.on_disk(FIRST) == {*range(6)}
        assert scene.limits() == [] and scene.lacking() == set()
        well(play(*verb, f"disks={scene.broker}", "-e", "rate=50MB"))
        assert scene.on_disk(SECOND) and scene.on_disk(FIRST)
        page = play("check").output
        for path in (FIRST, SECOND):
            row = rf"^  {scene.broker} +{re.escape(scene.disk.host)} +{path} +\d+ +[\d.]+ ([KMG]i)?B$"
            assert re.search(row, page, re.MULTILINE), page[-5000:]
        assert scene.pid() == pid
        enough = writer.acked + 200
        until("records after it", lambda: writer.acked >= enough, 60)
    scene.whole()
    verdict(scene.lab, scene.topic, tmp_path, 0)
