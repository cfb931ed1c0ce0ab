"""Bytecode of the collection: one start of Ansible leaves it for the next."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_start_leaves_bytecode_for_the_next(tmp_path: Path) -> None:
    """Where Python keeps that of all other modules."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        ["ansible-inventory", "-i", "inventories/lab", "--list"],
        cwd=ROOT,
        env={**environment, "PYTHONPYCACHEPREFIX": str(tmp_path)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    kept = {path.name.split(".")[0] for path in tmp_path.rglob("millrace/kafka/plugins/plugin_utils/*.pyc")}
    assert {"group_layers", "variable_files"} <= kept
