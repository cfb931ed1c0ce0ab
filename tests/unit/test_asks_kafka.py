"""Libraries that ask Kafka are there before Ansible forks, and one that is broken ends no run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import asks_kafka

ACTION = "ansible_collections.millrace.kafka.plugins.action.kafka_gate"


def after_import(*folders: Path) -> str:
    """Return which libraries are loaded when an action is, by a Python that finds these folders first."""
    code = f"import sys, {ACTION}; print(*sorted(set({asks_kafka.LIBRARIES!r}) & set(sys.modules)))"
    path = os.pathsep.join(map(str, [*folders, *sys.path]))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_they_are_there() -> None:
    assert after_import().split() == sorted(asks_kafka.LIBRARIES)


@pytest.mark.parametrize("text", ["def send(async=True): pass", "raise AttributeError('no such thing')"])
def test_a_broken_one_is_left_to_the_module(tmp_path: Path, text: str) -> None:
    """As the package of another project, or of another Python."""
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "__init__.py").write_text(text)
    assert after_import(tmp_path).split() == ["confluent_kafka.admin"]
