"""The containers that are the lab's hosts."""

import os
import subprocess

from .inventory import ROOT


def podman(*arguments: str) -> list[str]:
    """Run podman as the lab does; return its lines."""
    environment = {**os.environ, "CONTAINERS_CONF": str(ROOT / "lab" / "podman.conf")}
    done = subprocess.run(["podman", *arguments], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
