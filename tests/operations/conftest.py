"""Playbooks run against the hosts of --inventory, and what they did there."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from derive import derive
from faults.inventory import ROOT, Inventory
from faults.lab import Lab
from faults.measured_again import pytest_runtest_call as pytest_runtest_call
from faults.measured_again import pytest_runtest_protocol as pytest_runtest_protocol
from faults.word_counts import INPUT, OUTPUT
from observations import given_file

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from operations.moving import Topic
from operations.untouched import Manifests, manifests
from operations.watched import Watch


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file of measured alerts."""
    parser.addoption("--alerts-record", type=given_file, metavar="FILE", help="where times of alerts go (nowhere)")


@pytest.fixture
def watch(inventory: Inventory, pytestconfig: pytest.Config, note: Callable[[str], None]) -> Watch:
    """Return what measures alerts."""
    return Watch(inventory, pytestconfig.getoption("--alerts-record"), note)


@pytest.fixture
def created(inventory: Inventory) -> Iterator[Callable[..., str]]:
    """Create topics with the options of Lab.create_topic; they are deleted after the test."""
    lab, names = Lab(inventory), list[str]()

    def create(**options: Any) -> str:
        names.append(f"alerts-{time.time_ns()}")
        lab.create_topic(names[-1], **options)
        return names[-1]

    yield create
    for name in names:
        lab.delete_topic(name)


@pytest.fixture
def hurt(inventory: Inventory, created: Callable[..., str]) -> Iterator[Lab]:
    """Return a lab that is whole again after the test, before topics of `created` are deleted."""
    lab = Lab(inventory)
    yield lab
    lab.heal()


UNITS = {"zookeeper": "zookeeper.service", "kafka": "kafka.service"}


@dataclass(frozen=True)
class Run:
    """One run of ansible-playbook."""

    code: int
    output: str
    host_tasks: Mapping[str, Mapping[str, int]]

    def recap(self, word: str) -> dict[str, int]:
        """Return a number of the recap (changed, failed, unreachable) per host."""
        return {
            host: int(number)
            for host, number in re.findall(rf"^(\S+)\s+: ok=.*?\b{word}=(\d+)", self.output, re.MULTILINE)
        }


def kill(run: subprocess.Popen[str]) -> None:
    """Kill a run that goes on, as a control node dies: with its workers, each in a session of its own."""
    if run.poll() is None:
        os.kill(run.pid, signal.SIGSTOP)  # it starts no more of them
        for process in (*below(run.pid), run.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        run.communicate()


def below(pid: int) -> list[int]:
    """Return the ids of the processes that a process started, and of those that these did."""
    found = list[int]()
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *below(child)]
    return found


@dataclass(frozen=True)
class Operator:
    """Types commands as a platform engineer would."""

    inventory: Inventory
    folder: Path
    callbacks: tuple[str, ...] = ("millrace.kafka.host_tasks",)
    """In place of those of ansible.cfg."""

    def play(self, playbook: str, *options: str, inventory: Path | None = None) -> Run:
        """Run a playbook to its end."""
        run = self.begin(playbook, *options, inventory=inventory)
        try:
            output, _ = run.communicate(timeout=900)
        finally:
            kill(run)
        return Run(run.returncode, output, json.loads((self.folder / "host-tasks.json").read_text()))

    def begin(self, playbook: str, *options: str, inventory: Path | None = None) -> subprocess.Popen[str]:
        """Start a playbook in a process group of its own."""
        callback = {
            "ANSIBLE_CALLBACKS_ENABLED": ",".join(self.callbacks),
            "MILLRACE_HOST_TASKS": str(self.folder / "host-tasks.json"),
        }
        return subprocess.Popen(
            [
                "ansible-playbook",
                "-i",
                str(inventory or self.inventory.directory),
                f"playbooks/{playbook}.yml",
                *options,
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), **callback},
        )

    def changed_inventory(self, name: str, *changes: tuple[str, str]) -> Path:
        """Return a copy of the inventory with changes in hosts.yml: patterns that fit once, and what replaces them."""
        copy = self.folder / name
        derive(self.inventory.directory, copy, {})
        text = (copy / "hosts.yml").read_text()
        for pattern, replacement in changes:
            before, (text, number) = text, re.subn(pattern, replacement, text)
            assert number == 1 and text != before, f"{pattern}: {number} times"
        (copy / "hosts.yml").write_text(text)
        return copy

    def processes(self) -> dict[str, str]:
        """Return unit, pid and start time of every service and job on every host."""
        units = "'zookeeper.service' 'kafka.service' 'postgresql.service' 'spark-job@*'"
        command = f"systemctl show -p Id,MainPID,ExecMainStartTimestampMonotonic {units}"
        return {host: self.inventory.run(host, command) for host in self.inventory.hosts("all")}

    def fingerprint(self) -> Manifests:
        """Return the manifest of one host of each function, without the files that running services write."""
        groups = map(self.inventory.hosts, functions())
        return manifests(self.inventory, [hosts[-1] for hosts in groups if hosts], "--live")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Say of hosts what differs, not all that they are."""
    if isinstance(left, Manifests) and isinstance(right, Manifests) and op == "==":
        return ["hosts are as they were", *right.differences(left)]
    return None


@pytest.fixture(scope="session")
def jobs_have_topics(inventory: Inventory) -> None:
    """A job that waits in vain for its topics ends after five minutes and starts anew: a restart of no playbook's."""
    if inventory.hosts("spark"):
        lab = Lab(inventory)
        for name in {INPUT, OUTPUT} - lab.admin.list_topics(timeout=10).topics.keys():
            lab.create_topic(name)


def with_class_data(inventory: Inventory, group: str) -> list[str]:
    """Return the hosts of a group that the inventory gives a class-data archive."""
    role = {"kafka": "kafka", "spark": "spark_job"}[group]
    return [host for host in inventory.hosts(group) if inventory.variables[host].get(f"{role}_class_data_archive")]


@pytest.fixture(scope="session")
def class_data_made(inventory: Inventory) -> None:
    """Archives are made after the first start, at idle priority: a host is not left alone before that ends."""
    for group, unit in (("kafka", "kafka-class-data"), ("spark", "spark-job-class-data")):
        for host in with_class_data(inventory, group):
            inventory.run(host, f"systemctl start {unit}", seconds=600)


@pytest.fixture
def operator(inventory: Inventory, tmp_path: Path, jobs_have_topics: None, class_data_made: None) -> Operator:
    """An operator with a folder of its own."""
    return Operator(inventory, tmp_path)


@pytest.fixture
def made(inventory: Inventory) -> Iterator[Callable[..., Topic]]:
    """Makes topics that are gone afterwards."""
    topics: list[Topic] = []

    def make(*layout: Sequence[int], least: int = 1) -> Topic:
        # a partition with one in sync has to take records while its other broker is away
        topics.append(Topic(inventory, layout, least))
        return topics[-1]

    yield make
    for topic in topics:
        topic.lab.delete_topic(topic.name)
