"""What the session refuses before it starts a JVM."""

from pathlib import Path

import pytest
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.session import build

from .helpers import files_config


@pytest.mark.parametrize("name", ["empty", "nowhere"])
def test_a_jars_directory_without_jars_is_refused(tmp_path: Path, name: str) -> None:
    """Spark itself would only say later that it does not know Kafka."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README").write_text("no jar")
    config = parse("count_words", {**files_config(tmp_path), "jars_directory": str(tmp_path / name)})
    with pytest.raises(JobError, match=rf"^jars_directory: {tmp_path / name} holds no \*\.jar; "):
        build(config)
