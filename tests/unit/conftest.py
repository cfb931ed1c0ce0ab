"""Modules against brokers on loopback that speak Kafka's protocol."""

from collections.abc import Iterator

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run, modules

from ansible_collections.millrace.kafka.plugins.module_utils import waits


@pytest.fixture
def cluster() -> FakeCluster:
    """Brokers without topics."""
    return FakeCluster()


@pytest.fixture
def run(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs a module on them."""
    with modules(cluster, capsys) as run:
        yield run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In place of the machine's."""
    made = Clock()
    monkeypatch.setattr(waits, "now", made.now)
    monkeypatch.setattr(waits, "rest", made.rest)
    return made
