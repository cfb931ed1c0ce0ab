"""Plans moves, carries them out, goes on where another run stopped, puts them back: what a module is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import (
    lost_brokers,
    record,
    snapshot,
    throttles,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import Work, lines, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.completion import (
    behind,
    come,
    moved,
    strangers,
    verified,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.declared import differing, unmade
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Run, standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import plan
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.resume import go_on, put_back, too_few
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import (
    AGAIN,
    ON,
    Result,
    carry_on,
    progress,
    waiting,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

CarriedOn = Callable[[Admin, Record, Path, float, Mapping[str, Any]], Result]


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Refuse to go on, with its path, where a record is none of this version, or the file system fails."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}; it says what a run of moves has begun, and has to be readable") from error


def prepare(
    request: Asked, there: snapshot.Seen, declared: Mapping[int, Rack], begun: Record | None, admin: Admin
) -> Work | None:
    """Return what is to be done, None where there is nothing; `there` is by the controller's word.

    Raises Refused, AdminError.
    """
    if there.sizes and not there.metadata.partitions:
        raise AdminError(snapshot.nameless(there.metadata, there.dirs))
    if request.cancel:
        return put_back(request, there, declared, begun, admin)
    if begun:
        # the second: between two parts of a person's run its lock is free
        earlier = f"an earlier run, {begun.asked}, was interrupted, or is still at it"
        first = f"once nobody is at it, run that again first ({begun.typed})"
        first += "" if begun.back else ", or -e cancel=true, which puts back what it moved"
        if begun.asked != request.words:
            done = len(standing(begun, there.metadata, there.running).done)
            raise Refused(f"{earlier}, with {done} of {len(begun.moves)} partitions moved: {first}")
        if request.timer and not begun.timer:
            raise Refused(f"{earlier}, and no timer began it: {first}")
        return go_on(request, there, declared, begun, admin)
    notes = unmade(request, there.metadata.topics)
    if request.declared:
        request = differing(request, there.metadata.topics)
        if not request.topics:
            return None
    wrong = unknown(request, there) + snapshot.in_the_way(there, request.wish, declared)
    found = plan(request.wish, there.racks, there.partitions(request.topics), declared) if not wrong else None
    if found:
        wrong += [*found.refusals, *snapshot.too_full(snapshot.disks_after(there, found.moves))]
        wrong += too_few(admin, request, there)
    if wrong or not found:
        raise Refused(listed("nothing was moved", wrong))
    leaving = tuple(sorted(request.wish.leaving))
    factors = request.wish.factors if request.declared else {}
    made = Record(
        request.words, leaving, request.rate, tuple(found.moves), topics=request.topics, factors=factors,
        timer=request.timer, fewer_racks=request.wish.fewer_racks,
    )  # fmt: skip
    told = lines(made, there, found.moves) + [f"note: {text}" for text in (*found.notes, *notes)]
    return Work(made, told, found.moves) if found.moves else None


def unknown(request: Asked, there: snapshot.Seen) -> list[str]:
    """Return the topics that are named and not there."""
    known = there.metadata.topics
    return [f"there is no topic {name}; names are compared as they are" for name in request.topics if name not in known]


def nothing_to_move(request: Asked, admin: Admin, metadata: Metadata) -> str:
    """Return the one line that is said where nothing is to be moved. Raises AdminError."""
    notes = unmade(request, snapshot.at_controller(admin, metadata).topics) if request.declared else []
    return "; ".join([f"{request.words}: nothing to move", *notes])


def told(work: Work | None, nothing: str) -> Result:
    """Return what a module answers of a plan."""
    if work is None:
        return {"changed": False, "plan": [nothing], "moved": []}
    return {"changed": True, "plan": work.text, "moved": [str(move) for move in work.left], "bytes": work.bytes}


def meant(work: Work, name: str) -> None:
    """Raise Refused where somebody looked at another plan than this one."""
    if name and name != work.name:
        text = "".join(f"\n{line}" for line in work.text)
        raise Refused(f"nothing was moved: it would not be plan {name} any more, for the cluster has changed:{text}")


def carried_out(admin: Admin, work: Work, path: Path, pause: float, on: CarriedOn | None = None) -> Result:
    """Begin; carry it to its end, or with `pause` leave that to the next call, so that its plan can be said before.

    `on` carries on what is no run of moves. Raises Unfinished, OSError.
    """
    try:
        made = begin(admin, work.record, path)
    except AdminError as error:
        again = ON if work.record.back else AGAIN
        raise Unfinished(f"{admin.explain(error)}; {again}", {"changed": True, "plan": work.text}) from error
    roomless = [str(move) for move in work.roomless]
    first = replace(progress({}), spared=work.spared, roomless=roomless, full=[*work.full])
    if not pause:
        return {**(on or carried_on)(admin, made, path, pause, asdict(first)), "plan": work.text}
    return {**told(work, ""), **waiting("it begins", first)}


def carried_on(admin: Admin, made: Record, path: Path, pause: float, waited: Mapping[str, Any]) -> Result:
    """Carry on for `pause` seconds (0: to the end). Raises Unfinished, OSError."""
    run = Run(admin, made, progress(waited))
    if made.back:  # there is nothing else to call it off with
        run.again, run.slow = ON, "with the same again"
    return carry_on(run, pause, lambda: ended(run, path))


def begin(admin: Admin, made: Record, path: Path) -> Record:
    """Write down what is begun, and set its limits. Raises AdminError, OSError."""
    there = snapshot.at_controller(admin, admin.metadata(), made.moves)
    with record.limits(path) as others:
        if made.rate is None:
            throttles.take_out(admin, made, there, others)
            away = {broker: rates for broker, rates in made.rates.items() if int(broker) not in there.brokers}
            made = replace(made, lists={}, rates=away)
        else:
            made = throttles.planned(admin, made, there, others)
        record.save(path, made)
        throttles.put_in(admin, made, there)
    return made


def taken_back(admin: Admin, made: Record, path: Path, look: Callable[[], Sequence[str]] = tuple) -> list[str]:
    """Take the limits back that no other run needs, look at what was done, and forget the record; return notes.

    Raises AdminError, OSError, and what `look` raises where it is not as it was to be.
    """
    there = snapshot.at_controller(admin, admin.metadata(), made.moves)
    with record.limits(path) as others:
        notes = [*throttles.take_out(admin, made, there, others), *look()]
        path.unlink(missing_ok=True)
    return notes


def ended(run: Run, path: Path) -> Result | None:
    """Look at all once more, take the limits back, and forget the record; None where it has not ended yet.

    What is not in sync copies still: until then the limits stay. Raises Unfinished, AdminError.
    """
    admin, made, now = run.admin, run.record, run.now
    metadata = snapshot.at_controller(admin, admin.metadata(), made.moves)
    failed = lost_brokers.given_up(admin, behind(moved(made, metadata, now.lost)), metadata.brokers)
    wrong, away = verified(made, metadata, failed, now.lost)
    if wrong:
        run.not_yet(wrong)
        return None
    others = [strangers(now.gone)] if now.gone else []
    notes = [*away, *lost_brokers.left(now.lost, run.outlooks), *come(made, metadata), *others]
    return {"changed": True, **copied(run), "notes": taken_back(admin, made, path) + notes}


def copied(run: Run) -> Result:
    """Return what was done, how many bytes this run copied of it, and how long it took."""
    size = max(0, sum(move.bytes for move in run.now.done) - run.progress.spared)
    seconds = round(waits.now() - run.progress.begun, 1)
    return {"moved": [str(move) for move in run.now.done], "bytes": size, "seconds": seconds}
