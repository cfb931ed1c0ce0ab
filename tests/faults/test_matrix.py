"""Each row of the fault matrix, under load: what is promised of it, and what it took."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .endure import judge
from .lab import Lab
from .matrix import ROWS, Row

pytestmark = [pytest.mark.campaign, pytest.mark.timed]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take the rows that --faults-rows names, all without."""
    named = [word for word in metafunc.config.getoption("--faults-rows").split(",") if word]
    numbers = [row.number for row in ROWS]
    if unknown := [word for word in named if word not in numbers]:
        raise pytest.UsageError(f"no row {', '.join(unknown)} in the fault matrix; there are {', '.join(numbers)}")
    rows = [row for row in ROWS if row.number in (named or numbers)]
    metafunc.parametrize("row", rows, ids=[row.number for row in rows])


def test_row(
    row: Row, lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config
) -> None:
    """Nothing acknowledged is missing or double, and both times are within the promise."""
    judge(lab, topic, tmp_path, row, pytestconfig.getoption("--faults-record"), note)
