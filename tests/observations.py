"""Files of docs/seen: what runs of tests have seen of running clusters. The pages of docs/ show it."""

import hashlib
import json
import os
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import BOTH, REPLICATION, Layout


def read(file: Path) -> dict[str, Any]:
    """Return what a file says, {} where there is none. Raises ValueError, which names it, where it is damaged."""
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}; take it back from git, or remove it") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file} is damaged: it is no JSON object; take it back from git, or remove it")
    return found


def write(file: Path, text: str) -> None:
    """Put a text in the place of what a file said, wholly or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def given_file(text: str) -> Path:
    """Return the file that an option names, which may be made; what cannot be added to is refused before the run."""
    file = Path(text)
    try:
        read(file)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(str(error)) from error
    return file


def given_folder(text: str) -> Path:
    """Return the folder that an option names, as `given_file` a file."""
    folder = Path(text)
    for file in folder.glob("*.json"):
        given_file(str(file))
    return folder


def digest(layout: Layout) -> str:
    """Return a name of the facts that a survival table is computed from: what was seen of others is not of it."""
    facts = asdict(layout)
    for server in facts["servers"]:
        connects_to = server.pop("connects_to")
        if connects_to is not None:  # most layouts leave it out, and `told` is its name in digests that were written
            server["told"] = connects_to
    # Digests that were written have one flag instead of the networks of each server.
    inner = [server.pop("networks") for server in facts["servers"] if server["function"] == "zookeeper"]
    outer = [server.pop("networks") for server in facts["servers"] if server["function"] != "zookeeper"]
    facts["quorum_on_both_networks"] = bool(inner) and all(networks == BOTH for networks in inner)
    if layout.one_network or any(networks != {REPLICATION} for networks in outer):
        facts["networks"] = [*inner, *outer]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=sorted).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """Writes what a run has seen of a layout into its file; what other runs have seen there stays."""

    folder: Path | None
    """None: nothing is written."""
    seed: int

    def keep(self, name: str, layout: Layout, run: str, seen: Sequence[Mapping[str, str | bool]], planned: int) -> None:
        """Replace what the run saw before; `planned` failures were to be made, all of which are seen but in a bad run.

        What was seen of another layout of this name goes.
        """
        if self.folder is None:
            return
        file = self.folder / f"{name}.json"
        runs = of_layout(read(file), layout)
        runs[run] = {
            "layout": digest(layout),
            "seed": self.seed,
            "failures": planned,
            "seen": sorted(seen, key=lambda one: (one["failure"], one["how"])),
        }
        text = ",\n".join(f'"{name}": {_lines(one)}' for name, one in sorted(runs.items()))
        write(file, f"{{\n{text}\n}}\n")


def of_layout(runs: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Return those runs that saw this layout."""
    return {name: run for name, run in runs.items() if run["layout"] == digest(layout)}


def _lines(run: Mapping[str, Any]) -> str:
    head = json.dumps({name: value for name, value in run.items() if name != "seen"})
    rows = ",\n".join(f"  {json.dumps(one)}" for one in run["seen"])
    return f'{head[:-1]}, "seen": [\n{rows}\n]}}'
