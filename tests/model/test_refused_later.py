"""What a run, a JVM or a client refuses only after hosts were changed is said before, with the word that is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.mistakes.jobs import job
from model.test_meant import MEMORY, said


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        # The launcher makes -Xmx of it, and the JVM takes one letter.
        (job(spark={"spark.driver.memory": "2gb"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "2048MB"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "2G", "spark.driver.memoryOverhead": "512mb"}), []),
    ],
)  # fmt: skip
def test_of_the_lab(variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    """The mistake is said where it is made; what is meant is not said at all."""
    assert said(tmp_path, variables) == wanted
