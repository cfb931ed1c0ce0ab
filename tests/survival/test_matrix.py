"""Each row of the fault matrix that needs several datacenters, under load."""

from collections.abc import Callable
from pathlib import Path

import pytest
from faults.endure import judge

from .matrix import ROWS
from .rows import topic_of
from .stretched import Stretched

pytestmark = [pytest.mark.campaign, pytest.mark.timed]


def test_rows(stretched: Stretched, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config) -> None:
    """Nothing acknowledged is missing or double, and both times are within the promise."""
    folder, failed = pytestconfig.getoption("--survival-record"), list[str]()
    for row in ROWS[stretched.name]:
        topic = topic_of(stretched)  # each row writes the same keys
        try:
            judge(stretched.lab, topic, tmp_path / row.number, row, folder and folder / "faults.json", note)
        except AssertionError as error:
            failed.append(f"{row.number}: {error}")
            stretched.whole()
    assert not failed, "\n".join(failed)
