"""Stores in a file of the host which dynamic settings the process of a systemd unit has received.

The process has an environment variable LIVE_DIGEST: the digest of the settings with which the process was started.
Settings received later may outlive the process: a broker reads them from ZooKeeper when it starts again. So the file
survives a reboot. The file lists each value that a run of this project may have set; any other value was set by another
program.
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
    """The dynamic settings that this project has sent to the process of one unit, as stored in a JSON file."""

    process: str = ""
    """systemd's InvocationID of the process that received settings."""
    digest: str = ""
    """The digest of the settings that this process received last; '' while a run is still sending settings."""
    told: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By setting, the values that this project may have set and has not removed."""


@dataclass(frozen=True)
class Live:
    """Whether the dynamic settings of a process differ from the declared settings."""

    differs: bool
    """Whether the settings that the process received last, or was started with, differ from the declared ones."""
    left: bool
    """Whether values that earlier runs have set override the declared settings with which the process was started."""
    record: Record


def path(unit: str) -> str:
    """Return the path of the unit's record file."""
    return f"{FOLDER}/live-{unit}.json"


def read(unit: str) -> Record:
    """Return the record of the unit; an empty Record if the file is missing or damaged."""
    try:
        with open(path(unit), encoding="utf-8") as stream:
            fields: dict[str, Any] = json.load(stream)
        return Record(str(fields["process"]), str(fields["digest"]), dict(fields["told"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Record()


def write(unit: str, record: Record) -> None:
    """Write the record of the unit atomically. Raises OSError if that fails."""
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    with open(f"{path(unit)}.new", "w", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(record), sort_keys=True) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(f"{path(unit)}.new", path(unit))


def judged(unit: str, process: str, begun: str, declared: str) -> Live:
    """Return how the dynamic settings of a unit's process differ from the declared settings.

    `process` is the InvocationID of the process, `begun` the digest of the settings with which it was started, and
    `declared` the digest of the declared settings.
    """
    record = read(unit)
    holds = record.digest if record.process == process else begun
    return Live(holds != declared, begun == declared and bool(record.told), record)


def begin(unit: str, record: Record, process: str, settings: Mapping[str, str | None]) -> None:
    """Store the values in `settings` before the process receives them, so that the next run knows who set them.

    `record` is the present record of the unit, `process` the InvocationID of the process. A value of None means that
    the setting is deleted. Raises OSError if the record file cannot be written.
    """
    told = {name: list(values) for name, values in record.told.items()}
    for name, value in settings.items():
        if value is not None and value not in told.get(name, []):
            told[name] = [*told.get(name, []), value]
    begun = Record(process, "", told)
    if begun != record:
        write(unit, begun)


def end(unit: str, process: str, digest: str, begun: str, told: Mapping[str, Sequence[str]]) -> None:
    """Store that the process with the InvocationID `process` has received the settings with the digest `digest`.

    `told` maps each setting to the values that this project may have set. The record file is deleted instead if `told`
    is empty and the process was started with the same digest (`begun`). Raises OSError if the file cannot be written.
    """
    if told or begun != digest:
        write(unit, Record(process, digest, told))
        return
    with suppress(FileNotFoundError):
        os.unlink(path(unit))
