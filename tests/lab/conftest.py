"""Labs of pretended checkouts; whatever a test made is removed in the end, passed or failed."""

from collections.abc import Callable, Iterator

import pytest

from .small import NETWORK, SmallLab


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str, int], SmallLab]]:
    """Return what writes the inventory of a lab: checkout, name, first network."""
    folder, labs = tmp_path_factory.mktemp("checkouts"), list[SmallLab]()

    def write(checkout: str, name: str, network: int) -> SmallLab:
        labs.append(SmallLab(folder / checkout, name, network))
        return labs[-1]

    yield write
    for lab in labs:
        lab.remove()
        assert (lab.containers(), lab.networks()) == (set(), set())


@pytest.fixture(scope="module")
def first(make: Callable[[str, str, int], SmallLab]) -> SmallLab:
    """A lab that lives through all tests of a file."""
    lab = make("one", "test-first", NETWORK)
    lab.create()
    return lab
