"""Records the dynamic settings that a unit's process has received, on its host.

The process has LIVE_DIGEST in its environment, the digest of the settings with which it was started. Settings that it
received later may outlive the process: a broker finds them in ZooKeeper when it starts again. So the record survives a
reboot, and lists each value that a run of this project may have set; any other value was set by another program.
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
    """The record of one unit."""

    process: str = ""
    """systemd's InvocationID of the process that received settings."""
    digest: str = ""
    """The digest of the settings in force in this process since then; '' while a run is writing them."""
    told: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By name, the values that this project may have set and not removed."""


@dataclass(frozen=True)
class Live:
    """The comparison of a process with the declared settings."""

    differs: bool
    """Whether it was neither started with them nor has received them."""
    left: bool
    """Whether it was started with them, and settings that it received earlier override them."""
    record: Record


def path(unit: str) -> str:
    """Return the file of a unit's record."""
    return f"{FOLDER}/live-{unit}.json"


def read(unit: str) -> Record:
    """Return the record of a unit, empty if there is none, or none that can be read."""
    try:
        with open(path(unit), encoding="utf-8") as stream:
            fields: dict[str, Any] = json.load(stream)
        return Record(str(fields["process"]), str(fields["digest"]), dict(fields["told"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Record()


def write(unit: str, record: Record) -> None:
    """Write a record atomically. Raises OSError."""
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    with open(f"{path(unit)}.new", "w", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(record), sort_keys=True) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(f"{path(unit)}.new", path(unit))


def judged(unit: str, process: str, begun: str, declared: str) -> Live:
    """Compare a process with the declared settings; `begun` is its LIVE_DIGEST, `declared` the digest to reach."""
    record = read(unit)
    holds = record.digest if record.process == process else begun
    return Live(holds != declared, begun == declared and bool(record.told), record)


def begin(unit: str, record: Record, process: str, settings: Mapping[str, str | None]) -> None:
    """Record the values before they are written, so that a run after an interruption knows who set them."""
    told = {name: list(values) for name, values in record.told.items()}
    for name, value in settings.items():
        if value is not None and value not in told.get(name, []):
            told[name] = [*told.get(name, []), value]
    begun = Record(process, "", told)
    if begun != record:
        write(unit, begun)


def end(unit: str, process: str, digest: str, begun: str, told: Mapping[str, Sequence[str]]) -> None:
    """Record the values that a process has received; without any, and if it was started with all, delete the record."""
    if told or begun != digest:
        write(unit, Record(process, digest, told))
        return
    with suppress(FileNotFoundError):
        os.unlink(path(unit))
