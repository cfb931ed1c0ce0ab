"""What the log dirs of a broker's host hold, against what the inventory says of them."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from model.installed_probes import SERVED
from model.probes import KAFKA, LOG, ZOOKEEPER, Probe, answer, model, mount, probed


def test_a_folder_that_mkfs_made() -> None:
    """No broker starts beside it, and nothing is deleted for anybody."""
    probe = Probe("", "", "", mount("/data/kafka2", names=["lost+found", "orders-0"]))
    (found,) = check_hosts(model(probe), probed(probe))
    assert found.code == "DISK_FOREIGN" and "rmdir /data/kafka2/lost+found" in found.advice


def test_a_log_dir_that_is_taken_out() -> None:
    """Empty, failed or given up, it may go."""
    told = {"log_dirs": ["/data/kafka1", "/data/kafka2", "/data/kafka3"]}
    for more in (
        {"dropped": {"/data/kafka3": {"mounted": True, "names": [".lock", "t-0.ab12-delete", "t-1.c-stray"]}}},
        {"dropped": {"/data/kafka3": {"mounted": True, "error": "Input/output error"}}},
        {"dropped": {"/data/kafka3": {"mounted": True, "names": ["t-0"]}}, "given_up": ["/data/kafka3"]},
    ):
        probe = Probe("", "", "", answer(**told, **more))
        assert check_hosts(model(probe), probed(probe)) == []


ONE, TWO = SERVED
AWAY = "the log dir whose disk was away, else out of the one with the older files"


@pytest.mark.parametrize(
    ("names", "told", "said"),
    [
        ((["t-0"], ["t-0"]), {}, f"LOG_DIR_DUPLICATE {AWAY}"),  # a host that was installed anew
        ((["t-0"], ["t-0"]), {"log_dirs": [ONE, TWO]}, f"LOG_DIR_DUPLICATE {AWAY}"),  # it is down
        ((["t-0"], ["t-0"]), {"log_dirs": [ONE, TWO], "serves": [ONE, TWO]}, f"LOG_DIR_DUPLICATE {AWAY}"),  # it starts
        (
            (["t-0"], ["t-0"]),
            {"log_dirs": [ONE, TWO], "serves": [f"{TWO}/"]},
            f"LOG_DIR_DUPLICATE {ONE}, since the broker serves from {TWO}",
        ),
        ((["t-0"], ["t-0"]), {"log_dirs": [f"{ONE}/"]}, f"LOG_DIR_RETURNED {TWO}"),
        ((["t-0"], ["t-0"]), {"log_dirs": [TWO], "serves": [TWO]}, f"LOG_DIR_RETURNED {ONE}"),
        ((["t-0.a1-future"], ["t-0.b2-future"]), {"log_dirs": [ONE, TWO]}, f"LOG_DIR_DUPLICATE {AWAY}"),
        ((["t-0"], ["t-0.ab12-future"]), {"log_dirs": [ONE, TWO]}, ""),
        ((["t-0"], ["t-0.ab12-delete", "t-0.ab12-stray", "t-1"]), {"log_dirs": [ONE, TWO]}, ""),
    ],
)
def test_a_replica_that_two_log_dirs_hold(names: tuple[list[str], list[str]], told: dict[str, Any], said: str) -> None:
    """No broker starts so; one on its way to another log dir, or that is being deleted, is none."""

    def change(probe: dict[str, Any]) -> None:
        for path, held in zip(SERVED, names, strict=True):
            probe["mounts"][path]["names"] = held
        probe.update({"meta_properties": SERVED, **told})

    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe))
    code, _, which = said.partition(" ")
    assert [one.code for one in found] == ([code] if said else [])
    for one in found:
        assert "no broker starts with a replica in two log dirs" in one.message
        assert f"move these folders out of {which}, to a place that is no log dir" in one.advice


def test_two_paths_to_one_directory() -> None:
    """What one holds the other holds, and to move it would be to lose it."""
    for are_mounts, code in ((True, "DEVICE_SHARED"), (False, "LOG_DIR_DUPLICATE")):
        probe = Probe("", "", "", declared={"kafka_log_dirs_are_mounts": are_mounts})
        answers = probed(probe)
        for path in SERVED:
            answers[KAFKA]["mounts"][path] |= {"device": 7, "inode": 64, "names": ["t-0"]}
        answers[KAFKA].update(log_dirs=[*SERVED], meta_properties=SERVED)
        (found,) = check_hosts(model(probe), answers)
        assert (found.code, found.value) == (code, "/data/kafka1, /data/kafka2")
        assert "move these folders" not in found.advice
    there = {"mounted": True, "device": 7, "inode": 64, "names": ["t-0"]}
    answers[KAFKA].update(log_dirs=[*SERVED, "/data/kafka3"], dropped={"/data/kafka3": there})
    assert not [one for one in check_hosts(model(probe), answers) if "move these folders" in one.advice]


def test_a_log_dir_that_is_taken_out_again() -> None:
    """What another log dir holds as well cannot be moved by a broker that does not start."""
    dropped = {"/data/kafka3": {"mounted": True, "names": ["t-0", "u-0"]}}
    probe = Probe("", "", "", answer(log_dirs=[ONE, TWO, "/data/kafka3"], dropped=dropped, meta_properties=SERVED))
    answers = probed(probe)
    answers[KAFKA]["mounts"][TWO]["names"] = ["t-0"]
    both, alone = check_hosts(model(probe), answers)
    assert (both.code, alone.code) == ("LOG_DIR_DROPPED", "LOG_DIR_DROPPED")
    assert "contains t-0, which other log dirs" in both.message and "move these folders out of it" in both.advice
    assert "contains u-0: the broker would start without" in alone.message and "empty=1:/data/kafka3" in alone.advice


def test_a_disk_that_fails_holds_nothing_twice() -> None:
    """The broker starts without it."""
    probe = Probe("", "", "", mount("/data/kafka2", names=["t-0"], error="Input/output error"))
    answers = probed(probe)
    answers[KAFKA]["mounts"]["/data/kafka1"]["names"] = ["t-0"]
    assert [one.code for one in check_hosts(model(probe), answers)] == ["DISK_FAILED"]


@pytest.mark.parametrize(
    ("name", "codes"),
    [("before-failback-20261128T151517Z-1795879054", []), ("before-failover-x", []), ("pg_wal", ["DISK_FOREIGN"])],
)
def test_data_of_a_zookeeper_server_that_a_failback_moved_aside(name: str, codes: list[str]) -> None:
    """A failback that was interrupted before the server started again goes on."""
    probe = Probe("", "", "", mount(LOG, names=[name, "lost+found"]), ZOOKEEPER)
    assert [problem.code for problem in check_hosts(model(probe), probed(probe))] == codes
