"""Fixtures of the tests of kafka_reassign: a cluster, the module, and an interrupted run."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import modules

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.modules import kafka_reassign

Reassign = Callable[..., dict[str, Any]]
Later = Callable[..., dict[str, Any]]
LEADER, FOLLOWER = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
RATES = {f"{side}.replication.throttled.rate": "50000000" for side in ("leader", "follower")}
MIB = 1 << 20


@pytest.fixture
def six() -> FakeCluster:
    """Six brokers in three racks; a topic of two partitions on the first four."""
    made = FakeCluster(6)
    made.topics = {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}
    made.sizes = {("orders", 0): 3 * MIB, ("orders", 1): 5 * MIB}
    return made


@pytest.fixture
def reassign(
    six: FakeCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path, clock: Clock, patient: None
) -> Iterator[Reassign]:
    """Runs the module; waits take no time. No run may delete the last in-sync replica."""
    with modules(six, capsys) as run:

        def module(check_mode: bool = False, once: bool = False, **options: Any) -> dict[str, Any]:
            said = {"rate": "50MB", "record_directory": str(tmp_path / "state"), **options}
            first = run(kafka_reassign, check_mode, **said)
            if (
                not once and "plan" in first and "waiting" in first
            ):  # as its action does, which prints the plan between the two
                return run(kafka_reassign, check_mode, **said, waited=first["waiting"]["waited"])
            return first

        yield module
    assert six.destroyed == set()


@pytest.fixture
def cancel(reassign: Reassign, clock: Clock) -> Later:
    """Continues a cancel so many seconds after its last part, for one second, unless it has ended."""

    def part(seconds: float = 0, answer: dict[str, Any] | None = None) -> dict[str, Any]:
        clock.at += seconds
        if answer and "waiting" not in answer:
            return answer
        waited = answer["waiting"]["waited"] if answer else {}
        return reassign(once=True, pause=1, cancel=True, rate="", waited=waited)

    return part


def parts(
    module: Callable[..., dict[str, Any]], waited: Any, until: float = math.inf, **asked: Any
) -> tuple[list[str], dict[str, Any]]:
    """Continue in parts of 10 s, as playbooks do, until the run has ended or until that time; return its lines."""
    said: list[str] = []
    while True:
        answer = module(**{"pause": 10, "waited": waited, **asked})
        if "waiting" not in answer or waits.now() >= until:
            return said, answer
        said += answer["waiting"]["what"]
        waited = answer["waiting"]["waited"]


def young(known: Metadata) -> Metadata:
    """Return the metadata of a broker that has just started: it knows itself and the controller, and no partition."""
    brokers = {known.controller: known.brokers[known.controller]}
    return replace(known, brokers=brokers, partitions=[])


def newborn(known: Metadata) -> Metadata:
    """Return its metadata before that: it knows no broker."""
    return replace(known, brokers={}, partitions=[], controller=-1)


@contextmanager
def says(monkeypatch: pytest.MonkeyPatch, words: Callable[[Metadata], Metadata]) -> Iterator[None]:
    """Have every broker return such metadata, except the controller when it is asked itself."""
    look = Admin.look

    def looked(admin: Admin, timeout: float) -> Metadata:
        admin.known = words(look(admin, timeout))
        return admin.known

    with monkeypatch.context() as patch:
        patch.setattr(Admin, "look", looked)
        yield


def limits(six: FakeCluster) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return the throttles of topics and of brokers."""
    return (
        {name: dict(config) for name, config in six.configs.items() if config},
        {broker: dict(told) for broker, told in six.told.items() if told},
    )


def records(tmp_path: Path) -> list[str]:
    """Return the records of runs that did not end."""
    return [path.name for path in (tmp_path / "state").glob("*")]


def interrupted(six: FakeCluster, reassign: Reassign, **asked: Any) -> None:
    """Leave a run that was ended between two of its parts: one topic is moved, the other is not."""
    six.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, **asked)
    six.stuck, six.asks = set(), 3
