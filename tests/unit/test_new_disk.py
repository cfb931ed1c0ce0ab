"""The module kafka_log_dir: which disks a broker may use, throttles, the wait, and its end."""

from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import FOLLOWER, LEADER, MIB, RATES, limits, records, says, young
from unit.replacing import CLUSTER, META, OURS, LogDir, mount, restarted

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.new_disk import NewDisk, refusals
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record, alone, path_of, save

pytest_plugins = ["unit.replacing"]


def test_a_disk_is_replaced(failed: FakeCluster, log_dir: LogDir, tmp_path: Path) -> None:
    """Throttles are set from before the restart until all is in sync, only for replicas of the disk."""
    planned = log_dir(check_mode=True)
    assert (failed.written, records(tmp_path)) == ([], [])
    begun = log_dir()
    assert planned["moved"] == ["orders-0", "orders-1"] and planned["plan"] == begun["plan"]
    assert begun["plan"] == [
        "broker=3 log_dir=/data/2: 2 replicas are copied to the disk, 8.0 MiB",
        "at 50 MB/s per broker this takes 1 s or more",
        "broker 3 is restarted through the gate, or started if it is down",
        "  orders-1: from 2, 5.0 MiB",
        "  orders-0: from 1, 3.0 MiB",
    ]
    assert begun["restart"] is True
    assert limits(failed) == (
        {"orders": {LEADER: "0:1,1:2", FOLLOWER: "0:3,1:3"}},
        {"1": RATES, "2": RATES, "3": RATES},
    )
    assert records(tmp_path) == ["disk-cluster-of-a-test.json"]
    new = restarted(failed)
    going = log_dir(new=new, question="wait", pause=1)["waiting"]
    assert going["what"][0].startswith("0 of 2 partitions, ")
    failed.behind = {(3, "orders", 0)}
    again = log_dir(new=new)
    assert (again["changed"], again["restart"], again["plan"][0]) == (
        True, False, "broker=3 log_dir=/data/2: 1 replicas are copied to the disk, 3.0 MiB")  # fmt: skip
    failed.behind = set()
    done = log_dir(new=new, question="wait", pause=1, waited=going["waited"])
    assert done["moved"] == ["orders-0", "orders-1"] and done["bytes"] == 8 * MIB
    assert done["answer"].startswith("broker 3 serves from /data/2: 2 replicas, 8.0 MiB, are in sync after ")
    assert (limits(failed), records(tmp_path)) == (({}, {}), [])
    nothing = log_dir(new=new)
    assert (nothing["changed"], nothing["restart"]) == (False, False)


def test_a_broker_that_was_down_is_throttled_when_it_is_back(failed: FakeCluster, log_dir: LogDir) -> None:
    """Replicas on its other disk are not copied although the broker is in sync with nothing."""
    failed.down = {3}
    assert log_dir()["plan"][0].startswith("broker=3 log_dir=/data/2: 2 replicas are copied to the disk")
    assert limits(failed)[1] == {"1": RATES, "2": RATES}
    failed.down = set()
    new = restarted(failed)
    going = log_dir(new=new, question="wait", pause=1)["waiting"]
    assert limits(failed)[1] == {"1": RATES, "2": RATES, "3": RATES}
    failed.behind = {(3, "orders", 2)}  # on its other disk
    going = log_dir(new=new, question="wait", pause=1, waited=going["waited"])["waiting"]
    assert going["what"][0].startswith("2 of 2 partitions")
    failed.behind = set()
    assert "answer" in log_dir(new=new, question="wait", pause=1, waited=going["waited"])


