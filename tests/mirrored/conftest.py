"""The clusters of a family that runs: lab_mirrored, which copy from each other, or lab_aggregated."""

import ipaddress
import json
import secrets
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import KafkaException
from faults.inventory import ROOT, Inventory, load
from faults.lab import Lab
from observations import given_file, read, write
from operations.conftest import Operator, Run

WORKER = "mirror-maker.service"
Record = Callable[[str, dict[str, float]], None]
"""Takes the name of a test, and measured values by name."""


@dataclass(frozen=True)
class Cluster:
    """One of the two clusters."""

    name: str
    inventory: Inventory
    lab: Lab
    operator: Operator

    def play(self, playbook: str, *options: str) -> Run:
        """Run a playbook with the inventory of this cluster."""
        return self.operator.play(playbook, *options)

    @property
    def workers(self) -> list[str]:
        """The hosts of the workers that copy to this cluster."""
        return list(self.inventory.hosts("mirror_maker"))

    @property
    def flow(self) -> dict[str, Any]:
        """The flow to this cluster, as the inventory declares it."""
        file = self.inventory.directory / "group_vars" / "mirror_maker.yml"
        (found,) = yaml.safe_load(file.read_text())["mirror_maker_flows"]
        return dict(found)

    @property
    def network(self) -> str:
        """The subnet of the client network."""
        address = self.inventory.client_address(self.inventory.hosts("kafka")[0])
        return str(ipaddress.ip_network(f"{address}/24", strict=False))

    @property
    def bridge(self) -> str:
        """The interface of this machine through which hosts of this cluster reach the other."""
        command = ["ip", "-o", "route", "show", self.network]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[2]

    def producing(self, topic: str, number: int, size: int, acks: str) -> tuple[str, str]:
        """Return a host, and the command that writes so many records there, so that they pass no link."""
        host = self.inventory.hosts("kafka")[0]
        address = f"{self.inventory.replication_address(host)}:{self.inventory.port('REPLICATION')}"
        return host, (
            f"kafka-producer-perf-test.sh --topic {topic} --num-records {number} --record-size {size} --throughput -1 "
            f"--producer.config /etc/kafka/client.properties --producer-props acks={acks} bootstrap.servers={address}"
        )

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        return set(self.lab.admin.list_topics(timeout=10).topics)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file of measured values."""
    parser.addoption("--mirrored-record", type=given_file, metavar="FILE", help="where measured values go (nowhere)")


@pytest.fixture
def record(pytestconfig: pytest.Config, note: Callable[[str], None]) -> Record:
    """Keeps measured values under the name of a test, and notes them in the summary."""

    def keep(name: str, values: dict[str, float]) -> None:
        note(f"{name}: {json.dumps(values)}")
        file = pytestconfig.getoption("--mirrored-record")
        if file:
            write(file, json.dumps({**read(file), name: values}, indent=1) + "\n")

    return keep


def cluster(name: str, folder: Path, family: str = "lab_mirrored") -> Cluster:
    """Return a cluster of a running family. Fails where it does not run."""
    lab = ROOT / ".lab" / f"{family}_{name}"
    if not (lab / "inventory").exists():
        pytest.fail(f"{lab}: no running lab (make lab i={family})", pytrace=False)
    inventory = load(Path((lab / "inventory").read_text().strip()))
    return Cluster(name, inventory, Lab(inventory), Operator(inventory, folder))


@pytest.fixture(scope="session")
def west(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = cluster("west", tmp_path_factory.mktemp("west"))
    yield found
    found.inventory.close()


@pytest.fixture(scope="session")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = cluster("east", tmp_path_factory.mktemp("east"))
    yield found
    found.inventory.close()


@pytest.fixture
def topic(west: Cluster, east: Cluster) -> Iterator[str]:
    """A topic of both clusters; its name is new, because MirrorMaker continues at old offsets."""
    name = f"streams-{secrets.token_hex(4)}"
    for each in (west, east):
        each.lab.heal()
        each.lab.create_topic(name)
    yield name
    for each, other in ((west, east), (east, west)):
        each.lab.heal()
        each.lab.delete_topic(name)
        try:
            each.lab.delete_topic(f"{other.name}.{name}")
        except KafkaException as error:
            print(f"{other.name}.{name} of {each.name} stays: {error}")
