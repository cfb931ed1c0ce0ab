"""Fixtures of the tests of kafka_log_dir: a broker with an offline log dir, the module, and the new disk."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run, modules
from unit.reassigning import MIB

from ansible_collections.millrace.kafka.plugins.modules import kafka_log_dir

LogDir = Callable[..., dict[str, Any]]
CLUSTER = "cluster-of-a-test"
META = {"broker.id": "3", "cluster.id": CLUSTER, "version": "0"}
OURS = [".lock", "meta.properties", "recovery-point-offset-checkpoint"]


def mount(*names: str, **more: Any) -> dict[str, Any]:
    """Return a host's facts of a log dir."""
    return {"mounted": True, "size": 100 * MIB, "free": 90 * MIB, "names": [*names], **more}


@pytest.fixture
def failed() -> FakeCluster:
    """The second log dir of broker 3 is offline, with two of its three replicas."""
    made = FakeCluster(5)
    made.topics = {"orders": [[1, 3], [3, 2], [2, 3]], "other": [[1, 2]]}
    made.sizes = {("orders", 0): 3 * MIB, ("orders", 1): 5 * MIB, ("orders", 2): 1 * MIB}
    made.given_up = {3: ["/data/2"]}
    made.behind = {(3, "orders", 0), (3, "orders", 1)}
    return made


@pytest.fixture
def on_failed(failed: FakeCluster, capsys: pytest.CaptureFixture[str], clock: Clock, patient: None) -> Iterator[Run]:
    """Runs a module on it; waits take no time."""
    with modules(failed, capsys) as run:
        yield run


@pytest.fixture
def log_dir(on_failed: Run, tmp_path: Path) -> LogDir:
    """Runs the module on a new, empty disk."""

    def module(check_mode: bool = False, new: Any = None, **options: Any) -> dict[str, Any]:
        mounts = {"/data/1": mount(*OURS, "orders-2"), "/data/2": mount() if new is None else new}
        said = {
            "broker": 3,
            "log_dir": "/data/2",
            "mounts": mounts,
            "meta_properties": {path: META for path, one in mounts.items() if "meta.properties" in one["names"]},
            "rate": "50MB",
            "record_directory": str(tmp_path / "state"),
            **options,
        }
        return on_failed(kafka_log_dir, check_mode, **said)

    return module


def restarted(failed: FakeCluster) -> dict[str, Any]:
    """Have the broker use the disk; return its host's facts of it."""
    failed.given_up = {}
    return mount(*OURS, "orders-0", "orders-1")
