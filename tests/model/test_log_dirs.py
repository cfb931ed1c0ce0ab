"""What the log dirs of a broker's host hold, against what the inventory says of them."""

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from model.probes import Probe, answer, model, mount, probed


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
