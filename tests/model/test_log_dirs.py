"""What the log dirs of a broker's host hold, against what the inventory says of them."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from model.installed_probes import SERVED
from model.probes import KAFKA, Probe, answer, model, mount, probed


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


@pytest.mark.parametrize(
    ("names", "serves", "said"),
    [
        ((["t-0"], ["t-0"]), [], "the one whose disk was away, else of the one with the older files"),  # it is down
        ((["t-0"], ["t-0"]), ["/data/kafka2/"], "/data/kafka1, for it serves from /data/kafka2"),
        ((["t-0"], ["t-0"]), ["/data/kafka1", "/data/kafka2"], ""),  # a move ended between two looks
        ((["t-0"], ["t-0.ab12-future"]), [], ""),
        ((["t-0"], ["t-0.ab12-delete", "t-0.ab12-stray", "t-1"]), [], ""),
    ],
)
def test_a_replica_that_two_log_dirs_hold(names: tuple[list[str], list[str]], serves: list[str], said: str) -> None:
    """No broker starts so; one that is on its way, or is being deleted, is none."""

    def change(probe: dict[str, Any]) -> None:
        for path, held in zip(("/data/kafka1", "/data/kafka2"), names, strict=True):
            probe["mounts"][path]["names"] = held
        probe.update(meta_properties=SERVED, serves=serves)

    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe))
    assert [one.code for one in found] == (["LOG_DIR_DUPLICATE"] if said else [])
    for one in found:
        assert one.value == "/data/kafka1, /data/kafka2" and "hold t-0 each" in one.wrong
        assert f"move these folders out of {said}, to a place that is no log dir" in one.advice


def test_a_disk_that_fails_holds_nothing_twice() -> None:
    """The broker starts without it."""
    probe = Probe("", "", "", mount("/data/kafka2", names=["t-0"], error="Input/output error"))
    answers = probed(probe)
    answers[KAFKA]["mounts"]["/data/kafka1"]["names"] = ["t-0"]
    assert [one.code for one in check_hosts(model(probe), answers)] == ["DISK_FAILED"]