def test_metadata_of_a_broker_that_has_just_started_is_not_trusted(
    failed: FakeCluster, log_dir: LogDir, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All brokers get their throttles, and none is left, neither at the end nor after a cancel."""
    for question in ("wait", "cancel"):
        with says(monkeypatch, young):
            failed.given_up, failed.behind = {3: ["/data/2"]}, {(3, "orders", 0), (3, "orders", 1)}
            log_dir()
            assert limits(failed)[1] == {"1": RATES, "2": RATES, "3": RATES}
            new, failed.told = restarted(failed), {}
            assert "waiting" in log_dir(new=new, question="wait", pause=1)
            assert limits(failed)[1] == {"1": RATES, "2": RATES, "3": RATES}
            failed.behind = set()
            assert "answer" in log_dir(new=new, question=question)
        assert (limits(failed), records(tmp_path)) == (({}, {}), [])


def test_a_silence_is_waited_out(
    failed: FakeCluster, log_dir: LogDir, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log_dir()
    new, failed.behind = restarted(failed), {(3, "orders", 0)}
    going = log_dir(new=new, question="wait", pause=1)["waiting"]

    def nobody(_: Admin) -> None:
        raise AdminError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(Admin, "metadata", nobody)
        going = log_dir(new=new, question="wait", pause=1, waited=going["waited"])["waiting"]
    assert going["what"] == ["no broker answers: no answer"]
    failed.behind = set()
    assert "answer" in log_dir(new=new, question="wait", pause=1, waited=going["waited"])
    assert (limits(failed), records(tmp_path)) == (({}, {}), [])


def test_while_others_move_it_is_not_begun(failed: FakeCluster, log_dir: LogDir, tmp_path: Path) -> None:
    """While they move replicas; else: test_moves_beside_a_disk.py. A started run is waited for."""
    log_dir()
    written = list(failed.written)
    with alone(path_of(CLUSTER, str(tmp_path / "state")), "millrace-rebalance.service"):
        said = [log_dir(**asked)["msg"] for asked in ({"check_mode": True}, {}, {"question": "cancel"})]
        new = restarted(failed)
        assert "waiting" in log_dir(new=new, question="wait", pause=1)
    assert all(one.startswith("log dir: millrace-rebalance.service, pid ") for one in said), said
    assert failed.written == written


def test_throttles_from_before_stay(failed: FakeCluster, log_dir: LogDir) -> None:
    failed.told = {"2": {"leader.replication.throttled.rate": "7"}}
    log_dir()
    new, failed.behind = restarted(failed), set()
    assert "answer" in log_dir(new=new, question="wait")
    assert limits(failed) == ({}, {"2": {"leader.replication.throttled.rate": "7"}})


@pytest.mark.parametrize("ended", [False, True])
def test_what_an_interrupted_move_had_set_is_not_what_was_there_before(
    ended: bool, failed: FakeCluster, log_dir: LogDir, tmp_path: Path
) -> None:
    """The move's own rate is restored while it has not ended; after both, the value from before both."""
    before: dict[str, str | None] = {**dict.fromkeys(RATES), "leader.replication.throttled.rate": "7"}
    path, lower = path_of(CLUSTER, str(tmp_path / "state")), dict.fromkeys(RATES, "30000000")
    save(path, Record("drain=4", (4,), 30_000_000, (), rates={"2": before}, used=(30_000_000,)))
    failed.told = {"2": dict(lower)}
    log_dir()
    assert limits(failed)[1]["2"] == RATES
    if ended:
        path.unlink()
    new, failed.behind = restarted(failed), set()
    assert "answer" in log_dir(new=new, question="wait")
    assert limits(failed) == ({}, {"2": {"leader.replication.throttled.rate": "7"} if ended else lower})


def test_without_a_rate_nothing_is_throttled(failed: FakeCluster, log_dir: LogDir, tmp_path: Path) -> None:
    assert log_dir(rate="")["restart"] is True
    assert failed.written == [] and records(tmp_path) == ["disk-cluster-of-a-test.json"]


def test_a_disk_that_fails_again_is_reported(failed: FakeCluster, log_dir: LogDir, tmp_path: Path) -> None:
    log_dir()
    failed.behind = set()
    wrong = log_dir(new=mount(*OURS), question="wait")["msg"]
    assert (
        "all replicas are in sync, but broker 3 does not serve from /data/2: see its log (journalctl -u kafka)" in wrong
    )
    assert records(tmp_path)


@pytest.mark.parametrize(
    ("new", "meta", "words"),
    [
        (mount(mounted=False), {}, "/data/2: no file system is mounted there"),
        (mount(error="Input/output error"), {}, "/data/2: the file system fails: Input/output error: mount a disk"),
        (mount("lost+found"), {}, "remove that empty folder (rmdir /data/2/lost+found)"),
        (mount("pg_wal", "base"), {}, "/data/2 holds pg_wal, base, which no broker created"),
        (mount("meta.properties"), META | {"broker.id": "7"}, "broker.id=7: the disk belongs to that broker"),
        (mount("meta.properties"), META | {"cluster.id": "x"}, "has cluster.id=x, but this cluster is cluster-of"),
        (mount("orders-0"), {}, "/data/2 holds orders-0 but no meta.properties, so its broker is unknown"),
        (mount("orders-2", "orders-0"), META, "/data/2 holds orders-2, which another log dir of broker 3 holds, too"),
        (mount(free=12 * MIB), {}, "broker 3: /data/2 would receive 3.0 MiB, but 12.0 MiB are free"),
    ],
)
def test_refused_disks(
    failed: FakeCluster, log_dir: LogDir, new: Any, meta: dict[str, str], words: str, tmp_path: Path
) -> None:
    wrong = log_dir(new=new, meta_properties={"/data/1": META, "/data/2": meta})["msg"]
    assert wrong.startswith("log dir: nothing was changed, for 1 reason:\n- ") and words in wrong
    assert (failed.written, records(tmp_path)) == ([], [])


def test_all_refusals_are_reported_together(failed: FakeCluster, log_dir: LogDir) -> None:
    """With another offline log dir no replica is recreated; a partition of this broker alone would lose its records."""
    failed.behind |= {(1, "orders", 0)}
    bad = {"/data/1": mount(error="Input/output error"), "/data/2": mount("x.txt")}
    wrong = log_dir(mounts=bad)["msg"]
    assert "for 3 reasons:" in wrong and "which no broker created" in wrong
    assert "/data/1 of broker 3 fails, too (Input/output error), and while a log dir is offline" in wrong
    assert "orders-0: only broker 3 was in sync, with the replica on the failed disk" in wrong
    assert "(-e lost=orders-0)" in wrong


def test_the_old_disk_may_come_back(failed: FakeCluster, log_dir: LogDir) -> None:
    """With its replicas; then no partition is led without records."""
    failed.behind |= {(1, "orders", 0)}
    old = mount("meta.properties", "orders-0", "orders-1")
    said = log_dir(new=old, meta_properties={"/data/1": META, "/data/2": META})
    assert "the disk holds orders-0, orders-1 of this broker, which continue from their present end" in said["plan"]


@pytest.mark.parametrize(("free", "refused"), [(1.5, False), (5, True)])
def test_what_is_there_already_does_not_come(failed: FakeCluster, log_dir: LogDir, free: float, refused: bool) -> None:
    """A repaired disk holds its replicas; after an interruption the rest needs room, and 10 % must stay free."""
    size = int(10 * MIB if not refused else 6 * MIB)
    old = mount("meta.properties", "orders-0", "orders-1", size=size, free=int(free * MIB))
    said = log_dir(new=old, meta_properties={"/data/1": META, "/data/2": META})
    assert ("/data/2 would receive 7.0 MiB" in said.get("msg", "")) == refused, said


def test_a_broker_that_holds_the_old_one_open_is_stopped_first(failed: FakeCluster, log_dir: LogDir) -> None:
    failed.given_up, failed.behind = {}, set()
    assert "broker 3 still serves from the file system that was mounted at /data/2 before" in log_dir()["msg"]


def again(failed: FakeCluster) -> None:
    """Leave a run that was interrupted after the restart; a topic comes to that disk then, and the disk fails again.

    Only this broker is in sync with this topic.
    """
    failed.given_up, failed.behind = {3: ["/data/2"]}, {(1, "late", 0), (3, "orders", 0), (3, "orders", 1)}
    failed.topics["late"] = [[3, 1]]
    failed.sizes["late", 0] = 7 * MIB


def test_what_came_to_the_disk_after_an_interrupted_run_is_not_thrown_away(
    failed: FakeCluster, log_dir: LogDir
) -> None:
    """It is not in the record of that run, and is checked as in a new run."""
    log_dir()
    again(failed)
    assert "late-0: only broker 3 was in sync, with the replica on the failed disk" in log_dir()["msg"]
    said = log_dir(lost=["late-0"])
    assert said["plan"][0] == "broker=3 log_dir=/data/2: 3 replicas are copied to the disk, 15.0 MiB"
    assert "the records of late-0 are given up" in said["plan"]
    assert limits(failed)[0]["late"] == {LEADER: "0:1", FOLLOWER: "0:3"}
    assert "/data/2 would receive 10.0 MiB" in log_dir(lost=["late-0"], new=mount(free=15 * MIB))["msg"]


def test_what_is_on_another_disk_by_now_is_not_lost(failed: FakeCluster, log_dir: LogDir) -> None:
    """After the restart a replica may have been recreated there, and the broker was in sync with it."""
    log_dir()
    failed.behind |= {(1, "orders", 0)}
    both = {"/data/1": mount(*OURS, "orders-0", "orders-2"), "/data/2": mount()}
    assert log_dir(mounts=both)["restart"] is True


def test_another_request_is_refused_while_one_is_interrupted(failed: FakeCluster, log_dir: LogDir) -> None:
    log_dir()
    assert (
        "an earlier run, broker=3 log_dir=/data/2, was interrupted: run it again first (-e broker=3 -e log_dir"
        in (log_dir(log_dir="/data/1")["msg"])
    )


def test_an_interrupted_run_is_canceled(failed: FakeCluster, log_dir: LogDir, tmp_path: Path) -> None:
    """Whatever disk it was, even if it is not in the inventory any more; then another disk can be replaced."""
    failed.told = {"2": {"leader.replication.throttled.rate": "7"}}
    assert log_dir(question="cancel", broker=-1, log_dir="", mounts={})["changed"] is False
    log_dir()
    begun = limits(failed)
    checked = log_dir(check_mode=True, question="cancel", broker=-1, log_dir="", mounts={})
    assert checked["changed"] is True and limits(failed) == begun and records(tmp_path) != []
    done = log_dir(question="cancel", broker=-1, log_dir="", mounts={})
    assert done["answer"].startswith("broker=3 log_dir=/data/2 is canceled: its throttles are removed")
    assert done["broker"] == 3
    assert limits(failed) == ({}, {"2": {"leader.replication.throttled.rate": "7"}}) and records(tmp_path) == []


def test_a_log_dir_that_was_taken_out_and_still_fails_is_named(failed: FakeCluster, log_dir: LogDir) -> None:
    """Like a declared one: until site.yml has run, the broker has it, and recreates no replica."""
    mounts = {"/data/1": mount(*OURS), "/data/2": mount(), "/data/9": {"mounted": True, "error": "EIO"}}
    assert "/data/9 of broker 3 fails, too (EIO)" in log_dir(mounts=mounts)["msg"]


def test_a_log_dir_that_is_none() -> None:
    disk = NewDisk(3, "/data/9", {"/data/1": mount(), "/data/2": mount()})
    (wrong,) = refusals(disk, CLUSTER)
    assert wrong.startswith("broker 3 has no log dir /data/9: its installed log dirs") and "/data/1, " in wrong
