"""The clusters of a family that runs: lab_mirrored, which copy from each other, or lab_aggregated."""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
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
