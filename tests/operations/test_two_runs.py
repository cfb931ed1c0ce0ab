"""Two operators at once: the second run ends before it changes anything, names the first, and does not disturb it."""

import json
from pathlib import Path

from faults.lab import until

from operations.conftest import Operator, kill


def test_the_second_run_is_told_of_the_first_and_changes_nothing(operator: Operator, tmp_path: Path) -> None:
    """Each would restart another broker than the other; the lock is of the cluster, and --limit does not matter."""
    one, other, *_ = operator.inventory.hosts("kafka")
    locks = tmp_path / "locks"
    locks.mkdir()
    changes = {heap: json.dumps({"kafka_heap": heap, "run_lock_directory": str(locks)}) for heap in ("252m", "254m")}
    before = operator.processes()
    first = operator.begin("kafka", "--limit", one, "-e", changes["252m"])
    try:
        until("the first run has written who it is", lambda: any(file.read_text() for file in locks.iterdir()), 120)
        second = operator.play("kafka", "--limit", other, "-e", changes["254m"])
        asked = operator.play("kafka", "--limit", other, "-e", changes["254m"], "--tags", "model")
        assert first.poll() is None, "it ended too early: nothing was tested"
        output, _ = first.communicate(timeout=600)
    finally:
        kill(first)
    assert second.code != 0
    said = " ".join(second.output.split())
    assert "RUN_LOCKED" in said and f"pid {first.pid}:" in said, second.output[-3000:]
    assert "1 mistake, listed above; no host was changed" in said
    assert sum(second.recap("changed").values()) == 0
    assert "TASK [Probe the host]" not in second.output
    assert asked.code == 0, asked.output[-3000:]
    assert first.returncode == 0, output[-3000:]
    after = operator.processes()
    assert [host for host in before if after[host] != before[host]] == [one]
    assert "Xmx254m" not in operator.inventory.run(other, "cat /etc/systemd/system/kafka.service")
    back = operator.play("kafka", "--limit", one)
    assert back.code == 0, back.output[-3000:]
