"""Plans shifts between log dirs, carries them out, goes on where another run stopped, puts them back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import shifting, shifts
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import named
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifting import Run
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import DiskWish, Shift
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import NAMED, Work, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import SHIFTS, Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.resume import MENDED
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import (
    Result,
    carry_on,
    progress,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

BEGUN = ", and copies that it had begun go on once it is back"


def prepare(
    request: Asked, brokers: Collection[int], topics: Collection[str], begun: Record | None, admin: Admin
) -> Work | None:
    """Return what is to be done, None where there is nothing. Raises Refused, AdminError."""
    wish = request.within or DiskWish()
    asked = {shift.broker for shift in begun.shifts} if begun else {*wish.brokers}
    dirs = log_dirs(admin, sorted(asked & {*brokers}))
    if begun and request.cancel and not begun.back:
        back = replace(begun, asked="cancel=true", back=True, empties=False, shifts=tuple(map(_turned, begun.shifts)))
        return gone_on(request, back, dirs, f"{begun.asked} is put back")
    if begun:
        now = shifting.standing(begun, dirs)
        if begun.asked != request.words:
            raise Refused(
                f"an earlier run, {begun.asked}, was interrupted, or is still at it, with {len(now.done)} of "
                f"{len(begun.shifts)} replicas moved: once nobody is at it, run that again first "
                f"({begun.typed}), or -e cancel=true, which puts back what it moved"
            )
        done = f"{len(now.done)} of {len(begun.shifts)} replicas are moved"
        return gone_on(request, begun, dirs, f"an interrupted run goes on: {done}")
    wrong = [
        f"there is no topic {name}; names are compared as they are" for name in request.topics if name not in topics
    ]
    found = shifts.planned(wish, dirs, request.topics)
    if wrong := [*wrong, *found.refusals]:
        raise Refused(listed("nothing was moved", wrong))
    kind: dict[str, Any] = {"kind": SHIFTS, "empties": bool(wish.leaving), "topics": request.topics}
    made = Record(request.words, (), request.rate, (), shifts=found.moves, **kind)
    return Work(made, lines(made, dirs, found.moves), found.moves) if found.moves else None


def _turned(one: Shift) -> Shift:
    return replace(one, source=one.target, target=one.source)


def gone_on(request: Asked, begun: Record, dirs: Sequence[LogDir], what: str) -> Work:
    """Return what an interrupted run left, or what takes it back. Raises Refused.

    A broker that died for good keeps no cancel from its end, nor does a disk that a live one gave up.
    """
    now = shifting.standing(begun, dirs)
    off = shifts.called_off(now.waiting, dirs)
    away = _brokers(begun.shifts) - {one.broker for one in dirs}
    failed = {one.broker: one.path for one in dirs if one.given_up}
    kept = {one for one in now.waiting if one.broker in failed} - off
    copied = [one for one in (*now.running, *now.waiting) if one not in off | kept]
    wrong, notes = shifts.no_room(copied, dirs, request.devices), list[str]()
    if begun.back:
        notes = _left(begun.shifts, {broker: "is down" for broker in away}, BEGUN)
        notes += _left(kept, {broker: f"has given up {path}" for broker, path in failed.items()})
        begun = replace(begun, shifts=tuple(one for one in begun.shifts if one.broker not in away and one not in kept))
    else:
        wrong += [f"broker {one} is down, and has replicas on their way: start it" for one in sorted(away)]
        wrong += [shifts.offline(one.broker, one.path) for one in dirs if one.given_up and one.broker in _brokers(kept)]
    if wrong:
        mended = "" if begun.back else MENDED
        raise Refused(listed("nothing more was moved, and what was begun stays written down", wrong) + mended)
    made = replace(begun, rate=request.rate if request.limited else begun.rate)
    what += f"; {len(off)} replica{'s are' if len(off) > 1 else ' is'} called off" if off else ""
    left = [*copied, *(replace(one, size=0) for one in now.waiting if one in off)]
    return Work(made, [what, *lines(made, dirs, copied), *notes], left)


def _brokers(of: Iterable[Shift]) -> set[int]:
    return {one.broker for one in of}


def _left(of: Collection[Shift], why: Mapping[int, str], more: str = "") -> list[str]:
    """Return a note for each broker on what stays where it is."""
    counts = {broker: sum(one.broker == broker for one in of) for broker in sorted(_brokers(of) & why.keys())}
    return [
        f"note: broker {broker} {why[broker]}: {count} replica{'s stay' if count > 1 else ' stays'} in the log dir "
        f"where it has {'them' if count > 1 else 'it'}{more}"
        for broker, count in counts.items()
    ]


def lines(made: Record, dirs: Sequence[LogDir], moves: Sequence[Shift]) -> list[str]:
    """Return what a person is told before."""
    size = sum(one.bytes for one in moves)
    text = f"{made.asked}: {len(moves)} replicas go to another log dir of their broker, {amounts.size(size)}"
    told = [text]
    if moves and made.rate:
        most = max(sum(one.bytes for one in moves if one.broker == broker) for broker in {one.broker for one in moves})
        told.append(
            f"at {amounts.speed(made.rate)} a second that takes {amounts.time(max(most / made.rate, 1))} or more"
        )
    told += [
        f"  {one} of broker {one.broker}: {one.source} -> {one.target}, {amounts.size(one.bytes)}"
        for one in sorted(moves, key=lambda one: (-one.bytes, one.broker, one.place))[:NAMED]
    ]
    told += [f"  and {len(moves) - NAMED} more"] if len(moves) > NAMED else []
    return told + [f"  {row}" for row in before_and_after(dirs, moves)]


def before_and_after(dirs: Sequence[LogDir], moves: Sequence[Shift]) -> list[str]:
    """Return a table of what each log dir holds, and would: lines of columns."""
    rows = [("broker", "log dir", "replicas", "bytes", "full")]
    for one in sorted(dirs, key=lambda one: (one.broker, one.path)):
        gets = [move.bytes for move in moves if (move.broker, move.target) == (one.broker, one.path)]
        loses = [move.bytes for move in moves if (move.broker, move.source) == (one.broker, one.path)]
        held, size, more = len(one.sizes), sum(one.sizes.values()), sum(gets) - sum(loses)
        full = "-"
        if one.total and one.free is not None:
            full = _became(*(f"{1 - (one.free - by) / one.total:.0%}" for by in (0, more)))
        counts = _became(str(held), str(held + len(gets) - len(loses)))
        size_then = _became(amounts.size(size), amounts.size(max(0, size + more)))
        rows.append((str(one.broker), one.path, "given up" if one.given_up else counts, size_then, full))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _became(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def carried_on(admin: Admin, made: Record, path: Path, pause: float, waited: Mapping[str, Any]) -> Result:
    """Carry on for `pause` seconds (0: to the end). Raises Unfinished, OSError."""
    run = Run(admin, made, progress(waited))
    return carry_on(run, pause, lambda: ended(run, path))


def ended(run: Run, path: Path) -> Result:
    """Take the limits back, look at all once more, and forget the record. Raises AdminError."""
    admin, made, now = run.admin, run.record, run.now
    brokers = sorted({one.broker for one in made.shifts})
    notes = control.taken_back(admin, made, path, lambda: come(made, log_dirs(admin, brokers)))
    if now.gone:
        names = named(one.place for one in now.gone)
        notes.append(f"{names}: the broker has no such replica any more, or somebody else moved it; it is left so")
    size, seconds = sum(one.bytes for one in now.done), round(waits.now() - run.progress.begun, 1)
    return {"changed": True, "moved": [str(one) for one in now.done], "bytes": size, "seconds": seconds, "notes": notes}


def come(made: Record, dirs: Sequence[LogDir]) -> list[str]:
    """Say of log dirs that are to hold nothing what they hold: what is new comes to where fewest partitions are."""
    if not made.empties:
        return []
    emptied = {(one.broker, one.source) for one in made.shifts}
    held = {(one.broker, one.path): [p for p in one.sizes if not made.topics or p[0] in made.topics] for one in dirs}
    return [
        f"{path} of broker {broker} holds {named(held[broker, path])}, which came there meanwhile: run the same again"
        for broker, path in sorted(emptied)
        if held.get((broker, path))
    ]
