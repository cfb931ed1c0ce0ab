"""The module kafka_reassign between log dirs of a broker: plans, runs, resumed and reverted."""

from collections.abc import Callable
from pathlib import Path

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, RATES, Reassign, limits, newborn, parts, records, says, young

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import shifting
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import Shift
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.throttles import COPIES as RATE
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import carry_on, progress

pytest_plugins = ["unit.reassigning"]


@pytest.fixture
def three(six: FakeCluster) -> FakeCluster:
    """Broker 3 with two log dirs, the second one empty."""
    six.topics = {"orders": [[1, 3], [3, 2], [2, 3]]}
    six.sizes = {("orders", 0): 3 * MIB, ("orders", 1): 5 * MIB, ("orders", 2): 1 * MIB}
    six.disks = {3: (100 * MIB, 50 * MIB)}
    return six


def test_a_log_dir_is_emptied(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Check mode predicts the run; the throttle of its broker is removed."""
    planned = reassign(check_mode=True, empty=["3:/data/1"])
    assert (three.written, records(tmp_path)) == ([], [])
    assert planned["plan"][:5] == [
        "empty=3:/data/1: 3 replicas move to another log dir of their broker, 9.0 MiB",
        "at 50 MB/s this takes 1 s or more",
        "  orders-1 of broker 3: /data/1 -> /data/2, 5.0 MiB",
        "  orders-0 of broker 3: /data/1 -> /data/2, 3.0 MiB",
        "  orders-2 of broker 3: /data/1 -> /data/2, 1.0 MiB",
    ]
    assert " ".join(planned["plan"][6].split()) == "3 /data/1 3 -> 0 9.0 MiB -> 0 B 50% -> 41%"
    done = reassign(empty=["3:/data/1"], plan=planned["plan"][-1].split()[1])
    assert done["notes"] == []
    assert done["moved"] == planned["moved"] == ["orders-0", "orders-1", "orders-2"]
    assert three.where == {(3, "orders", number): "/data/2" for number in (0, 1, 2)}
    assert three.topics == {"orders": [[1, 3], [3, 2], [2, 3]]}
    assert (limits(three), records(tmp_path)) == (({}, {}), [])
    assert reassign(empty=["3:/data/1"])["plan"] == ["empty=3:/data/1: nothing to move"]


def interrupted(three: FakeCluster, reassign: Reassign, **asked: object) -> None:
    """Leave a run that was ended between two of its parts."""
    three.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, **asked)
    three.stuck, three.looks = set(), 4


def test_interrupted_and_resumed(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Its throttle stays until then, and any other request is refused."""
    three.told = {"3": {RATE: "7"}}
    interrupted(three, reassign, disk=["3:/data/1:/data/2"])
    assert limits(three)[1] == {"3": {RATE: "50000000"}}
    assert len(three.future) == 3 and records(tmp_path) == ["moves-cluster-of-a-test.json"]
    for other in ({"drain": [3]}, {"disks": [3]}):
        refused = reassign(**other)["msg"]
        assert "an earlier run, disk=3:/data/1:/data/2, was interrupted or is still running, with 0 of 3" in refused
    again = reassign(disk=["3:/data/1:/data/2"], rate="unlimited")
    assert again["moved"] == ["orders-0", "orders-1", "orders-2"]
    assert (limits(three), records(tmp_path)) == (({}, {"3": {RATE: "7"}}), [])


def test_cancelled(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Running copies are canceled, finished ones are reverted."""
    interrupted(three, reassign, empty=["3:/data/1"])
    three.where[3, "orders", 0] = "/data/2"
    del three.future[3, "orders", 0]
    three.written.clear()
    assert reassign(cancel=True, rate="")["changed"]
    assert three.future == {} and set(three.where.values()) == {"/data/1"}
    assert sorted(text for text in three.written if text[0] in "kp") == [
        "keep orders-1 of 3 in /data/1",
        "keep orders-2 of 3 in /data/1",
        "put orders-0 of 3 into /data/1",
    ]
    assert (limits(three), records(tmp_path)) == (({}, {}), [])


def test_a_run_of_moves_goes_first(three: FakeCluster, reassign: Reassign) -> None:
    three.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, drain=[3])
    assert "an earlier run, drain=3, was interrupted or is still running, with 0 of 3" in reassign(disks=[3])["msg"]
    assert set(limits(three)[1]["3"]) == set(RATES)


def test_progress_and_a_failure_without_progress(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """More is written than the rate allows to copy, or nothing is copied: it fails after 10 min and can be resumed."""
    three.stuck = {"orders"}
    three.come = {(3, "orders", 1): 2 * MIB}
    going = reassign(pause=1, empty=["3:/data/1"])["waiting"]
    assert going["what"][0].startswith("0 of 3 replicas, 2.0 MiB of 9.0 MiB")
    wrong = reassign(empty=["3:/data/1"])["msg"]
    assert "no progress for 600 s (producers may write more than the rate allows to copy)" in wrong
    assert records(tmp_path)


def test_a_broker_that_is_restarted_is_waited_for(
    three: FakeCluster, reassign: Reassign, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For 5 min, then it is named. An earlier restart does not count."""
    three.stuck = {"orders"}
    going = reassign(pause=1, empty=["3:/data/1"])["waiting"]

    def away(*_: object) -> list[LogDir]:
        clock.rest(7)
        raise AdminError("no answer within 7 s")

    with monkeypatch.context() as patch:
        patch.setattr(shifting, "log_dirs", away)
        said, answer = parts(reassign, going["waited"], until=clock.at + 250, empty=["3:/data/1"])
    assert said and all("broker 3 does not answer" in one for one in said)
    going = reassign(pause=1, empty=["3:/data/1"], waited=answer["waiting"]["waited"])["waiting"]
    assert "does not answer" not in going["what"][0]
    begun, three.down = clock.at, {3}
    monkeypatch.setattr(shifting, "log_dirs", away)
    answer = parts(reassign, going["waited"], empty=["3:/data/1"])[1]
    assert "broker 3 does not answer: start it, then run the same command again" in answer["msg"]
    assert 300 < clock.at - begun < 330
    assert "broker 3 is down, and its copies have not ended: start it" in reassign(empty=["3:/data/1"])["msg"]


@pytest.mark.parametrize("words", [young, newborn])
def test_its_throttle_is_removed_with_metadata_of_a_new_broker(
    words: Callable[[Metadata], Metadata], three: FakeCluster, reassign: Reassign, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """If it knows no controller, the run asks again later."""
    three.stuck = {"orders"}
    going = reassign(pause=1, empty=["3:/data/1"])["waiting"]
    three.stuck = set()
    three.swap()
    with says(monkeypatch, words):
        done = reassign(pause=1, empty=["3:/data/1"], waited=going["waited"])
    if words is newborn:
        assert "no controller among the 0 known brokers" in done["waiting"]["what"][0]
        assert records(tmp_path) == ["moves-cluster-of-a-test.json"]
        done = reassign(pause=1, empty=["3:/data/1"], waited=done["waiting"]["waited"])
    assert (done["notes"], len(done["moved"])) == ([], 3)
    assert (limits(three), records(tmp_path)) == (({}, {}), [])


def test_a_cancel_ends_without_a_broker_that_died(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Its replicas stay where they are, which is reported; copies of other brokers are canceled."""
    interrupted(three, reassign, empty=["3:/data/1", "2:/data/1"])
    three.down = {3}
    wrong = reassign(empty=["3:/data/1", "2:/data/1"])["msg"]
    assert "broker 3 is down, and its copies have not ended: start it" in wrong
    assert wrong.endswith("or revert the run with -e cancel=true")
    checked = reassign(check_mode=True, cancel=True, rate="")["plan"]
    stay = "3 replicas stay in their present log dir, and its running copies continue when it is back"
    assert f"note: broker 3 is down: {stay}" in checked and records(tmp_path)
    done = reassign(cancel=True, rate="")
    assert f"note: broker 3 is down: {stay}" in done["plan"] and records(tmp_path) == []
    assert {place for place in three.future if place[0] == 2} == set()
    three.topics["orders"][1] = [2, 3]  # another one leads it by now
    assert reassign(drain=[3])["moved"]


def test_a_cancel_of_which_nothing_is_left_stays_what_it_is(
    three: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """Whatever broker died: it is resumed as a run between log dirs."""
    interrupted(three, reassign, empty=["3:/data/1"])
    three.down = {3}
    assert "waiting" in reassign(once=True, pause=1, cancel=True, rate="")
    assert reassign(cancel=True, rate="")["plan"][0] == "resumes an interrupted run: 0 of 0 replicas are moved"
    assert records(tmp_path) == []


def test_a_broker_that_died_alone_ends_it_at_once(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    interrupted(three, reassign, empty=["3:/data/1"])
    three.down = {3}
    done = reassign(cancel=True, rate="")
    assert "note: broker 3 is down: 3 replicas stay" in "\n".join(done["plan"]) and records(tmp_path) == []


def test_a_cancel_ends_without_disks_that_fail(three: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Broker 3 loses the emptied disk after one move, broker 2 the target: these copies neither resume nor revert."""
    interrupted(three, reassign, empty=["3:/data/1", "2:/data/1"])
    three.where[3, "orders", 0] = "/data/2"
    three.future, three.given_up = {}, {3: ["/data/1"], 2: ["/data/2"]}
    offline = (
        "and until it is replaced the broker starts no new copy of a replica: if it is full, free space on it and "
        "restart the broker; if it is broken, mount a new disk (playbooks/replace_disk"
    )
    wrong = reassign(empty=["3:/data/1", "2:/data/1"])["msg"]
    assert f"broker 2 has the offline log dir /data/2, {offline}" in wrong and wrong.endswith("-e cancel=true")
    done = reassign(cancel=True, rate="")
    assert "note: broker 3 has the offline log dir /data/1: 1 replica stays in its present log dir" in done["plan"]
    assert (three.where[3, "orders", 0], records(tmp_path)) == ("/data/2", [])


def test_copies_under_way_are_counted_as_canceled(three: FakeCluster, reassign: Reassign) -> None:
    """Only finished copies are copied back."""
    interrupted(three, reassign, empty=["3:/data/1"])
    checked = reassign(check_mode=True, cancel=True, rate="")
    plan = [" ".join(line.split()) for line in checked["plan"]]
    assert plan[0] == "reverts empty=3:/data/1; 3 copies are canceled"
    assert plan[1] == "cancel=true: 0 replicas move to another log dir of their broker, 0 B"
    assert "3 /data/1 3 9.0 MiB 50%" in plan and checked["bytes"] == 0
    three.where[3, "orders", 0] = "/data/2"
    del three.future[3, "orders", 0]
    checked = reassign(check_mode=True, cancel=True, rate="")
    plan = [" ".join(line.split()) for line in checked["plan"]]
    assert plan[0] == "reverts empty=3:/data/1; 2 copies are canceled"
    assert plan[1] == "cancel=true: 1 replicas move to another log dir of their broker, 3.0 MiB"
    assert "3 /data/1 2 -> 3 6.0 MiB -> 9.0 MiB 50% -> 53%" in plan and checked["bytes"] == 3 * MIB
    assert checked["moved"] == ["orders-0", "orders-1", "orders-2"]


@pytest.mark.parametrize("asked", [{"empty": ["3:/data/1"]}, {"cancel": True, "rate": ""}])
def test_room_is_looked_at_again(asked: dict[str, object], three: FakeCluster, reassign: Reassign) -> None:
    """Bytes that have arrived are not counted again; a move that would fill the disk is refused as at first."""
    interrupted(three, reassign, empty=["3:/data/1"])
    if asked.get("cancel"):
        three.swap()
    three.disks = {3: (100 * MIB, 15 * MIB)}
    wrong = reassign(**asked)["msg"]
    to = "/data/1" if asked.get("cancel") else "/data/2"
    assert f"broker 3: {to} would receive 9.0 MiB, but 15.0 MiB are free, of which 10.0 MiB must stay free" in wrong
    if not asked.get("cancel"):
        three.come = {(3, "orders", 1): 5 * MIB, (3, "orders", 0): 2 * MIB}
    three.disks = {3: (100 * MIB, (12 if three.come else 19) * MIB)}
    assert len(reassign(**asked)["moved"]) == 3


def test_what_is_done_is_progress_too(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Many empty replicas are moved without a byte."""
    shifts = (*(Shift("t", one, 3, "/a", "/b") for one in range(900)), Shift("u", 0, 3, "/a", "/b", MIB))
    there = dict.fromkeys((one.place for one in shifts), "/a")
    begun: dict[Place, str] = {}

    def look(*_: object) -> list[LogDir]:
        clock.rest(5)
        there.update(begun)
        begun.clear()
        held = {path: {one.place: one.size for one in shifts if there[one.place] == path} for path in ("/a", "/b")}
        return [LogDir(3, path, None, None, sizes) for path, sizes in held.items()]

    def alter(_: object, __: int, wanted: dict[Place, str]) -> dict[Place, str]:
        begun.update(wanted)
        return {}

    monkeypatch.setattr(shifting, "log_dirs", look)
    monkeypatch.setattr(shifting, "alter", alter)
    run = shifting.Run(Admin({}), Record("empty=3:/a", (), None, (), shifts=shifts), progress({}))
    since = clock.at
    assert carry_on(run, 0, lambda: {"done": len(run.now.done)}) == {"done": 901}
    assert clock.at - since > 600


def test_a_new_replica_in_an_emptied_log_dir_is_reported(three: FakeCluster, reassign: Reassign) -> None:
    interrupted(three, reassign, empty=["3:/data/1"])
    three.topics["new"] = [[3]]
    assert reassign(empty=["3:/data/1"])["notes"] == [
        "/data/1 of broker 3 holds new-0, placed there meanwhile: run the same command again"
    ]


def test_all_refusals_are_reported_together(three: FakeCluster, reassign: Reassign) -> None:
    three.given_up = {3: ["/data/2"]}
    wrong = reassign(disk=["3:/data/1:/data/2"], topic=["nope"])["msg"]
    assert wrong.startswith("reassign: nothing was moved, for 2 reasons:\n- there is no topic nope")
    assert "broker 3 has the offline log dir /data/2" in wrong and three.written == []
    assert "set one of add" in reassign(disk=["3:/data/1:/data/2"], drain=[3])["msg"]
