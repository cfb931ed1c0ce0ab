"""Plans, runs, resumes and reverts moves of replicas: the entry points of the module kafka_reassign and the timer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    foreign_moves,
    made_moves,
    new_since_plan,
    under_replicated,
    verify,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.declared import differing, missing_topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Run, standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import plan
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.resume import resume, revert, too_few
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import (
    AGAIN,
    ON,
    SAME,
    Result,
    carry_on,
    progress,
    waiting,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

Continue = Callable[[Admin, Record, Path, float, Mapping[str, Any]], Result]


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Context manager: turn OSError and ValueError into Refused, which names the record file at `path`.

    The body reads this file. The errors occur if it is damaged or of another version, or if the file system fails.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}; this file records an unfinished run of moves and must be readable") from error


def prepare(
    request: Request, there: snapshot.Snapshot, declared: Mapping[int, Rack], begun: Record | None, admin: Admin
) -> Work | None:
    """Return the plan of a run that is new, resumed or reverted; None if there is nothing to do.

    `there` is the cluster as the controller sees it, `declared` is {broker of the inventory: rack}. `begun` is the
    record of an earlier run that has not ended. Raises Refused with all reasons if nothing may be moved. Raises
    AdminError if the cluster does not answer, or if the controller lists no partitions although replicas exist.
    """
    if there.sizes and not there.metadata.partitions:
        raise AdminError(snapshot.no_partitions(there.metadata, there.dirs))
    if request.cancel:
        return revert(request, there, declared, begun, admin)
    if begun:
        # it may still be running: between two parts of a run of reassign.yml the lock is free
        earlier = f"an earlier run, {begun.asked}, was interrupted or is still running"
        first = f"if it is not running any more, run it again first ({begun.typed})"
        first += "" if begun.back else ", or -e cancel=true, which reverts its moves"
        if begun.asked != request.words:
            done = len(standing(begun, there.metadata, there.running).done)
            raise Refused(f"{earlier}, with {done} of {len(begun.moves)} partitions moved: {first}")
        if request.timer and not begun.timer:
            raise Refused(f"{earlier}, and was not started by the timer: {first}")
        return resume(request, there, declared, begun, admin)
    notes = missing_topics(request, there.metadata.topics)
    if request.declared:
        request = differing(request, there.metadata.topics)
        if not request.topics:
            return None
    reasons = unknown_topics(request.topics, there.metadata.topics)
    reasons += snapshot.obstacles(there, request.wish, declared)
    planned = plan(request.wish, there.racks, there.partitions(request.topics), declared) if not reasons else None
    if planned:
        reasons += [*planned.refusals, *snapshot.too_full(snapshot.disks_after(there, planned.moves))]
        reasons += too_few(admin, request, there)
    if reasons or not planned:
        raise Refused(listed("nothing was moved", reasons))
    leaving = tuple(sorted(request.wish.leaving))
    factors = request.wish.factors if request.declared else {}
    made = Record(
        request.words, leaving, request.rate, tuple(planned.moves), topics=request.topics, factors=factors,
        timer=request.timer, fewer_racks=request.wish.fewer_racks,
    )  # fmt: skip
    text = lines(made, there, planned.moves) + [f"note: {note}" for note in (*planned.notes, *notes)]
    return Work(made, text, planned.moves) if planned.moves else None


def unknown_topics(names: Iterable[str], known: Collection[str]) -> list[str]:
    """Return an error text for each of the topics in `names` that is not among the `known` topics of the cluster."""
    return [f"there is no topic {name}; names have to match exactly" for name in names if name not in known]


def nothing_to_move(request: Request, admin: Admin, metadata: Metadata) -> str:
    """Return the line to print if a request needs no moves; a note in it names declared topics that do not exist.

    Raises AdminError if the controller does not return the topics.
    """
    notes = missing_topics(request, snapshot.at_controller(admin, metadata).topics) if request.declared else []
    return "; ".join([f"{request.words}: nothing to move", *notes])


def plan_answer(work: Work | None, nothing: str) -> Result:
    """Return the module's result if the plan is only printed; if `work` is None, the plan is the line `nothing`."""
    if work is None:
        return {"changed": False, "plan": [nothing], "moved": []}
    return {"changed": True, "plan": work.text, "moved": [str(move) for move in work.left], "bytes": work.bytes}


