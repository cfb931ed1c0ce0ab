"""The lab itself: real containers from small inventories, side by side, left behind, replaced, removed."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.inventory import ROOT
from wordcount import publish

ENVIRONMENT = {**os.environ, "CONTAINERS_CONF": str(ROOT / "lab" / "containers.conf"), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}


# The first of eight networks 198.18.N.0/24.
NETWORK = int(os.environ.get("LAB_TEST_NETWORK", "41"))


class SmallLab:
    """An inventory of one broker and one Spark node, and its lab."""

    def __init__(self, checkout: Path, name: str, network: int) -> None:
        """Write the inventory; make nothing."""
        self.name, self.directory = name, checkout / ".lab" / name
        self.inventory = checkout / f"{name}.yml"
        checkout.mkdir(exist_ok=True)
        variables = {
            "lab_directory": str(self.directory),
            "client_network": f"198.18.{network}.0/24",
            "replication_network": f"198.18.{network + 1}.0/24",
            "lab_disk_size": "320M",
            "kafka_client": {"bootstrap.servers": f"198.18.{network}.21:9092"},
        }
        broker = {
            "client_address": f"198.18.{network}.21",
            "replication_address": f"198.18.{network + 1}.21",
            "kafka_log_dirs": ["/data/a", "/data/b"],
        }
        hosts = {"broker": broker, "node": {"client_address": f"198.18.{network}.31"}}
        self.inventory.write_text(json.dumps({"all": {"vars": variables, "hosts": hosts}}))

    def play(self, playbook: str) -> subprocess.CompletedProcess[str]:
        """Run lab/create.yml or lab/destroy.yml."""
        return subprocess.run(
            ["ansible-playbook", "-i", str(self.inventory), f"lab/{playbook}.yml", "-v"],
            cwd=ROOT,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def create(self) -> int:
        """Make the lab; return the number of changed tasks."""
        done = self.play("create")
        assert done.returncode == 0, done.stdout[-3000:]
        print(done.stdout)
        return int(re.findall(r"changed=(\d+)", done.stdout)[-1])

    def run(self, host: str, command: str) -> str:
        """Run a command on a host, over SSH with its key already known."""
        done = subprocess.run(["ssh", "-F", str(self.directory / "ssh_config"), host, command], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def containers(self) -> set[str]:
        """Return the names of this lab directory's containers."""
        return podman("ps", "-a", "--filter", f"label=millrace.directory={self.directory}", "--format", "{{.Names}}")


