"""What hosts answered against what is declared."""

from typing import Any

import pytest

from millrace.hosts import check_hosts

GROUPS = {"zookeeper": ["zk1"], "kafka": ["kafka1"], "spark": ["spark1"]}
Facts = dict[str, dict[str, Any]]


def declared() -> Facts:
    """Three hosts, one of each function."""
    return {
        "zk1": {"zookeeper_id": 1, "zookeeper_data_log_dir": "/wal", "client_address": "10.0.1.11", "replication_address": "10.0.2.11"},
        "kafka1": {"kafka_broker_id": 1, "kafka_log_dirs": ["/d1", "/d2"], "client_address": "10.0.1.21", "replication_address": "10.0.2.21"},
        "spark1": {"client_address": "10.0.1.31"},
    }


def answers() -> Facts:
    """What these hosts answer when all is as declared and they have run before."""
    common: dict[str, Any] = {"clock_synchronized": True, "mounts": {}, "meta_properties": {}, "myid": ""}
    disk = {"broker.id": "1", "cluster.id": "c"}
    return {
        "zk1": {**common, "addresses": ["10.0.1.11", "10.0.2.11"], "mounts": {"/wal": {"mounted": True}}, "myid": "1"},
        "kafka1": {
            **common,
            "addresses": ["10.0.1.21", "10.0.2.21", "192.0.2.1"],
            "mounts": {"/d1": {"mounted": True}, "/d2": {"mounted": True}},
            "meta_properties": {"/d1": dict(disk), "/d2": dict(disk)},
        },
        "spark1": {**common, "addresses": ["10.0.1.31"]},
    }


def found(hosts: Facts, probes: Facts) -> list[str]:
    """Return each problem as people see it."""
    return sorted(map(str, check_hosts(hosts, GROUPS, probes)))


def test_all_is_as_declared() -> None:
    assert found(declared(), answers()) == []


def test_hosts_that_never_ran() -> None:
    """Empty disks and no myid are no contradiction."""
    probes = answers()
    probes["kafka1"]["meta_properties"] = {"/d1": {}, "/d2": {}}
    probes["zk1"]["myid"] = ""
    assert found(declared(), probes) == []


def test_a_new_disk_beside_one_that_is_used() -> None:
    probes = answers()
    probes["kafka1"]["meta_properties"]["/d2"] = {}
    assert found(declared(), probes) == []


def test_only_the_hosts_of_this_run_are_judged() -> None:
    probes = answers()
    assert found(declared(), {"spark1": probes["spark1"]}) == []


def test_address_is_on_no_interface() -> None:
    probes = answers()
    probes["kafka1"]["addresses"] = ["10.0.1.21"]
    assert found(declared(), probes) == [
        "[ADDRESS_ABSENT] kafka1/replication_address = 10.0.2.21: the host has only 10.0.1.21; correct the inventory, or configure the interface"
    ]
    probes["kafka1"]["addresses"] = []
    assert len(found(declared(), probes)) == 2
    assert "the host has only none;" in found(declared(), probes)[0]


def test_clock() -> None:
    hosts, probes = declared(), answers()
    probes["spark1"]["clock_synchronized"] = False
    assert found(hosts, probes) == [
        "[CLOCK_UNSYNCHRONIZED] spark1: the kernel's clock is not kept in time by any service; "
        "start chrony or systemd-timesyncd, or set base_time_sync_required: false where the hypervisor keeps it"
    ]
    hosts["spark1"]["base_time_sync_required"] = False
    assert found(hosts, probes) == []


@pytest.mark.parametrize(
    ("host", "variable", "path", "waiver"),
    [
        ("kafka1", "kafka_log_dirs", "/d2", "kafka_log_dirs_are_mounts"),
        ("zk1", "zookeeper_data_log_dir", "/wal", "zookeeper_data_log_dir_is_mount"),
    ],
)
def test_data_path_that_is_not_mounted(host: str, variable: str, path: str, waiver: str) -> None:
    hosts, probes = declared(), answers()
    probes[host]["mounts"][path]["mounted"] = False
    assert found(hosts, probes) == [
        f"[NOT_MOUNTED] {host}/{variable} = {path}: no file system is mounted there, so data would go to the root file system; "
        "mount the disk (and put it into /etc/fstab), or correct the path"
    ]
    hosts[host][waiver] = False
    assert found(hosts, probes) == []


def test_disk_of_another_broker() -> None:
    probes = answers()
    probes["kafka1"]["meta_properties"]["/d2"]["broker.id"] = "7"
    assert found(declared(), probes) == [
        "[KAFKA_ID_CHANGED] kafka1/kafka_broker_id = 1: /d2/meta.properties says broker.id=7: the disk belongs to that broker; "
        "declare 7 again, or attach the right disk; nothing is ever deleted for you"
    ]


def test_disks_of_two_clusters() -> None:
    probes = answers()
    probes["kafka1"]["meta_properties"]["/d2"]["cluster.id"] = "other"
    assert found(declared(), probes) == [
        "[KAFKA_CLUSTER_MIXED] kafka1/kafka_log_dirs: disks of different clusters (/d1: c, /d2: other); attach the right disks"
    ]


def test_myid_of_another_server() -> None:
    probes = answers()
    probes["zk1"]["myid"] = "3"
    assert found(declared(), probes) == [
        "[ZOOKEEPER_ID_CHANGED] zk1/zookeeper_id = 1: the host's myid file says 3; declare 3 again, or move the old data away by hand"
    ]


def test_everything_wrong_at_once() -> None:
    """One run says all of it."""
    probes = answers()
    probes["zk1"] |= {"myid": "3", "clock_synchronized": False, "addresses": []}
    probes["kafka1"]["mounts"]["/d1"]["mounted"] = False
    codes = [text.partition("]")[0].lstrip("[") for text in found(declared(), probes)]
    assert codes == ["ADDRESS_ABSENT", "ADDRESS_ABSENT", "CLOCK_UNSYNCHRONIZED", "NOT_MOUNTED", "ZOOKEEPER_ID_CHANGED"]
