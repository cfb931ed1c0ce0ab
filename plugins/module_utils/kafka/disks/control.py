"""Plans, runs, resumes and reverts moves between log dirs ("shifts"): the entry points of the module kafka_reassign."""

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
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.resume import (
    STAYS_RECORDED,
    WHEN_SOLVED_OR_CANCEL,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import (
    Result,
    carry_on,
    progress,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

COPIES_CONTINUE = ", and its running copies continue when it is back"


def prepare(
    request: Request, brokers: Collection[int], topics: Collection[str], begun: Record | None, admin: Admin
) -> Work | None:
    """Return the plan of a new, resumed or reverting run between log dirs; None if there is nothing to do.

    `brokers` are the ids of the brokers that are up, `topics` the names of all topics. `begun` is the record of an
    earlier run that has not ended. Raises Refused with all reasons if nothing may be moved, AdminError if a broker does
    not answer.
    """
    wish = request.within or DiskWish()
    asked = {shift.broker for shift in begun.shifts} if begun else {*wish.brokers}
    dirs = log_dirs(admin, sorted(asked & {*brokers}))
    if begun and request.cancel and not begun.back:
        back = replace(begun, asked="cancel=true", back=True, empties=False, shifts=tuple(map(_turned, begun.shifts)))
        return resume(request, back, dirs, f"reverts {begun.asked}")
    if begun:
        now = shifting.standing(begun, dirs)
        if begun.asked != request.words:
            raise Refused(
                f"an earlier run, {begun.asked}, was interrupted or is still running, with {len(now.done)} of "
                f"{len(begun.shifts)} replicas moved: if it is not running any more, run it again first "
                f"({begun.typed}), or -e cancel=true, which reverts its moves"
            )
        done = f"{len(now.done)} of {len(begun.shifts)} replicas are moved"
        return resume(request, begun, dirs, f"resumes an interrupted run: {done}")
    planned = shifts.planned(wish, dirs, request.topics)
    if reasons := [*control.unknown_topics(request.topics, topics), *planned.refusals]:
        raise Refused(listed("nothing was moved", reasons))
    kind: dict[str, Any] = {"kind": SHIFTS, "empties": bool(wish.leaving), "topics": request.topics}
    made = Record(request.words, (), request.rate, (), shifts=planned.moves, **kind)
    return Work(made, lines(made, dirs, planned.moves), planned.moves) if planned.moves else None


def _turned(one: Shift) -> Shift:
    """Return the shift that moves a replica back to its source."""
    return replace(one, source=one.target, target=one.source)


def resume(request: Request, begun: Record, dirs: Sequence[LogDir], headline: str) -> Work:
    """Return the plan for the rest of an interrupted run; if `begun.back` is set, that run is a cancel.

    `headline` is the start of the plan's first line, `dirs` are the log dirs that brokers reported. A cancel leaves out
    replicas of brokers that are down. It also leaves out copies that a broker would have to start while one of its log
    dirs is offline. Raises Refused with all reasons if the run may not continue.
    """
    now = shifting.standing(begun, dirs)
    canceled = shifts.canceled(now.waiting, dirs)
    away = _brokers(begun.shifts) - {one.broker for one in dirs}
    failed = {one.broker: one.path for one in dirs if one.given_up}
    kept = {one for one in now.waiting if one.broker in failed} - canceled
    copied = [one for one in (*now.running, *now.waiting) if one not in canceled | kept]
    reasons, notes = shifts.no_room(copied, dirs, request.devices), list[str]()
    if begun.back:
        notes = _left(begun.shifts, {broker: "is down" for broker in away}, COPIES_CONTINUE)
        notes += _left(kept, {broker: f"has the offline log dir {path}" for broker, path in failed.items()})
        begun = replace(begun, shifts=tuple(one for one in begun.shifts if one.broker not in away and one not in kept))
    else:
        reasons += [f"broker {broker} is down, and its copies have not ended: start it" for broker in sorted(away)]
        reasons += [
            shifts.offline(one.broker, one.path) for one in dirs if one.given_up and one.broker in _brokers(kept)
        ]
    if reasons:
        raise Refused(listed(STAYS_RECORDED, reasons) + ("" if begun.back else WHEN_SOLVED_OR_CANCEL))
    made = replace(begun, rate=request.rate if request.limited else begun.rate)
    headline += f"; {len(canceled)} cop{'ies are' if len(canceled) > 1 else 'y is'} canceled" if canceled else ""
    left = [*copied, *(replace(one, size=0) for one in now.waiting if one in canceled)]
    return Work(made, [headline, *lines(made, dirs, copied), *notes], left)


def _brokers(of: Iterable[Shift]) -> set[int]:
    """Return the ids of the brokers of these shifts."""
    return {one.broker for one in of}


def _left(of: Collection[Shift], why: Mapping[int, str], more: str = "") -> list[str]:
    """Return a note for each broker in `why` on its replicas in `of`, which stay in their present log dirs.

    `why` maps brokers to the reason; `more` is added to the end of each note.
    """
    counts = {broker: sum(one.broker == broker for one in of) for broker in sorted(_brokers(of) & why.keys())}
    return [
        f"note: broker {broker} {why[broker]}: {count} replica{'s stay' if count > 1 else ' stays'} in "
        f"{'their' if count > 1 else 'its'} present log dir{more}"
        for broker, count in counts.items()
    ]


def lines(made: Record, dirs: Sequence[LogDir], moves: Sequence[Shift]) -> list[str]:
    """Return the lines that show the shifts in `moves` to the user before they are made.

    The lines are: the bytes to copy, the least duration at the rate in the record `made`, the first NAMED shifts, and a
    table of the log dirs before and after.
    """
    size = sum(one.bytes for one in moves)
    text = [f"{made.asked}: {len(moves)} replicas move to another log dir of their broker, {amounts.size(size)}"]
    if moves and made.rate:
        most = max(sum(one.bytes for one in moves if one.broker == broker) for broker in {one.broker for one in moves})
        text.append(f"at {amounts.speed(made.rate)}/s this takes {amounts.time(max(most / made.rate, 1))} or more")
    text += [
        f"  {one} of broker {one.broker}: {one.source} -> {one.target}, {amounts.size(one.bytes)}"
        for one in sorted(moves, key=lambda one: (-one.bytes, one.broker, one.place))[:NAMED]
    ]
    text += [f"  and {len(moves) - NAMED} more"] if len(moves) > NAMED else []
    return text + [f"  {row}" for row in before_and_after(dirs, moves)]


def before_and_after(dirs: Sequence[LogDir], moves: Sequence[Shift]) -> list[str]:
    """Return a table as lines: replicas, bytes and use (per cent) of each log dir, before -> after the shifts."""
    rows = [("broker", "log dir", "replicas", "bytes", "full")]
    for one in sorted(dirs, key=lambda one: (one.broker, one.path)):
        gets = [move.bytes for move in moves if (move.broker, move.target) == (one.broker, one.path)]
        loses = [move.bytes for move in moves if (move.broker, move.source) == (one.broker, one.path)]
        held, size, more = len(one.sizes), sum(one.sizes.values()), sum(gets) - sum(loses)
        full = "-"
        if one.total and one.free is not None:
            full = _change(*(f"{1 - (one.free - by) / one.total:.0%}" for by in (0, more)))
        counts = _change(str(held), str(held + len(gets) - len(loses)))
        size_then = _change(amounts.size(size), amounts.size(max(0, size + more)))
        rows.append((str(one.broker), one.path, "offline" if one.given_up else counts, size_then, full))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _change(before: str, after: str) -> str:
    """Return `before -> after`, or only `before` if the two are equal."""
    return before if before == after else f"{before} -> {after}"


def continue_run(admin: Admin, made: Record, path: Path, pause: float, waited: Mapping[str, Any]) -> Result:
    """Continue the run that the record `made` describes, and return the module's result.

    The function returns after `pause` seconds, or with 0 when the run has ended. If the run has not ended by then, the
    result contains its progress, and the caller has to call the module again. `waited` is the
    progress of earlier calls. Raises Unfinished if the run fails or stalls, OSError if the record cannot be deleted.
    """
    run = Run(admin, made, progress(waited))
    return carry_on(run, pause, lambda: finish(run, path))


def finish(run: Run, path: Path) -> Result:
    """End a run: remove the throttles and delete the record file at `path`; return the module's result with notes.

    Raises AdminError if a broker does not answer.
    """
    admin, made, now = run.admin, run.record, run.now
    brokers = sorted({one.broker for one in made.shifts})
    notes = control.clean_up(admin, made, path, lambda: new_since_plan(made, log_dirs(admin, brokers)))
    if now.gone:
        names = named(one.place for one in now.gone)
        notes.append(f"{names}: the broker has no such replica any more, or another tool moved it; left unchanged")
    size, seconds = sum(one.bytes for one in now.done), round(waits.now() - run.progress.begun, 1)
    return {"changed": True, "moved": [str(one) for one in now.done], "bytes": size, "seconds": seconds, "notes": notes}


def new_since_plan(made: Record, dirs: Sequence[LogDir]) -> list[str]:
    """Return notes on replicas that brokers have placed in emptied log dirs since the plan was made.

    A broker puts a new replica into the log dir with the fewest partitions, which is often the emptied one.
    """
    if not made.empties:
        return []
    emptied = {(one.broker, one.source) for one in made.shifts}
    held = {(one.broker, one.path): [p for p in one.sizes if not made.topics or p[0] in made.topics] for one in dirs}
    return [
        f"{path} of broker {broker} holds {named(held[broker, path])}, placed there meanwhile: run the same command "
        "again"
        for broker, path in sorted(emptied)
        if held.get((broker, path))
    ]
