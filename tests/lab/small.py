"""Small labs for the tests: one broker and one Spark node each, of pretended checkouts."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from faults.inventory import ROOT
from millrace_lab.claims import choose, conflicts
from millrace_lab.records import LabError
from millrace_lab.shared_resources import Machine, machine_lock

CONTAINERS_CONF = str(ROOT / "lab" / "podman.conf")
ENVIRONMENT = {**os.environ, "CONTAINERS_CONF": CONTAINERS_CONF, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
# No inventory of the project names a network in these; a block's last network stands for the whole.
FIRST, END, BLOCK = 96, 256, 16


def claimed_block(machine: Machine, directory: Path) -> int:
    """Claim a block of networks for this process, and return its first: two checkouts can be tested at once.

    Raises LabError where this lab directory is another process's already, or no block is free.
    """
    for first in range(FIRST, END, BLOCK):
        declared, block = (
            {"tests": f"198.18.{first + BLOCK - 1}.0/24"},
            [f"198.18.{first}.0/{24 - BLOCK.bit_length() + 1}"],
        )
        with machine_lock():
            if choose(machine, directory, declared, os.getpid()) == declared:
                strangers = conflicts(machine, directory, block)
                if all(directory.parent in tenant.directory.parents for tenant in strangers):
                    return first
    raise LabError(f"labs hold all networks from 198.18.{FIRST}.0 on: remove some (make lab-down-all)")


class SmallLab:
    """An inventory of one broker and one Spark node, and its lab."""

    def __init__(self, checkout: Path, name: str, network: int) -> None:
        """Write the inventory; make nothing."""
        self.name, self.directory = name, checkout / ".lab" / name
        self.inventory = checkout / "inventories" / name
        self.network = network
        self.inventory.mkdir(parents=True)
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
        hosts = {"node": {"client_address": f"198.18.{network}.31"}}
        groups = {"vars": variables, "hosts": hosts, "children": {"kafka": {"hosts": {"broker": broker}}}}
        (self.inventory / "hosts.yml").write_text(yaml.safe_dump({"plugin": "millrace.kafka.site", "all": groups}))

    def play(self, playbook: str, *options: str, inventory: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run lab/create.yml or lab/destroy.yml."""
        command = ["ansible-playbook", "-i", str(inventory or self.inventory), f"lab/{playbook}.yml", "-v", *options]
        return subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)

    def create(self, *options: str, inventory: Path | None = None) -> int:
        """Make the lab; return the number of changed tasks."""
        done = self.play("create", *options, inventory=inventory)
        assert done.returncode == 0, done.stdout[-3000:]
        print(done.stdout)
        return int(re.findall(r"changed=(\d+)", done.stdout)[-1])

    def derive(self, *options: str) -> subprocess.Popen[str]:
        """Ask for the inventory to use, as `make lab` does."""
        command = [sys.executable, "lab/derive.py", str(self.inventory), *options]
        return subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, host: str, command: str) -> str:
        """Run a command on a host, over SSH with its key already known."""
        done = subprocess.run(
            ["ssh", "-F", str(self.directory / "ssh_config"), host, command], capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def container(self, host: str) -> str:
        """Return the name of a host's container."""
        return str(json.loads((self.directory / "lab.json").read_text())["containers"][host])

    def containers(self) -> set[str]:
        """Return the names of this lab directory's containers."""
        return podman("ps", "-a", "--filter", f"label=millrace.directory={self.directory}", "--format", "{{.Names}}")

    def networks(self) -> set[str]:
        """Return the names of this lab directory's networks."""
        return podman(
            "network", "ls", "--filter", f"label=millrace.directory={self.directory}", "--format", "{{.Name}}"
        )

    def remove(self) -> None:
        """Remove whatever is left of the lab, also of one whose directory is gone."""
        machine = Machine(CONTAINERS_CONF)
        with machine_lock():
            labels = [entry["Labels"] for entry in machine.containers()] + [
                entry["labels"] for entry in machine.bridges()
            ]
            ids = {entry["millrace.id"] for entry in labels if entry["millrace.directory"] == str(self.directory)}
            for lab_id in ids | {claim.id for claim in machine.claims() if claim.directory == self.directory}:
                machine.remove(lab_id)
            shutil.rmtree(self.directory, ignore_errors=True)
            machine.drop_route()
        assert (self.containers(), self.networks()) == (set(), set())


def podman(*argv: str) -> set[str]:
    """Return the words that podman prints."""
    return set(
        subprocess.run(
            ["podman", *argv], env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=60
        ).stdout.split()
    )


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a playbook printed, on one line."""
    return re.sub(r"\s+", " ", done.stdout)
