"""What tests against running hosts share: the option --inventory and the inventory that it names."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.inventory import ROOT, Inventory, load


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which hosts to test."""
    default = ROOT / "inventories" / "lab"
    parser.addoption("--inventory", type=Path, default=default, metavar="DIR", help="the hosts to test (inventories/lab)")


@pytest.fixture(scope="session")
def inventory(pytestconfig: pytest.Config) -> Iterator[Inventory]:
    """The inventory that --inventory names."""
    loaded = load(pytestconfig.getoption("--inventory").resolve())
    yield loaded
    loaded.close()
