"""Fixtures of the tests of the timer: an uneven cluster, settings, and a run."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, Reassign

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import timer

Once = Callable[..., tuple[int, str]]
UNEVEN = {"orders": [[1, 2], [1, 2], [1, 2]]}


@pytest.fixture
def uneven(six: FakeCluster) -> FakeCluster:
    """Of six brokers two hold and lead all: a plan copies four replicas of 4 MiB."""
    six.topics = {name: [list(one) for one in replicas] for name, replicas in UNEVEN.items()}
    six.sizes = {("orders", number): 4 * MIB for number in range(3)}
    return six


def settings(six: FakeCluster, folder: Path, **changes: Any) -> Path:
    """Write the settings file of the role, and return its path."""
    servers = ",".join(f"127.0.0.1:{port}" for port in six.ports.values())
    said = {
        "admin": {"bootstrap.servers": servers},
        "brokers": [{"id": number, "rack": rack} for number, rack in six.racks.items()],
        "cluster_id": "",
        "write_timeout": 60,
        "rate": "50MB",
        "at_most": "1GB",
        "run": True,
        "record_directory": str(folder / "state"),
    }
    path = folder / "settings.json"
    path.write_text(json.dumps({**said, **changes}))
    return path


@pytest.fixture
def once(uneven: FakeCluster, reassign: Reassign, tmp_path: Path) -> Iterator[Once]:
    """Runs it, and returns its exit status and output; it may be ended by SIGTERM."""
    before = signal.getsignal(signal.SIGTERM)

    def run(**changes: Any) -> tuple[int, str]:
        lines: list[str] = []
        code = timer.main([str(settings(uneven, tmp_path, **changes))], lines.append)
        return code, "\n".join(lines)

    yield run
    signal.signal(signal.SIGTERM, before)


def held(six: FakeCluster) -> list[int]:
    """Return how many replicas each broker holds."""
    replicas = [one for partitions in six.topics.values() for brokers in partitions for one in brokers]
    return [replicas.count(broker) for broker in sorted(six.racks)]


def ended(monkeypatch: pytest.MonkeyPatch, once: Once, six: FakeCluster, **changes: Any) -> str:
    """End a run by SIGTERM while nothing arrives; return its output."""
    with monkeypatch.context() as patch:
        patch.setattr(waits, "rest", lambda seconds: signal.raise_signal(signal.SIGTERM))
        six.stuck = {"orders"}
        code, said = once(**changes)
    six.stuck = set()
    assert code == 143, said
    return said
