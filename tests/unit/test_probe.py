"""Read-only facts of this very machine, against what its own tools say."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.host import mounts as module
from ansible_collections.millrace.kafka.plugins.module_utils.host import probe
from ansible_collections.millrace.kafka.plugins.module_utils.host.mounts import (
    covering,
    mount_table,
    mounts,
    noexec,
    settled,
)
from ansible_collections.millrace.kafka.plugins.module_utils.host.network import attempts, connect, reach
from ansible_collections.millrace.kafka.plugins.module_utils.host.probe import (
    clock,
    java_version,
    javas,
    limits,
    memory,
    nft,
    ssh_port,
)


def said(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_mounts() -> None:
    """A mount point with its device, type and size; a directory that is none; one that is not there."""
    found = mounts(["/proc", "/etc", "/nowhere"])
    assert (found["/proc"]["mounted"], found["/proc"]["type"]) == (True, "proc")
    assert found["/etc"]["mounted"] is False
    assert "passwd" in found["/etc"]["names"]
    assert found["/etc"]["device"] == os.stat("/etc").st_dev
    size, free = said("df", "-B1", "--output=size,avail", "/etc").splitlines()[1].split()
    assert found["/etc"]["size"] == int(size)
    assert abs(found["/etc"]["free"] - int(free)) < 2**28
    assert found["/nowhere"] == {"mounted": False}


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (b"/mnt/m\xfcll", "/mnt/m\udcfcll"),
        (b"/mnt/a\\040b\\011c\\134d", "/mnt/a b\tc\\d"),
        ("/mnt/müll".encode(), "/mnt/müll"),
    ],
)
def test_any_mount_point_is_read(written: bytes, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes may have any encoding, and the kernel escapes blanks."""
    table = tmp_path / "mounts"
    table.write_bytes(b"/dev/sda1 / ext4 rw 0 0\ntmpfs " + written + b" tmpfs ro,noexec 0 0\n")
    monkeypatch.setattr(module, "TABLE", str(table))
    assert mount_table() == {"/": ("ext4", {"rw"}), path: ("tmpfs", {"ro", "noexec"})}


def test_a_link_to_a_mount_point(tmp_path: Path) -> None:
    (tmp_path / "proc").symlink_to("/proc")
    (tmp_path / "etc").symlink_to("/etc")
    found = mounts([f"{tmp_path}/proc", f"{tmp_path}/etc"])
    assert [(one["mounted"], one.get("link")) for one in found.values()] == [(False, "/proc"), (False, None)]


def test_a_folder_of_a_mounted_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named with the mount point, and with the target of a link."""
    table, disk, link = tmp_path / "mounts", tmp_path / "disk", tmp_path / "link"
    (disk / "kafka").mkdir(parents=True)
    link.symlink_to(disk / "kafka")
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 {disk} xfs rw 0 0\n")
    monkeypatch.setattr(module, "TABLE", str(table))
    found = mounts([f"{disk}/kafka", str(link), f"{disk}/none", f"{tmp_path}/none"])
    wanted = [(str(disk), None), (str(disk), f"{disk}/kafka"), (str(disk), None), (None, None)]
    assert [(one.get("below"), one.get("target")) for one in found.values()] == wanted
    assert not any(one["mounted"] or "link" in one for one in found.values())


def test_from_where_nothing_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not there yet will be on the file system above it, and a link leads to another one."""
    table, link = tmp_path / "mounts", tmp_path / "link"
    table.write_text("/dev/sda1 / ext4 rw 0 0\nt /closed tmpfs rw,noexec 0 0\nt /closed/open tmpfs rw 0 0\n")
    monkeypatch.setattr(module, "TABLE", str(table))
    link.symlink_to("/closed/folder")
    closed = ["/closed", "/closed/none/below", str(link)]
    assert noexec([*closed, "/closed/open", "/closed/open/below", "/closedup", str(tmp_path)]) == closed


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    """A module can only return text."""
    os.mkdir(os.fsencode(tmp_path) + b"/m\xfcll")
    assert mounts([str(tmp_path)])[str(tmp_path)]["names"] == ["m\ufffdll"]


def test_a_replica_that_moves_while_it_is_looked_for(tmp_path: Path) -> None:
    """It is in one log dir, and said to be in that; what is in both stays, and what both have of each broker."""
    one, two = tmp_path / "1", tmp_path / "2"
    for path in (one, two):
        for name in ("t-0", "t-1", "t-2", "meta.properties"):
            (path / name).mkdir(parents=True)
    found = mounts([str(one), str(two)])
    (one / "t-0").rename(one / "t-0.ab12-delete")
    names = {path: mount["names"] for path, mount in settled(found).items()}
    assert names == {str(one): ["meta.properties", "t-1", "t-2"], str(two): ["meta.properties", "t-0", "t-1", "t-2"]}


def test_java_version() -> None:
    """As the java itself says, which is not started for it."""
    announced = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    version = java_version(said("which", "java"))
    assert f'"{version}"' in announced
    assert java_version("/nowhere/bin/java") == ""
    assert javas([said("which", "java"), "/nowhere/bin/java", "/usr/bin", __file__]) == {said("which", "java"): version}