def require_plan(work: Work, name: str) -> None:
    """Raise Refused if the user allowed only the plan `name` (-e plan=NAME), and `work` has another name."""
    if name and name != work.name:
        text = "".join(f"\n{line}" for line in work.text)
        raise Refused(f"nothing was moved: the cluster has changed, and plan {name} is now another one:{text}")


def start_run(admin: Admin, work: Work, path: Path, pause: float, continues: Continue | None = None) -> Result:
    """Save the record of the plan's run, set its throttles, and start the run; return the module's result.

    With `pause` 0, this call continues to the end of the run. Otherwise it returns at once, so that the plan is
    printed, and the next call of the module continues. Runs between log dirs pass their own `continues` to replace
    `continue_run`. Raises Unfinished if the cluster does not answer, OSError if the record cannot be written.
    """
    try:
        made = begin(admin, work.record, path)
    except AdminError as error:
        again = ON if work.record.back else AGAIN
        raise Unfinished(f"{admin.explain(error)}; {again}", {"changed": True, "plan": work.text}) from error
    roomless = [str(move) for move in work.roomless]
    first = replace(progress({}), spared=work.spared, roomless=roomless, full=[*work.full])
    if not pause:
        return {**(continues or continue_run)(admin, made, path, pause, asdict(first)), "plan": work.text}
    return {**plan_answer(work, ""), **waiting("the moves start", first)}


def continue_run(admin: Admin, made: Record, path: Path, pause: float, waited: Mapping[str, Any]) -> Result:
    """Continue the run that the record `made` describes, and return the module's result.

    The function returns after `pause` seconds, or with 0 when the run has ended. If the run has not ended by then, the
    result contains its progress, and the caller has to call the module again. `waited` is the
    progress that the previous call returned. Raises Unfinished if the run fails or stalls, OSError if the record file
    cannot be deleted.
    """
    run = Run(admin, made, progress(waited))
    if made.back:  # a cancel cannot be canceled itself
        run.again, run.slow = ON, SAME
    return carry_on(run, pause, lambda: finish(run, path))


def begin(admin: Admin, made: Record, path: Path) -> Record:
    """Save the record of a run, then set its throttles.

    Return the record with the throttles added, and with the values that were set before the run. Raises AdminError if
    the cluster rejects the throttles or does not answer, OSError if the record cannot be written.
    """
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


def clean_up(admin: Admin, made: Record, path: Path, look: Callable[[], Sequence[str]] = tuple) -> list[str]:
    """Remove the throttles of a run unless another run needs them, delete its record file, and return notes.

    `look` is called before the file is deleted: it returns more notes, or raises an error, which keeps the file. Raises
    AdminError if the cluster rejects a change or does not answer, OSError if the file cannot be deleted.
    """
    there = snapshot.at_controller(admin, admin.metadata(), made.moves)
    with record.limits(path) as others:
        notes = [*throttles.take_out(admin, made, there, others), *look()]
        path.unlink(missing_ok=True)
    return notes


def finish(run: Run, path: Path) -> Result | None:
    """End a run: verify its result, remove its throttles, delete its record, and return the module's result.

    Return None, without any change, if the cluster still differs from the plan, as while a replica is out of sync; the
    caller then calls again. Raises Unfinished if this lasts too long, AdminError if the cluster does not answer.
    """
    admin, made, now = run.admin, run.record, run.now
    metadata = snapshot.at_controller(admin, admin.metadata(), made.moves)
    lagging = under_replicated(made_moves(made, metadata, now.lost))
    failed = lost_brokers.offline_replicas(admin, lagging, metadata.brokers)
    differences, away = verify(made, metadata, failed, now.lost)
    if differences:
        run.not_yet(differences)
        return None
    others = [foreign_moves(now.gone)] if now.gone else []
    notes = [*away, *lost_brokers.notes_at_end(now.lost, run.outlooks), *new_since_plan(made, metadata), *others]
    return {"changed": True, **summary(run), "notes": clean_up(admin, made, path) + notes}


def summary(run: Run) -> Result:
    """Return numbers about a run for the module's result.

    `moved`: names of the moved partitions. `bytes`: bytes that this run copied. `seconds`: its duration.
    """
    size = max(0, sum(move.bytes for move in run.now.done) - run.progress.spared)
    seconds = round(waits.now() - run.progress.begun, 1)
    return {"moved": [str(move) for move in run.now.done], "bytes": size, "seconds": seconds}
