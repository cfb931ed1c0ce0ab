"""Options, and a lab of its own for each layout."""

import random
from collections.abc import Callable, Iterator

import pytest
from faults.inventory import ROOT

from .stretched import Stretched

# Networks that no inventory of the project has: a lab that a developer runs from the same inventory is never touched.
NETWORKS = {"lab_stretch2": ("198.18.71", "198.18.72"), "lab_stretch3": ("198.18.75", "198.18.76")}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which pairs of servers to stop."""
    parser.addoption("--survival-seed", type=int, default=1, metavar="N", help="chooses the pairs of servers that are stopped (1)")
    parser.addoption("--survival-pairs", type=int, default=1, metavar="N", help="pairs of each shape that are stopped (1)")


@pytest.fixture(scope="module", params=sorted(NETWORKS))
def stretched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stretched]:
    """A running cluster of one layout, removed in the end."""
    name = str(request.param)
    cluster = Stretched(ROOT / "inventories" / name, tmp_path_factory.mktemp("inventory") / name, f"survival_{name}", NETWORKS[name])
    cluster.play("lab/destroy.yml")  # left behind by a run that was killed
    try:
        for playbook in ("lab/create.yml", "playbooks/site.yml"):
            cluster.play(playbook)
        yield cluster
    finally:
        cluster.close()
        cluster.play("lab/destroy.yml")


@pytest.fixture
def chance(pytestconfig: pytest.Config, note: Callable[[str], None]) -> random.Random:
    """The source of chance; its seed is in the summary."""
    seed = pytestconfig.getoption("--survival-seed", 1)
    note(f"--survival-seed {seed}")
    return random.Random(seed)


@pytest.fixture
def pairs_of_each_shape(pytestconfig: pytest.Config) -> int:
    """How many pairs of each shape are stopped."""
    return int(pytestconfig.getoption("--survival-pairs", 1))
