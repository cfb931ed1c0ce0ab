"""What the timer of the admin host does once, against brokers that speak Kafka's protocol."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import Reassign, interrupted, limits, records, says, young
from unit.rebalancing import UNEVEN, Once, ended, held, settings

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import record, timer
from ansible_collections.millrace.kafka.plugins.plugin_utils.program import program

pytest_plugins = ["unit.reassigning", "unit.rebalancing"]
NEWER = '{"asked": "rebalance=true", "leaving": [], "rate": null, "moves": [], "newer": 1}'


def test_only_the_plan(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    code, said = once(run=False, at_most="")
    assert code == 0
    assert "rebalance=true: 2 partitions change; 4 replicas are copied, 16.0 MiB" in said
    assert "reassign.yml -e rebalance=true -e rate=50MB runs it" in said
    assert uneven.written == [] and records(tmp_path) == [] and uneven.topics == UNEVEN


def test_the_plan_is_carried_out(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    """With throttles, which are removed; a second run finds nothing to do."""
    code, said = once()
    assert code == 0, said
    assert held(uneven) == [1] * 6
    assert "2 partitions moved, 16.0 MiB in" in said
    assert (limits(uneven), records(tmp_path)) == (({}, {}), [])
    assert any(text.startswith("move orders-") for text in uneven.written)
    uneven.written.clear()
    assert once() == (0, "rebalance=true: nothing to move")
    assert uneven.written == []


def test_more_than_it_may_copy(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    """It ends with a status of its own, and prints the command for a person."""
    code, said = once(at_most="15 MiB")
    assert code == timer.TOO_MUCH == 3
    assert "TOO MUCH: nothing was moved: 16.0 MiB would be copied, but at_most of rebalance_timer is 15 MiB" in said
    assert "reassign.yml -e rebalance=true -e rate=50MB -e plan=" in said
    assert uneven.written == [] and records(tmp_path) == []
    assert once(at_most="16 MiB")[0] == 0


def test_what_is_printed_is_typed_as_it_is(uneven: FakeCluster, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the site writes its rate: a shell splits at spaces."""
    how = "reassign.yml -e rebalance=true -e rate=50MB"
    for changes in ({"run": False}, {"at_most": "15 MiB"}):
        assert how in once(rate="50 MB/s", **changes)[1]
    assert how in ended(monkeypatch, once, uneven, rate="50 MB/s")
    assert f"end it with {how}, or" in once(rate=" 0050MB", run=False)[1]


@pytest.mark.parametrize("digits", [309, 5000])
def test_more_digits_than_a_float_has(digits: int, once: Once) -> None:
    code, said = once(rate="9" * digits)
    assert (code, said.partition(":")[0]) == (timer.WRONG, "FAILED")