def test_limits_and_memory() -> None:
    found = limits()
    assert found["nr_open"] == int(said("cat", "/proc/sys/fs/nr_open"))
    assert found["nofile"] >= 1024
    assert found["capabilities"] & 1
    assert memory() == int(said("sh", "-c", "grep MemTotal /proc/meminfo | tr -dc 0-9")) * 1024


def test_clock() -> None:
    before, found, after = time.time(), clock(), time.time()
    assert before <= found["time"] <= after
    assert isinstance(found["synchronized"], bool)


def test_ports_of_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the roles write them; none where nothing is."""
    listeners = "CLIENT://198.18.1.21:9092,REPLICATION://[fd00::21]:9093"
    files = {
        "/etc/kafka/server.properties": {"listeners": listeners},
        "/etc/zookeeper/zoo.cfg": {
            "secureClientPort": "2281",
            "server.1": "198.18.2.11:2888:3888|198.18.1.11:2888:3888",
            "server.2": "198.18.1.12:2888:3888:observer",
        },
    }
    monkeypatch.setattr(probe, "properties", lambda path: files.get(path, {}))
    assert probe.installed_listeners() == {"CLIENT": ("198.18.1.21", 9092), "REPLICATION": ("[fd00::21]", 9093)}
    addresses = {"1": ["198.18.2.11", "198.18.1.11"], "2": ["198.18.1.12"]}
    assert probe.installed_ensemble(older=False) == addresses
    files["/etc/zookeeper/zoo.cfg"]["quorumListenOnAllIPs"] = "true"
    assert probe.installed_ensemble(older=False) == {}
    assert probe.installed_ensemble(older=True) == addresses, "the process does not use the file yet"
    assert probe.installed_client_ports() == [2281]
    files.clear()
    assert (probe.installed_listeners(), probe.installed_client_ports()) == ({}, [])


def test_nft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """'' where it answers; else the first line of why not."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nft() == "no such program"
    program = tmp_path / "nft"
    program.write_text("#!/bin/sh\necho Operation not permitted >&2\necho more >&2\nexit 1\n")
    program.chmod(0o755)
    assert nft() == "Operation not permitted"
    program.write_text("#!/bin/sh\necho table inet other\n")
    assert nft() == ""


def test_peers() -> None:
    """Something that listens, and a port that nobody has: both are answers. An address that leads nowhere is none."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as other:
            free = other.getsockname()[1]
        found = reach([{"address": "127.0.0.1", "port": port}, {"address": "127.0.0.1", "port": free}])
    assert found == {f"127.0.0.1:{port}": "open", f"127.0.0.1:{free}": "refused"}
    assert attempts([{"address": "127.0.0.1", "port": free}])[f"127.0.0.1:{free}"][1] > 0
    assert connect("127.255.255.255", 9, 0.2) not in ("open", "refused")


@pytest.mark.parametrize("connection", ["198.18.1.1 40000 198.18.1.31 2200", None])
def test_port_of_the_ssh_connection(connection: str | None) -> None:
    """Found at a parent where a child has an environment of its own, as behind sudo.

    Without one it is that of this very run, if any.
    """
    child = f"from {probe.__name__} import ssh_port; print(ssh_port())"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], "
        f"env={{'PYTHONPATH': sys.argv[1]}}, check=True)"
    )
    environment = {"SSH_CONNECTION": connection} if connection else {}
    found = subprocess.check_output(
        [sys.executable, "-c", parent, str(Path(__file__).parents[2] / "collections")], env=environment, text=True
    )
    assert int(found) == (2200 if connection else ssh_port())


@pytest.mark.parametrize(
    ("path", "point"),
    [("/data/kafka 1/x", "/data/kafka 1"), ("/data/kafka", "/data/kafka"), ("/data/kafka10", "/data"), ("/srv", "/")],
)
def test_the_file_system_that_a_path_is_on(path: str, point: str) -> None:
    assert covering(path, ["/", "/data", "/data/kafka", "/data/kafka 1"]) == point


def test_log_dirs_that_are_taken_out() -> None:
    """Of what is installed, however its path is written."""
    assert probe.dropped(["/data/1", "/data/2/", "/data/3"], ["/data/2", "/data/3", "/data/4"]) == ["/data/1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("127.0.0.1 localhost\n# BEGIN millrace\n198.18.1.11 zk1\n# END millrace\n", True),
        ("127.0.0.1 localhost\n# BEGIN millrace-other\n", False),
        ("", False),
    ],
)
def test_a_host_that_was_converged_has_our_part_of_etc_hosts(
    text: str, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "read", lambda path: text if path == "/etc/hosts" else "")
    assert probe.converged() is said


def test_from_which_log_dirs_a_broker_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the locks that its process holds; a disk that is mounted over one hides the lock, and not that."""
    paths = [str(tmp_path / name) for name in ("one", "two", "three")]
    for path in paths:
        Path(path).mkdir()
    broker = subprocess.CompletedProcess([], 0, stdout=f"{os.getpid()}\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: broker)
    with (tmp_path / "one/.lock").open("w"), (tmp_path / "two/.lock").open("w"):
        held = probe.locks("kafka.service")
    assert probe.served(paths, held) == {"serves": paths[:2], "given_up": paths[2:]}
    assert probe.served(paths, ()) == {"serves": [], "given_up": []}
