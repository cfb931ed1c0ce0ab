"""Runs commands of Ansible as a user types them, each in a fork of a process that has loaded Ansible."""

import subprocess
from functools import cache
from pathlib import Path

from render.started import Started


def preflight(inventory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the first phase of preflight as a user does."""
    return playbook("preflight", inventory, "--tags", "model", *options)


def playbook(name: str, inventory: Path | None, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook as a user does, without an inventory where there is none; both outputs are in `stdout`."""
    given = ["-i", str(inventory)] if inventory else []
    return started().run(*given, f"playbooks/{name}.yml", *options)


def encrypt(password: Path, *files: Path) -> None:
    """Encrypt files with ansible-vault."""
    done = started().run("encrypt", "--vault-password-file", str(password), *map(str, files), command="vault")
    assert done.returncode == 0, done.stdout


@cache
def started() -> Started:
    """Return the loaded process."""
    return Started()
