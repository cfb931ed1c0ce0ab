"""Stores the record of a run in a file, so that an interrupted run can be resumed or reverted.

There is one file for each cluster and kind of run. A lock file beside it allows only one run on this host at a time to
move replicas of that cluster.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import Shift
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, record_schema
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

MOVES, SHIFTS, DISK = record_schema.KINDS
FOLDER = "~/.local/state/millrace"
LOOK, LOOKS = 0.05, 100
"""Seconds between two attempts to take the lock; number of attempts while other processes only check the lock."""
PATIENCE = 60.0
"""Seconds that another run may take to plan, or to set or remove throttles; each of these asks every broker."""


@dataclass(frozen=True)
class Record:
    """A run that was started and has not ended, as stored in a JSON file; the fields are the keys of the file."""

    asked: str
    """The request as on the command line."""
    leaving: tuple[int, ...]
    """Brokers to empty, which may be down."""
    rate: int | None
    """Bytes a second that a broker may send and receive for the run; None without a limit."""
    moves: tuple[Move, ...]
    lists: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By topic and setting, the throttled replicas that this run, or another run, added; not those of other tools."""
    rates: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """By broker and setting, the rate before this run and other unfinished runs, None if there was none."""
    used: tuple[int, ...] = ()
    """The rates that this run has set; any other rate at its end was set by another tool."""
    topics: tuple[str, ...] = ()
    """The topics of the request; all topics if none is named."""
    back: bool = False
    """Whether this run reverts another one."""
    shifts: tuple[Shift, ...] = ()
    """Replicas that move to another log dir of their broker; then there are no moves."""
    factors: Mapping[str, int] = field(default_factory=dict)
    """By topic, its declared number of replicas, if the request was `declared`."""
    timer: bool = False
    """Whether the timer started the run, or resumed it last. The timer resumes no run that a person started."""
    lost: tuple[str, ...] = ()
    """Partitions, as topic-0, whose records are given up with a disk; empty once the broker uses the new disk."""
    kind: str = MOVES
    """The kind of run: MOVES, SHIFTS or DISK, whatever moves are left."""
    fewer_racks: bool = False
    """Whether partitions may be in fewer racks afterwards."""
    broker: int | None = None
    """The broker whose disk is replaced, in a run of kind DISK."""
    empties: bool = False
    """Whether the source log dirs of the shifts are to be emptied."""

    @property
    def typed(self) -> str:
        """Return the options with which a user's command resumes this run, as `-e drain=3 -e rate=50MB`."""
        words = self.asked.split(" ")
        words += [f"lost={','.join(self.lost)}"] if self.lost else []
        words += ["fewer_racks=true"] if self.fewer_racks else []
        words += [] if self.back else [f"rate={amounts.typed(self.rate)}"]
        return " ".join(f"-e {one}" for one in words)

    def reversed(self, moves: tuple[Move, ...]) -> Record:
        """Return the record of a cancel that reverses `moves`: each partition returns to its brokers before the run."""
        turned = tuple(replace(one, before=one.after, after=one.before) for one in moves)
        none: dict[str, Any] = {"leaving": (), "factors": {}, "timer": False, "fewer_racks": False}
        return replace(self, asked="cancel=true", moves=turned, back=True, **none)


def path_of(cluster_id: str, folder: str = FOLDER, kind: str = MOVES) -> Path:
    """Return the path of the record file of a run of this `kind` on the cluster with this id."""
    return Path(folder).expanduser() / f"{kind}-{cluster_id}.json"


def beside(path: Path) -> list[Record]:
    """Return the records of other kinds of runs on the same cluster; `path` is the record file of this run.

    Raises ValueError with the file's name if a record is damaged, OSError if a file cannot be read.
    """
    records = []
    for other in sorted(path.parent.glob(f"*-{path.name.partition('-')[2]}")):
        try:
            records += [record] if other != path and (record := load(other)) else []
        except ValueError as error:
            raise ValueError(f"beside it, {other.name}: {error}") from error
    return records


