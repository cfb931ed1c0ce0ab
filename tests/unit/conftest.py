"""Modules against brokers on loopback that speak Kafka's protocol."""

import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run, modules

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka import broker_views
from ansible_collections.millrace.kafka.plugins.module_utils.kafka import cluster as clusters
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import admin, kafka_python, log_dirs, moves
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata


@pytest.fixture
def cluster() -> FakeCluster:
    """Brokers without topics."""
    return FakeCluster()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers on loopback share their process, and its processor, with who asks: they get more time to answer."""
    for name in ("FIRST", "REACH"):
        monkeypatch.setattr(admin, name, 40.0)
    for asking in (kafka_python, log_dirs, moves):
        monkeypatch.setattr(asking, "ASK", 40.0)


@pytest.fixture
def dead_ports(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Ports at which no broker answers, for a test to fill: each is asked for 0.1 s, living brokers for 40 s."""
    dead = set[int]()

    class Asking(Admin):
        def look(self, timeout: float) -> Metadata:
            port = int(self.properties["bootstrap.servers"].rpartition(":")[2])
            return super().look(0.1 if port in dead else 40.0)

    for asking in (clusters, broker_views):
        monkeypatch.setattr(asking, "Admin", Asking)
    return dead


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let contexts be as from Python 3.13 on: strict, and content with an intermediate CA."""
    make = ssl.create_default_context

    def made(**options: Any) -> ssl.SSLContext:
        context = make(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    monkeypatch.setattr(ssl, "create_default_context", made)
    monkeypatch.setattr(ssl, "_create_default_https_context", made)  # of urlopen, where no other is given


@pytest.fixture
def run(cluster: FakeCluster, capsys: pytest.CaptureFixture[str], patient: None) -> Iterator[Run]:
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
