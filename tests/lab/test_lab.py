"""Checks the containers of a lab with two hosts; most tests run in the campaign part `neighbours`."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from wordcount import publish

from .small import SmallLab, podman, said


@pytest.mark.campaign
def test_second_create_changes_nothing(first: SmallLab) -> None:
    assert first.create() == 0


def test_nothing_meant_for_a_lab_can_leave_the_machine(first: SmallLab) -> None:
    route = subprocess.run(["ip", "route", "get", "198.18.200.1"], capture_output=True, text=True)
    assert route.returncode != 0
    outside = subprocess.run(
        ["ssh", "-F", str(first.directory / "ssh_config"), "broker", "ip route show default"],
        capture_output=True,
        text=True,
    )
    assert (outside.returncode, outside.stdout) == (0, "")


@pytest.mark.campaign
def test_hosts_have_named_interfaces_with_their_addresses(first: SmallLab) -> None:
    addresses = sorted(
        re.findall(r"^\d+: (client|replication)\S*\s+inet ([\d.]+)", first.run("broker", "ip -o -4 addr"), re.MULTILINE)
    )
    assert addresses == [("client", f"198.18.{first.network}.21"), ("replication", f"198.18.{first.network + 1}.21")]
    assert "replication" not in first.run("node", "ip -o -4 addr")


@pytest.mark.campaign
def test_every_log_dir_is_a_file_system_of_its_own_size(first: SmallLab) -> None:
    rows = [
        row.split()
        for row in first.run("broker", "df -BM --output=source,size,target /data/a /data/b").splitlines()[1:]
    ]
    assert [row[2] for row in rows] == ["/data/a", "/data/b"] and rows[0][0] != rows[1][0]
    assert all(200 <= int(row[1].removesuffix("M")) <= 320 for row in rows)


def test_unit_hardening_is_really_enforced(first: SmallLab) -> None:
    said = first.run("broker", "systemd-run --quiet --pipe -p ProtectSystem=strict touch /etc/x 2>&1 || true")
    assert "Read-only file system" in said


@pytest.mark.campaign
def test_a_restarted_container_keeps_its_addresses_and_files(first: SmallLab) -> None:
    first.run("broker", "echo kept > /etc/kept; echo kept > /data/a/kept")
    podman("restart", "-t", "0", first.container("broker"))
    assert first.create() == 0
    assert first.run("broker", "cat /etc/kept /data/a/kept") == "kept\nkept\n"
    test_hosts_have_named_interfaces_with_their_addresses(first)


@pytest.mark.campaign
def test_a_host_keeps_its_hardware_addresses_over_a_power_off_and_answers_at_once(first: SmallLab) -> None:
    """A machine keeps its network cards; its neighbours keep what they know of them."""
    show, ask = (
        "cat /sys/class/net/{client,replication}/address",
        f"timeout 5 bash -c 'head -c 4 < /dev/tcp/198.18.{first.network}.21/22'",
    )
    before = first.run("broker", show)
    assert len(set(before.split())) == 2
    assert first.run("node", ask) == "SSH-"
    podman("kill", "-s", "KILL", first.container("broker"))
    podman("wait", first.container("broker"))
    podman("start", first.container("broker"))
    assert first.create() == 0
    assert first.run("broker", show) == before
    assert first.run("node", ask) == "SSH-"


@pytest.mark.campaign
def test_the_name_of_a_text_is_never_an_option_of_tar(first: SmallLab, tmp_path: Path) -> None:
    names = ("--checkpoint=1", "--checkpoint-action=exec=touch planted", "plain.txt")
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in names:
        (texts / name).write_text("words\n")
    first.run("node", "useradd --system spark; mkdir -p /srv/input")
    (first.directory / "texts").mkdir()
    publish(first.directory, "node", "/srv/input", [texts / name for name in names])
    assert not [*tmp_path.rglob("planted"), *Path.cwd().glob("planted")]
    assert set(first.run("node", "ls /srv/input").splitlines()) == set(names)
    assert set(os.listdir(first.directory / "texts")) == set(names)


@pytest.mark.campaign
def test_addresses_outside_the_range_are_refused_before_anything_is_made(
    make: Callable[[str, str, int], SmallLab],
    network: int,
) -> None:
    lab = make("outside", "test-outside", network + 6)
    hosts = lab.inventory / "hosts.yml"
    hosts.write_text(hosts.read_text().replace(f"198.18.{network + 6}.", "192.0.2."))
    done = lab.play("create")
    assert done.returncode != 0
    assert "outside 198.18.0.0/15" in said(done)
    assert lab.containers() == set()