@contextmanager
def limits(path: Path) -> Iterator[list[Record]]:
    """Context manager: hold a lock, so that no other run on this host changes throttles; yield the other runs' records.

    Without this lock, two runs that end at the same time would each leave throttles set, because the other run still
    seems to need them. Raises Refused if another run does not release the lock within PATIENCE seconds, ValueError if a
    record is damaged, OSError if a file cannot be read or written.
    """
    lock = path.with_name(f"limits-{path.name.partition('-')[2]}")
    with alone(lock, "a run that sets or removes throttles", wait=PATIENCE):
        yield beside(path)


def load(path: Path) -> Record | None:
    """Read a record; return None if there is no file, because no run was started or the last one has ended.

    Raises ValueError if the content is damaged or of another version, OSError if the file cannot be read.
    """
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        faults = record_schema.faults(fields)
    except FileNotFoundError:
        return None
    except RecursionError:
        faults = "nested too deeply to be read"
    if faults:
        raise ValueError(f"damaged, or written by another version: {faults}")
    fields = {**missing_fields(fields), **fields}
    moves = (Move(t, n, tuple(before), tuple(after), size) for t, n, before, after, size in fields.pop("moves"))
    shifts = tuple(Shift(**one) for one in fields.pop("shifts", ()))
    lists: dict[str, Any] = {name: tuple(fields.get(name, ())) for name in ("used", "topics", "lost")}
    return Record(**{**fields, **lists, "moves": tuple(moves), "shifts": shifts, "leaving": tuple(fields["leaving"])})


def missing_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return {field: value} for the fields that the previous version did not store, derived from the run's request."""
    asked = fields["asked"]
    disk = re.match(r"broker=(\d+) ", asked)
    kind = DISK if disk else SHIFTS if fields.get("shifts") else MOVES
    empties = kind == SHIFTS and asked.startswith(("empty=", "disk="))
    return {"kind": kind, "broker": int(disk[1]) if disk else None, "empties": empties}


def save(path: Path, record: Record) -> None:
    """Write the record atomically, readable by its owner alone. Raises OSError if that fails.

    The folder is synced as well: the file has to survive a power failure, because throttles are set next.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    moves = [(one.topic, one.number, one.before, one.after, one.size) for one in record.moves]
    half = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({**asdict(replace(record, moves=())), "moves": moves}, file)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system does not support syncing a folder
            raise
    finally:
        os.close(folder)


@contextmanager
def alone(path: Path, who: str, look: bool = False, wait: float = 0) -> Iterator[None]:
    """Context manager: lock the record, so that no other run on this host moves replicas of its cluster meanwhile.

    The lock ends with the process. With `look`, the lock is only checked: no file is created, and other runs may start.
    `who` names this run in error messages of other runs. If another run holds the lock, wait for up to `wait` seconds,
    then raise Refused with its name. Raises OSError if the lock file cannot be opened.
    """
    lock = path.with_suffix(".lock")
    if look:
        with suppress(FileNotFoundError):
            _check(os.open(lock, os.O_RDONLY))
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    held = _locked(lock, wait)
    try:
        os.ftruncate(held, 0)
        os.pwrite(held, f"{who}, pid {os.getpid()}".encode(), 0)
        yield
    finally:
        os.ftruncate(held, 0)  # a process that has it open reads no name of a run that has ended
        with suppress(FileNotFoundError):
            lock.unlink()
        os.close(held)


def _locked(lock: Path, wait: float) -> int:
    """Lock the file and return its descriptor.

    Raises Refused if another process holds the lock for `wait` seconds, OSError if the file cannot be opened.
    """
    attempts = round(wait / LOOK)
    for attempt in range(attempts + LOOKS):
        held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # the previous holder removes the file
                if os.path.samestat(os.stat(lock), os.fstat(held)):
                    return held
        except BlockingIOError:
            try:
                _check(held)
            except Refused:
                if attempt >= attempts:
                    raise
            waits.rest(LOOK)
        else:
            os.close(held)
    raise Refused(f"another process keeps {lock} locked: end the process that has it open; nothing was changed")


def _check(held: int) -> None:
    """Check that no run holds the lock of this open file (descriptor `held`), and close the descriptor.

    Raises Refused with the name of the run that holds the lock, OSError if the lock cannot be read.
    """
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(held, 200, 0).decode(errors="replace") or "another run"
        raise Refused(
            f"{who}, is moving replicas of this cluster: wait until it has ended, or stop it; nothing was changed"
        ) from None
    finally:
        os.close(held)
