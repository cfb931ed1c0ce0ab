"""Bytecode of the collection: one start of Ansible leaves it for the next."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def kept(cache: Path) -> dict[str, Path]:
    """Start ansible-inventory with its bytecode in a folder; return the collection's files there by their names."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        ["ansible-inventory", "-i", "inventories/lab", "--list"],
        cwd=ROOT,
        env={**environment, "PYTHONPYCACHEPREFIX": str(cache)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return {path.name.split(".")[0]: path for path in cache.rglob("millrace/kafka/plugins/plugin_utils/*.pyc")}


def test_a_start_leaves_bytecode_for_the_next(tmp_path: Path) -> None:
    """Where Python keeps that of all other modules; what a full disk left of it stops nobody."""
    files = kept(tmp_path)
    assert {"group_layers", "variable_files"} <= files.keys()
    for path in files.values():
        path.write_bytes(path.read_bytes()[:100])
    assert kept(tmp_path) == files
