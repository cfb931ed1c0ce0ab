"""Real runs of ansible-playbook without hosts: of those that would change them, the second ends before it does."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from render.site import ROOT, control_node, make_archives, run_playbooks

INVENTORY = ROOT / "inventories" / "lab"
# What a playbook that changes hosts does, and in place of its layers something that waits.
CHANGES = """
- ansible.builtin.import_playbook: millrace.kafka.preflight
  vars: {preflight_changes: true}
  tags: always
- hosts: localhost
  tags: [config]
  tasks:
    - ansible.builtin.file: {path: "{{ folder }}/begun", state: touch, mode: "0644"}
      when: not ansible_check_mode
    - ansible.builtin.wait_for: {path: "{{ folder }}/go", timeout: 900, sleep: 1}
      when: not ansible_check_mode
"""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Return variables of a site whose locks are in a folder of the test; no run outlives it."""
    make_archives(tmp_path / "archives")
    (tmp_path / "locks").mkdir()
    (tmp_path / "changes.yml").write_text(CHANGES)
    yield {
        **control_node(INVENTORY, tmp_path),
        "run_lock_directory": str(tmp_path / "locks"),
        "folder": str(tmp_path),
    }
    (tmp_path / "go").touch()


def test_of_two_runs_the_second_ends_at_once(settings: dict[str, Any], tmp_path: Path) -> None:
    """The lock outlives the task that took it; runs that change nothing do not wait; afterwards it is free.

    The second run is a playbook of the project.
    """

    def run(*options: str, playbook: str = str(tmp_path / "changes.yml")) -> subprocess.CompletedProcess[str]:
        return run_playbooks(INVENTORY, [playbook], "-e", json.dumps(settings), *options)

    with ThreadPoolExecutor() as pool:
        first = pool.submit(run)
        while not (tmp_path / "begun").exists():
            assert not first.done(), first.result().stdout
            time.sleep(0.1)
        second = run(playbook="playbooks/kafka.yml")
        (words,) = {path.read_text() for path in (tmp_path / "locks").iterdir()}
        for options in (("--check",), ("--tags", "model,hosts")):
            let_through = run(*options)
            assert let_through.returncode == 0, let_through.stdout
        assert not first.done()
        (tmp_path / "go").touch()
        assert first.result().returncode == 0, first.result().stdout
    assert second.returncode != 0
    assert "1 mistake, listed above; no host was changed" in second.stdout
    assert re.search(rf"RUN_LOCKED .* pid {json.loads(words)['pid']}: .*changes\.yml", second.stdout), second.stdout
    assert "TASK [Probe the host]" not in second.stdout
    assert run().returncode == 0


def test_a_folder_that_is_not_there_is_said(settings: dict[str, Any], tmp_path: Path) -> None:
    done = run_playbooks(
        INVENTORY,
        [str(tmp_path / "changes.yml")],
        "-e",
        json.dumps({**settings, "run_lock_directory": "/nowhere", "preflight_output": "json"}),
    )
    assert done.returncode != 0
    assert '"code": "LOCK_FOLDER"' in done.stdout
    assert not (tmp_path / "begun").exists()


def test_who_locks() -> None:
    """Every playbook that an operator runs, but for those that write no file of a host."""
    unlocked = set()
    for path in (ROOT / "playbooks").glob("*.yml"):
        plays = yaml.safe_load(path.read_text())
        preflight = [play for play in plays if play.get("ansible.builtin.import_playbook") == "preflight.yml"]
        assert all(play["tags"] == "always" for play in preflight), path.stem
        if not any(play.get("vars", {}).get("preflight_changes") is True for play in preflight):
            unlocked.add(path.stem)
    assert unlocked == {"check", "disaster", "preflight", "export", "topic", "gate", "logs", "log_level", "support"}
