"""Runs preflight as a user does."""

import os
import subprocess
import sys
from pathlib import Path

from model.mistakes.base import INVENTORIES


def preflight(inventory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the first phase of preflight as a user does."""
    return playbook("preflight", inventory, "--tags", "model", *options)


def playbook(name: str, inventory: Path | None, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook as a user does, without an inventory where there is none."""
    given = ["-i", str(inventory)] if inventory else []
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", *given, f"playbooks/{name}.yml", *options],
        capture_output=True,
        text=True,
        cwd=INVENTORIES.parent,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
    )
