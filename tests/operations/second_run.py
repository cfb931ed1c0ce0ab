"""Two operators at once: the second run ends before it changes anything, names the first, and does not disturb it."""

import json
import subprocess
from pathlib import Path

from faults.lab import until

from operations.conftest import Operator, kill


def run_with_a_second_one(operator: Operator, one: str, other: str, locks: Path) -> None:
    """Run `kafka` on one broker to its end; meanwhile a second operator wants another one restarted.

    The lock is of the cluster, and --limit does not matter; a run that only looks is let in.
    """
    locks.mkdir()
    lock = {"run_lock_directory": str(locks)}
    before = operator.processes()
    first = operator.begin("kafka", "--limit", one, "-e", json.dumps(lock))
    try:
        until("the first run has written who it is", lambda: any(file.read_text() for file in locks.iterdir()), 120)
        refused(operator, first, other, lock)
        output, _ = first.communicate(timeout=600)
    finally:
        kill(first)
    assert first.returncode == 0, output[-3000:]
    after = operator.processes()
    assert [host for host in before if after[host] != before[host]] == [one]


def refused(operator: Operator, first: subprocess.Popen[str], other: str, lock: dict[str, str]) -> None:
    """A second run with a change ends before it looks at a host, and says who is there; one of the model alone goes."""
    change = json.dumps({"kafka_heap": "254m", **lock})
    second = operator.play("kafka", "--limit", other, "-e", change)
    asked = operator.play("kafka", "--limit", other, "-e", change, "--tags", "model")
    assert first.poll() is None, "it ended too early: nothing was tested"
    assert second.code != 0
    said = " ".join(second.output.split())
    assert "RUN_LOCKED" in said and f"pid {first.pid}:" in said, second.output[-3000:]
    assert "1 mistake, listed above; no host was changed" in said
    assert sum(second.recap("changed").values()) == 0
    assert "TASK [Probe the host]" not in second.output
    assert asked.code == 0, asked.output[-3000:]
    assert "Xmx254m" not in operator.inventory.run(other, "cat /etc/systemd/system/kafka.service")