def test_a_cluster_that_is_not_whole(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    """All problems of brokers are reported together; nothing is planned."""
    uneven.down = {6}
    code, said = once(brokers=[{"id": number, "rack": "a"} for number in (2, 3, 4, 5, 6)])
    assert code == 1
    assert "REFUSED: nothing was moved, for 2 reasons:" in said
    assert "broker 6 is not registered: start it" in said
    assert "broker 1 is registered but was not in the inventory of the last site.yml" in said
    assert uneven.written == [] and records(tmp_path) == []


def under_replicated(six: FakeCluster) -> None:
    """Have a broker lag."""
    six.behind = {(2, "orders", 1)}


def moved_by_another_tool(six: FakeCluster) -> None:
    """Have another tool move a replica."""
    six.moving = {"orders": [0]}


@pytest.mark.parametrize(
    ("disturb", "why"),
    [
        (under_replicated, "1 partition (orders-1) is under-replicated: broker 2 is not in sync"),
        (moved_by_another_tool, "replicas of 1 partition (orders-0) are being moved by another tool"),
    ],
)
def test_what_reassign_refuses(
    disturb: Callable[[FakeCluster], None], why: str, uneven: FakeCluster, once: Once, tmp_path: Path
) -> None:
    disturb(uneven)
    code, said = once()
    assert code == 1 and "REFUSED: " in said and why in said, said
    assert uneven.written == [] and records(tmp_path) == []


def test_another_cluster(uneven: FakeCluster, once: Once) -> None:
    code, said = once(cluster_id="mine")
    assert code == 1 and "REFUSED: the cluster that answers has the id cluster-of-a-test, not mine" in said
    assert uneven.written == []


def test_it_resumes_no_run_of_a_person(uneven: FakeCluster, once: Once, reassign: Reassign, tmp_path: Path) -> None:
    """Not with the same request, either: that run may still be running."""
    interrupted(uneven, reassign, rebalance=True)
    written = list(uneven.written)
    code, said = once()
    assert (
        code == 1
        and "an earlier run, rebalance=true, was interrupted or is still running, and was not started by the timer"
        in said
    )
    assert (
        "if it is not running any more, run it again first (-e rebalance=true -e rate=50MB), or -e cancel=true" in said
    )
    assert uneven.written == written and records(tmp_path) == ["moves-cluster-of-a-test.json"]
    assert reassign(rebalance=True)["changed"]


def test_beside_a_disk_that_is_being_replaced(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    record.save(record.path_of(uneven.id, str(tmp_path / "state"), "disk"), record.Record("broker=3", (), None, ()))
    code, said = once()
    assert code == 1 and "an earlier run, broker=3, was interrupted or is still running: wait" in said
    assert uneven.written == []


@pytest.mark.parametrize("text", ["", NEWER], ids=["empty", "of a newer version"])
def test_an_unreadable_record(text: str, uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    """The message names the file and its purpose, as that of the module does."""
    path = record.path_of(uneven.id, str(tmp_path / "state"))
    path.parent.mkdir()
    path.write_text(text)
    code, said = once()
    assert code == 1 and f"REFUSED: {path}: " in said, said
    assert said.endswith("; this file records an unfinished run of moves and must be readable")
    assert uneven.written == []


def test_an_unreadable_record_of_another_kind(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    """It is not taken for the record of moves."""
    folder = tmp_path / "state"
    folder.mkdir()
    record.path_of(uneven.id, str(folder), "disk").write_text("")
    code, said = once()
    assert code == 1 and f"beside it, disk-{uneven.id}.json: Expecting value" in said, said


def test_a_record_that_is_damaged_while_it_moves(
    uneven: FakeCluster, once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    path = record.path_of(uneven.id, str(tmp_path / "state"))

    def meanwhile(seconds: float) -> None:
        clock.rest(seconds)
        path.write_text("")

    monkeypatch.setattr(waits, "rest", meanwhile)
    uneven.stuck = {"orders"}
    code, said = once()
    assert code == 1 and f"{path}: Expecting value" in said and "must be readable" in said, said


@pytest.mark.parametrize("kind", ["disk", "moves"])
def test_what_began_since_it_looked(
    kind: str, uneven: FakeCluster, once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_: object) -> bool:
        record.save(record.path_of(uneven.id, str(tmp_path / "state"), kind), record.Record("broker=3", (), None, ()))
        return True

    monkeypatch.setattr(timer, "may_run", meanwhile)
    code, said = once()
    assert code == 1 and "REFUSED: nothing was moved: another run started meanwhile" in said
    assert uneven.written == []


def test_what_it_began_is_ended_by_a_person(
    uneven: FakeCluster, once: Once, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same request by hand takes it over; a timer that may only print plans fails until then."""
    ended(monkeypatch, once, uneven)
    code, said = once(run=False)
    assert code == 1 and "revert it with -e cancel=true" in said, said
    uneven.stuck = {"orders"}
    assert "waiting" in reassign(once=True, pause=1, rebalance=True)
    code, said = once()
    assert code == 1 and "was not started by the timer" in said
    uneven.stuck = set()
    assert reassign(cancel=True)["changed"]
    assert uneven.topics == UNEVEN and records(tmp_path) == []


def test_while_it_moves_reassign_is_refused(
    uneven: FakeCluster, once: Once, reassign: Reassign, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """For every request, and in check mode, too."""
    said: list[str] = []

    def meanwhile(seconds: float) -> None:
        clock.rest(seconds)
        if not said:
            said.extend(reassign(once=True, **asked)["msg"] for asked in ({"drain": [3]}, {"cancel": True}))
            said.append(reassign(check_mode=True, rebalance=True)["msg"])

    monkeypatch.setattr(waits, "rest", meanwhile)
    uneven.asks = 3
    assert once()[0] == 0
    assert len(said) == 3
    assert all("millrace-rebalance.service, pid " in one for one in said), said
    assert all("is moving replicas of this cluster: wait until it has ended" in one for one in said)


def test_while_reassign_moves_it_is_refused(
    uneven: FakeCluster, once: Once, reassign: Reassign, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    found: list[tuple[int, str]] = []

    def meanwhile(seconds: float) -> None:
        clock.rest(seconds)
        found.extend([] if found else [once()])

    monkeypatch.setattr(waits, "rest", meanwhile)
    uneven.asks = 3
    reassign(rebalance=True)
    ((code, said),) = found
    assert code == 1 and "REFUSED: a run of reassign.yml, pid " in said


@pytest.mark.parametrize("name", ["confluent_kafka.admin", "kafka.admin"])
def test_a_library_that_is_not_there(name: str, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    code, said = once()
    assert code == 1 and f"FAILED: {sys.executable} has no {name}" in said


def test_settings_of_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    (tmp_path / "settings.json").write_text("{}")
    assert timer.main([str(tmp_path / "settings.json")]) == 1
    signal.signal(signal.SIGTERM, before)
    assert "was written by another version" in capsys.readouterr().out


def test_the_program_needs_nothing_of_ansible(uneven: FakeCluster, once: Once, tmp_path: Path) -> None:
    """As a host runs it: one file, by a Python that has the two libraries alone."""
    file = tmp_path / "program.pyz"
    file.write_bytes(program("kafka.reassign.timer"))
    alone = "import runpy, sys; sys.modules['ansible'] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    command = [sys.executable, "-I", "-c", alone, str(file), str(settings(uneven, tmp_path, run=False))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rebalance=true: 2 partitions change" in done.stdout


def test_the_program_is_the_same_wherever_it_is_made() -> None:
    made = program("kafka.reassign.timer")
    program.cache_clear()
    assert program("kafka.reassign.timer") == made


def test_no_program_of_what_needs_ansible() -> None:
    with pytest.raises(ValueError, match=r"imports ansible\.module_utils\.basic"):
        program("kafka.question")


def test_metadata_of_a_broker_that_has_just_started_is_not_trusted(
    uneven: FakeCluster, once: Once, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows no other broker and no partition: the plan is computed from the controller's metadata."""
    with says(monkeypatch, young):
        code, said = once(run=False, at_most="")
    assert code == 0, said
    assert "rebalance=true: 2 partitions change; 4 replicas are copied, 16.0 MiB" in said
