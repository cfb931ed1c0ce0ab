"""Options, and a lab of its own for each layout."""

import json
import random
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator

import pytest
from faults.inventory import ROOT
from observations import Record, given_folder
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from .rows import topic_of
from .stretched import Stretched, prepared_image

# Networks that no inventory of the project has: a lab that a developer runs from the same inventory is never touched.
NETWORKS = {
    "lab_stretch2": ("198.18.71", "198.18.72"),
    "lab_stretch2_5": ("198.18.73", "198.18.74"),
    "lab_stretch3": ("198.18.75", "198.18.76"),
}
# Starts and TLS handshakes are most of what a failure costs. The image has the archives, and a signature of RSA takes a
# JVM without the optimising compiler twenty times as long as one of EC; other labs have the defaults.
QUICK = {"kafka_class_data_archive": True, "pki_key": "ec-p256", "pki_authority_key": "ec-p256"}
LAYOUTS, EACH = "lab_stretch2", 1


def at_least_one(text: str) -> int:
    """Return a number; raise ArgumentTypeError, which pytest says, where it is less than 1."""
    if (number := int(text)) < 1:
        raise ArgumentTypeError(f"{text} is less than 1")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which layouts are made, and which servers are stopped."""
    parser.addoption(
        "--survival-layouts", default=LAYOUTS, metavar="NAMES", help=f"the inventories that are run ({LAYOUTS})"
    )
    parser.addoption(
        "--survival-seed", type=int, default=1, metavar="N", help="chooses servers and their pairs, and the order (1)"
    )
    kinds = "servers of each function (losses: all servers), and pairs of each shape, that are killed"
    fewest = f"{EACH}: only pairs that stop writes or the quorum"
    parser.addoption("--survival-each", type=at_least_one, default=EACH, metavar="N", help=f"{kinds} ({fewest})")
    parser.addoption(
        "--survival-record", type=given_folder, metavar="DIR", help="write what was seen there, a file for each layout"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on each layout."""
    if "stretched" in metafunc.fixturenames:
        names = metafunc.config.getoption("--survival-layouts", LAYOUTS).split(",")
        metafunc.parametrize("stretched", names, indirect=True, scope="session")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Layouts side by side, with -n 2: all tests of one layout in one process, with one lab."""
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = lambda nodeid: nodeid.rpartition("[")[2]
    return scheduler


@pytest.fixture(scope="session")
def stretched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stretched]:
    """A running cluster of one layout, removed in the end."""
    name = str(request.param)
    cluster = Stretched(
        ROOT / "inventories" / name, tmp_path_factory.mktemp("inventory") / name, f"survival_{name}", NETWORKS[name]
    )
    cluster.play("lab/destroy.yml")  # left behind by a run that was killed
    try:
        cluster.play("lab/create.yml", "-e", f"lab_image={prepared_image('kafka', 'zookeeper')}")
        cluster.play("playbooks/site.yml", "-e", json.dumps(QUICK))
        yield cluster
    finally:
        cluster.close()
        cluster.play("lab/destroy.yml")


@pytest.fixture(scope="session")
def topic(stretched: Stretched) -> str:
    """A topic with the cluster's defaults, and with as many partitions as it takes for every placement to occur."""
    return topic_of(stretched)


@pytest.fixture
def chance(pytestconfig: pytest.Config, note: Callable[[str], None]) -> random.Random:
    """The source of chance; its seed is in the summary."""
    seed = pytestconfig.getoption("--survival-seed", 1)
    note(f"--survival-seed {seed}")
    return random.Random(seed)


@pytest.fixture
def of_each_shape(pytestconfig: pytest.Config) -> int:
    """How many servers of each function, and pairs of each shape, are stopped."""
    return int(pytestconfig.getoption("--survival-each", EACH))


@pytest.fixture
def record(pytestconfig: pytest.Config) -> Record:
    """Keeps what was seen, where --survival-record says so."""
    return Record(pytestconfig.getoption("--survival-record"), pytestconfig.getoption("--survival-seed", 1))
