"""Labs of pretended checkouts; whatever a test made is removed in the end, passed or failed."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from down import known, remove
from faults.inventory import ROOT
from millrace_lab.shared_resources import Machine

from .small import CONTAINERS_CONF, SmallLab, claimed_block

PLACE = ROOT / ".lab" / "tests"
"""Of all pretended checkouts; what a killed run left there is removed at the next one's start."""


@pytest.fixture(scope="session")
def network() -> Iterator[int]:
    """The first of fourteen networks 198.18.N.0/24 that are this run's."""
    machine = Machine(CONTAINERS_CONF)
    block = claimed_block(machine, PLACE / "networks")
    remove(machine, [directory for directory in known(machine, PLACE) if directory != PLACE / "networks"])
    yield block
    remove(machine, [PLACE / "networks"])
    shutil.rmtree(PLACE)


@pytest.fixture(scope="module")
def make(network: int) -> Iterator[Callable[[str, str, int], SmallLab]]:
    """Return what writes the inventory of a lab: checkout, name, first network."""
    shutil.rmtree(PLACE / "checkouts", ignore_errors=True)
    with ExitStack() as labs:

        def write(checkout: str, name: str, network: int) -> SmallLab:
            lab = SmallLab(PLACE / "checkouts" / checkout, name, network)
            labs.callback(lab.remove)
            return lab

        yield write


@pytest.fixture(scope="module")
def first(make: Callable[[str, str, int], SmallLab], network: int) -> SmallLab:
    """A lab that lives through all tests of a file."""
    lab = make("one", "test-first", network)
    lab.create()
    return lab