def podman(*argv: str) -> set[str]:
    """Return the words that podman prints."""
    return set(subprocess.run(["podman", *argv], env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=60).stdout.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pretended checkouts are."""
    return tmp_path_factory.mktemp("checkouts")


@pytest.fixture(scope="module")
def first(folder: Path) -> Iterator[SmallLab]:
    """A lab that lives through all tests of this file."""
    lab = SmallLab(folder / "one", "test-first", NETWORK)
    lab.create()
    yield lab
    lab.play("destroy")


def test_second_create_changes_nothing(first: SmallLab) -> None:
    assert first.create() == 0


def test_nothing_meant_for_a_lab_can_leave_the_machine(first: SmallLab) -> None:
    route = subprocess.run(["ip", "route", "get", "198.18.200.1"], capture_output=True, text=True)
    assert route.returncode != 0
    outside = subprocess.run(["ssh", "-F", str(first.directory / "ssh_config"), "broker", "ip route show default"], capture_output=True, text=True)
    assert (outside.returncode, outside.stdout) == (0, "")


def test_hosts_have_named_interfaces_with_their_addresses(first: SmallLab) -> None:
    addresses = sorted(re.findall(r"^\d+: (client|replication)\S*\s+inet ([\d.]+)", first.run("broker", "ip -o -4 addr"), re.MULTILINE))
    assert addresses == [("client", f"198.18.{NETWORK}.21"), ("replication", f"198.18.{NETWORK + 1}.21")]
    assert "replication" not in first.run("node", "ip -o -4 addr")


def test_every_log_dir_is_a_file_system_of_its_own_size(first: SmallLab) -> None:
    rows = [row.split() for row in first.run("broker", "df -BM --output=source,size,target /data/a /data/b").splitlines()[1:]]
    assert [row[2] for row in rows] == ["/data/a", "/data/b"] and rows[0][0] != rows[1][0]
    assert all(200 <= int(row[1].removesuffix("M")) <= 320 for row in rows)


def test_unit_hardening_is_really_enforced(first: SmallLab) -> None:
    said = first.run("broker", "systemd-run --quiet --pipe -p ProtectSystem=strict touch /etc/x 2>&1 || true")
    assert "Read-only file system" in said


def test_a_restarted_container_keeps_its_addresses_and_files(first: SmallLab) -> None:
    first.run("broker", "echo kept > /etc/kept; echo kept > /data/a/kept")
    podman("restart", "-t", "0", "test-first-broker")
    assert first.create() == 0
    assert first.run("broker", "cat /etc/kept /data/a/kept") == "kept\nkept\n"
    test_hosts_have_named_interfaces_with_their_addresses(first)


def test_a_host_keeps_its_hardware_addresses_over_a_power_off_and_answers_at_once(first: SmallLab) -> None:
    """A machine keeps its network cards; its neighbours keep what they know of them."""
    show, ask = "cat /sys/class/net/{client,replication}/address", f"timeout 5 bash -c 'head -c 4 < /dev/tcp/198.18.{NETWORK}.21/22'"
    before = first.run("broker", show)
    assert len(set(before.split())) == 2
    assert first.run("node", ask) == "SSH-"
    podman("kill", "-s", "KILL", "test-first-broker")
    podman("wait", "test-first-broker")
    podman("start", "test-first-broker")
    assert first.create() == 0
    begin = time.monotonic()
    assert first.run("broker", show) == before
    assert first.run("node", ask) == "SSH-"
    assert time.monotonic() - begin < 3


def test_the_name_of_a_text_is_never_an_option_of_tar(first: SmallLab, tmp_path: Path) -> None:
    names = ("--checkpoint=1", "--checkpoint-action=exec=touch planted", "plain.txt")
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in names:
        (texts / name).write_text("words\n")
    first.run("node", "useradd --system spark; mkdir -p /srv/input")
    publish(first.directory, "node", "/srv/input", [texts / name for name in names])
    assert not [*tmp_path.rglob("planted"), *Path.cwd().glob("planted")]
    assert set(first.run("node", "ls /srv/input").splitlines()) == set(names)


def test_two_labs_live_side_by_side_and_each_is_removed_alone(first: SmallLab, folder: Path) -> None:
    second = SmallLab(folder / "one", "test-second", NETWORK + 2)
    second.create()
    assert (len(first.containers()), len(second.containers())) == (2, 2)
    assert second.play("destroy").returncode == 0
    assert (len(first.containers()), len(second.containers())) == (2, 0)
    assert not second.directory.exists()
    assert first.run("broker", "hostname") == "broker\n"


def test_a_lab_on_the_networks_of_another_one_of_this_checkout_is_refused(first: SmallLab, folder: Path) -> None:
    done = SmallLab(folder / "one", "test-clash", NETWORK).play("create")
    assert done.returncode != 0
    assert f"lab test-first of this checkout holds 198.18.{NETWORK}.0/24" in re.sub(r"\s+", " ", done.stdout)
    assert len(first.containers()) == 2


@pytest.mark.parametrize("name", ["test-left", "test-other-name"])
def test_a_lab_that_another_checkout_left_behind_is_replaced(folder: Path, name: str) -> None:
    left = SmallLab(folder / f"left-by-{name}", "test-left", NETWORK + 4)
    left.create()
    taken = SmallLab(folder / f"mine-{name}", name, NETWORK + 4)
    taken.create()
    assert left.containers() == set()
    assert len(taken.containers()) == 2
    assert taken.run("broker", "hostname") == "broker\n"
    assert taken.play("destroy").returncode == 0
    assert left.play("destroy").returncode == 0
    assert podman("network", "ls", "--filter", "label=millrace.lab=test-left", "--format", "{{.Name}}") == set()


def test_addresses_outside_the_range_are_refused_before_anything_is_made(folder: Path) -> None:
    lab = SmallLab(folder / "outside", "test-outside", NETWORK + 6)
    lab.inventory.write_text(lab.inventory.read_text().replace(f"198.18.{NETWORK + 6}.", "192.0.2."))
    done = lab.play("create")
    assert done.returncode != 0
    assert "outside 198.18.0.0/15" in re.sub(r"\s+", " ", done.stdout)
    assert lab.containers() == set()
