"""The script that restarts a worker of MirrorMaker with a failed task, among pretended systemctl and journalctl."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "roles" / "mirror_maker" / "templates" / "restart-failed.sh.j2"
FAILED = "ERROR WorkerTask Task is being killed and will not recover until manually restarted"
RESTART = "restarting mirror-maker.service: x"
SYSTEMCTL = """case "$*" in
  *ActiveState*) echo "$STATE" ;;
  *InvocationID*) echo "process$(wc -l <asked)"; [ -z "$CHANGES" ] || echo >>asked ;;
  *) echo "$*" >>done ;;
esac
"""
JOURNALCTL = """case "$*" in
  *--unit=mirror-maker-tasks.service*) printf '%s' "$RESTARTS" ;;
  *_SYSTEMD_INVOCATION_ID=process0*) [ -z "$BROKEN" ] || exit 1; printf '%s' "$LOG" ;;
esac
"""


@pytest.mark.parametrize(
    ("given", "code", "restarted"),
    [
        ({"LOG": f"INFO a\n{FAILED}\nINFO b\n"}, 0, True),
        ({"LOG": "INFO a\n"}, 0, False),
        ({"LOG": ""}, 0, False),
        ({"LOG": FAILED, "STATE": "inactive"}, 0, False),
        ({"LOG": FAILED, "CHANGES": "yes"}, 0, False),
        ({"LOG": FAILED, "BROKEN": "yes"}, 1, False),
        ({"LOG": FAILED, "RESTARTS": f"{RESTART}\n{RESTART}\n"}, 0, True),
        ({"LOG": FAILED, "RESTARTS": f"{RESTART}\n{RESTART}\n{RESTART}\n"}, 1, False),
    ],
    ids=["failed", "healthy", "new", "stopped", "restarted meanwhile", "no journal", "third", "fourth"],
)
def test_a_worker_is_restarted(given: dict[str, str], code: int, restarted: bool, tmp_path: Path) -> None:
    """Only if a task of the process that runs has failed, and at most three times an hour."""
    for name, text in (("systemctl", SYSTEMCTL), ("journalctl", JOURNALCTL)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "asked").touch()
    names = dict.fromkeys(("LOG", "BROKEN", "CHANGES", "RESTARTS"), "")
    environment = {**names, "STATE": "active", **given, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True)
    calls = (tmp_path / "done").read_text() if (tmp_path / "done").exists() else ""
    assert (done.returncode, calls) == (code, "try-restart mirror-maker.service\n" if restarted else ""), done
