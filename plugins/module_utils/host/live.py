"""What the service of a unit was told while it runs, besides its files; kept on its host, no Ansible import.

The process carries LIVE_DIGEST, of the settings that it was started with. What it was told after that is in no process,
and it may outlive it: a broker finds it in ZooKeeper when it starts anew. So the record is no matter of a boot, and
names each value that a run of ours may have set: whatever else is set is somebody else's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

FOLDER = "/var/lib/millrace"


@dataclass(frozen=True)
class Record:
    """What is known of one unit."""

    process: str = ""
    """systemd's InvocationID of the process that was told."""
    digest: str = ""
    """Of the settings that hold in this process since then; '' while a run is telling it."""
    told: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By name, the values that we may have set, and not taken back."""


@dataclass(frozen=True)
class Live:
    """How a process stands to what is declared."""

    differs: bool
    """It was neither started with it nor told it."""
    left: bool
    """It was started with it, and something that it was told earlier goes before that."""
    record: Record


def path(unit: str) -> str:
    """Return the file of a unit's record."""
    return f"{FOLDER}/live-{unit}.json"


def read(unit: str) -> Record:
    """Return what is known of a unit; nothing where there is no record, or none that can be read."""
    try:
        with open(path(unit), encoding="utf-8") as stream:
            found: dict[str, Any] = json.load(stream)
        return Record(str(found["process"]), str(found["digest"]), dict(found["told"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Record()


def write(unit: str, record: Record) -> None:
    """Keep a record, whole or not at all. Raises OSError."""
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    with open(f"{path(unit)}.new", "w", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(record), sort_keys=True) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(f"{path(unit)}.new", path(unit))


def judged(unit: str, process: str, begun: str, declared: str) -> Live:
    """Return how a process stands; `begun` is its LIVE_DIGEST, `declared` the one that is wanted."""
    record = read(unit)
    holds = record.digest if record.process == process else begun
    return Live(holds != declared, begun == declared and bool(record.told), record)


def begin(unit: str, record: Record, process: str, settings: Mapping[str, str | None]) -> None:
    """Note what is going to be told, before it is: whoever comes after an interruption knows it for ours."""
    told = {name: list(values) for name, values in record.told.items()}
    for name, value in settings.items():
        if value is not None and value not in told.get(name, []):
            told[name] = [*told.get(name, []), value]
    begun = Record(process, "", told)
    if begun != record:
        write(unit, begun)


def end(unit: str, process: str, digest: str, begun: str, told: Mapping[str, Sequence[str]]) -> None:
    """Note what a process was told; no record is kept of one that has all from its files."""
    if told or begun != digest:
        write(unit, Record(process, digest, told))
        return
    with suppress(FileNotFoundError):
        os.unlink(path(unit))
