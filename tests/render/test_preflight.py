"""Preflight on the project's own inventories: both phases pass, on hosts that are as declared."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from render.conftest import INVENTORIES
from render.site import ROOT, control_node, make_archives, run_playbooks

Answer = CompletedProcess[str]


@pytest.fixture(scope="module")
def preflight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Answer]]:
    """Return what preflight says of an inventory, by its name; two runs at a time."""
    base, started = tmp_path_factory.mktemp("preflight"), dict[str, Future[Answer]]()
    make_archives(base / "archives")
    with ThreadPoolExecutor(2) as pool:

        def result(name: str) -> Answer:
            if not started:
                for run in INVENTORIES:
                    inventory = ROOT / "inventories" / run
                    settings = json.dumps(control_node(inventory, base))
                    started[run] = pool.submit(run_playbooks, inventory, ["playbooks/preflight.yml"], "-e", settings)
            return started[name].result()

        yield result


@pytest.mark.parametrize("name", INVENTORIES)
def test_no_mistake(name: str, preflight: Callable[[str], Answer]) -> None:
    done = preflight(name)
    assert done.returncode == 0, done.stdout
    assert "TASK [Probe the host]" in done.stdout
    assert "TASK [Check the hosts]" in done.stdout
    assert "mistake;" not in done.stdout


def test_nothing_is_rotated_in_the_clear(tmp_path: Path) -> None:
    """One sentence, and no task after it."""
    make_archives(tmp_path / "archives")
    inventory = ROOT / "inventories" / "lab"
    settings = json.dumps({**control_node(inventory, tmp_path), "security_profile": "plaintext"})
    done = run_playbooks(inventory, ["playbooks/rotate_certificates.yml"], "-e", settings)
    assert done.returncode != 0
    assert "nothing to rotate: security_profile is plaintext" in " ".join(done.stdout.split())
    assert "TASK [Wait until the ensemble is whole]" not in done.stdout
    assert "Traceback" not in done.stdout
