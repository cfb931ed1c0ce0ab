"""What a run of moves has to know when it was interrupted: a file of whom runs it, one for each cluster."""

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
"""Seconds after which who wants to move tries again while others look, who are done at once, and how often he does."""
PATIENCE = 60.0
"""Seconds for which somebody may plan, set limits, or take them back: each broker is asked for it."""


@dataclass(frozen=True)
class Record:
    """A plan that was begun."""

    asked: str
    """What was asked for, in the words of the command line."""
    leaving: tuple[int, ...]
    """Brokers that are to hold nothing: they may be dead."""
    rate: int | None
    """Bytes a second that a broker may send and take for it; None without a limit."""
    moves: tuple[Move, ...]
    lists: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By topic and setting, the throttled replicas that this plan, or another run, put in; what others did is not."""
    rates: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """By broker and setting, the rate that was there before this plan and other runs, None where there was none."""
    used: tuple[int, ...] = ()
    """The rates that this plan has set; another one that is there at its end is somebody else's."""
    topics: tuple[str, ...] = ()
    """Those that it is about; all where none is named."""
    back: bool = False
    """Whether this puts back what another plan moved."""
    shifts: tuple[Shift, ...] = ()
    """Replicas that go to another log dir of their broker; then there are no moves."""
    factors: Mapping[str, int] = field(default_factory=dict)
    """By topic, how many replicas it was declared to have, where that is what was asked for."""
    timer: bool = False
    """Whether a timer began it, or went on with it last: it goes on with no run of a person."""
    lost: tuple[str, ...] = ()
    """Partitions whose records are given up with a disk, as topic-0, until its broker has taken the new one in."""
    kind: str = MOVES
    """Who carries it out: one of MOVES, SHIFTS, DISK, whatever is left of it."""
    fewer_racks: bool = False
    """Whether partitions may be in fewer racks afterwards."""
    broker: int | None = None
    """Whose disk it is, of that kind."""
    empties: bool = False
    """Whether the log dirs that shifts leave are to hold nothing."""

    @property
    def typed(self) -> str:
        """Return the options of a command line that go on with it; a cancel needs no rate."""
        words = self.asked.split(" ")
        words += [f"lost={','.join(self.lost)}"] if self.lost else []
        words += ["fewer_racks=true"] if self.fewer_racks else []
        words += [] if self.back else [f"rate={amounts.typed(self.rate)}"]
        return " ".join(f"-e {one}" for one in words)

    def reversed(self, moves: tuple[Move, ...]) -> Record:
        """Return what puts these moves of it back."""
        turned = tuple(replace(one, before=one.after, after=one.before) for one in moves)
        none: dict[str, Any] = {"leaving": (), "factors": {}, "timer": False, "fewer_racks": False}
        return replace(self, asked="cancel=true", moves=turned, back=True, **none)


def path_of(cluster_id: str, folder: str = FOLDER, kind: str = MOVES) -> Path:
    """Return where the record of a cluster is."""
    return Path(folder).expanduser() / f"{kind}-{cluster_id}.json"


def beside(path: Path) -> list[Record]:
    """Return the records of the same cluster's runs of other kinds. Raises ValueError, which names one, OSError."""
    found = []
    for other in sorted(path.parent.glob(f"*-{path.name.partition('-')[2]}")):
        try:
            found += [one] if other != path and (one := load(other)) else []
        except ValueError as error:
            raise ValueError(f"beside it, {other.name}: {error}") from error
    return found


@contextmanager
def limits(path: Path) -> Iterator[list[Record]]:
    """Yield the same while nobody else of this host sets or takes back limits.

    Of two that ended at once each would leave its own for the other. Raises Refused where somebody does not come to an
    end, ValueError, OSError.
    """
    with alone(path.with_name(f"limits-{path.name.partition('-')[2]}"), "who sets or takes back limits", wait=PATIENCE):
        yield beside(path)


def load(path: Path) -> Record | None:
    """Return the record; None where no plan was begun, or it was brought to its end. Raises ValueError, OSError."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        wrong = record_schema.wrong(found)
    except FileNotFoundError:
        return None
    except RecursionError:
        wrong = "brackets in brackets, more than can be read"
    if wrong:
        raise ValueError(f"it is damaged, or not one of this version: {wrong}")
    found = {**older(found), **found}
    moves = (Move(t, n, tuple(before), tuple(after), size) for t, n, before, after, size in found.pop("moves"))
    shifts = tuple(Shift(**one) for one in found.pop("shifts", ()))
    ids: dict[str, Any] = {name: tuple(found.get(name, ())) for name in ("used", "topics", "lost")}
    return Record(**{**found, **ids, "moves": tuple(moves), "shifts": shifts, "leaving": tuple(found["leaving"])})


def older(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record of the version before says by the words of the request alone."""
    asked = found["asked"]
    disk = re.match(r"broker=(\d+) ", asked)
    kind = DISK if disk else SHIFTS if found.get("shifts") else MOVES
    empties = kind == SHIFTS and asked.startswith(("empty=", "disk="))
    return {"kind": kind, "broker": int(disk[1]) if disk else None, "empties": empties}


def save(path: Path, record: Record) -> None:
    """Write the record, whole or not at all, so that nobody else can read it. Raises OSError.

    Limits are set next: its name, too, has to outlive a power cut.
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
        if error.errno != errno.EINVAL:  # a file system that knows no such thing
            raise
    finally:
        os.close(folder)


@contextmanager
def alone(path: Path, who: str, look: bool = False, wait: float = 0) -> Iterator[None]:
    """Keep all others of this host from moving replicas of the record's cluster; it ends with the process, too.

    Who only wants to `look` keeps nobody off, and makes no file. Raises Refused, which names who moves them now, and
    has not ended within `wait` seconds, OSError.
    """
    lock = path.with_suffix(".lock")
    if look:
        with suppress(FileNotFoundError):
            _looked(os.open(lock, os.O_RDONLY))
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    held = _locked(lock, wait)
    try:
        os.ftruncate(held, 0)
        os.pwrite(held, f"{who}, pid {os.getpid()}".encode(), 0)
        yield
    finally:
        os.ftruncate(held, 0)  # who has opened it reads no name of one that has ended
        with suppress(FileNotFoundError):
            lock.unlink()
        os.close(held)


def _locked(lock: Path, wait: float) -> int:
    """Return the descriptor of a file that is locked now. Raises Refused, OSError."""
    patient = round(wait / LOOK)
    for turn in range(patient + LOOKS):
        held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # who had it before takes the file away
                if os.path.samestat(os.stat(lock), os.fstat(held)):
                    return held
        except BlockingIOError:
            try:
                _looked(held)
            except Refused:
                if turn >= patient:
                    raise
            waits.rest(LOOK)
        else:
            os.close(held)
    raise Refused(f"somebody looks at {lock} and does not end: end the process that has it open; nothing was done")


def _looked(held: int) -> None:
    """Close a lock's file, which others may look at meanwhile. Raises Refused, which names who holds it, OSError."""
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(held, 200, 0).decode(errors="replace") or "another run"
        raise Refused(
            f"{who}, is moving replicas of this cluster: wait until that has ended, or end it there; nothing was done"
        ) from None
    finally:
        os.close(held)
