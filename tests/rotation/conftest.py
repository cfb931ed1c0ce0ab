"""An operator, as in tests/operations, and a topic."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from faults.inventory import Inventory
from faults.lab import Lab
from faults.measured_again import pytest_runtest_call as pytest_runtest_call
from faults.measured_again import pytest_runtest_protocol as pytest_runtest_protocol
from operations.conftest import class_data_made, jobs_have_topics, operator
from rotation.load import PARTITIONS, Load

__all__ = ["class_data_made", "jobs_have_topics", "operator"]


@pytest.fixture
def topic(inventory: Inventory) -> Iterator[str]:
    """A topic of RF 3 and min ISR 2, deleted afterwards."""
    lab, name = Lab(inventory), f"rotation-{uuid.uuid4().hex[:8]}"
    lab.create_topic(name, partitions=PARTITIONS)
    yield name
    lab.delete_topic(name)


@pytest.fixture
def begin(inventory: Inventory, topic: str, tmp_path: Path) -> Iterator[Callable[[str], Load]]:
    """Begin a load of a name; where the test failed it is stopped here, and not in the next one."""
    with ExitStack() as running:
        yield lambda name: running.enter_context(Load(inventory, topic, tmp_path, name))
