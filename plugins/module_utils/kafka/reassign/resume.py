"""Plans how an interrupted run is resumed or reverted, after the checks of its start are repeated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import feasibility, lost_brokers, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import Work, lines, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.completion import foreign_moves
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.declared import changed_since, for_next_run
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Standing, standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import durability

MIN_ISR = "min.insync.replicas"
STAYS_RECORDED = "nothing more was moved, and the run stays recorded"
WHEN_SOLVED = "\nthen run the same command again"
WHEN_SOLVED_OR_CANCEL = f"{WHEN_SOLVED}, or revert the run with -e cancel=true"
SET_FIRST = "; resources.yml sets it while the topic is declared with its present number of replicas"


def too_few(admin: Admin, request: Request, there: snapshot.Snapshot, only: Collection[str] = ()) -> list[str]:
    """Return why topics may not have the requested number of replicas: it is too small for their min.insync.replicas.

    Only the topics in `only` are checked; all topics if `only` is empty. Raises AdminError if the settings cannot be
    read.
    """
    factors = {name: factor for name, factor in request.wish.factors.items() if name in only or not only}
    minimums = min_insync(admin, factors, there)
    advice = SET_FIRST if request.declared else ""
    return [
        f"topic {name}: {why}{advice}"
        for name, minimum in minimums.items()
        for why in durability(factors[name], minimum)
    ]


def min_insync(admin: Admin, names: Collection[str], there: snapshot.Snapshot) -> dict[str, str | None]:
    """Return {topic: min.insync.replicas} for those of the topics that exist; None if the value is empty.

    Raises AdminError if the settings cannot be read.
    """
    known = sorted({*names} & there.metadata.topics.keys())
    settings = topics.describe(admin, "TOPIC", known) if known else {}
    return {name: one[MIN_ISR].value or None for name, one in sorted(settings.items()) if MIN_ISR in one}


def too_few_again(admin: Admin, there: snapshot.Snapshot, moves: Collection[Move]) -> list[str]:
    """Return why a cancel may not remove the replicas that `moves` remove; [] if it may.

    The reason is that the topic would accept no writes, because its min.insync.replicas is now above the old number of
    replicas. Unlike in `too_few`, a topic is allowed if its writes stop only while a broker restarts: this may have
    been so before the run. Raises AdminError if the settings cannot be read.
    """
    factors: dict[str, int] = {}
    for move in moves:
        if len(move.after) < len(move.before):
            factors[move.topic] = min(len(move.after), factors.get(move.topic, len(move.after)))
    return [
        f"topic {name}: it would have {factors[name]} replica{'s' * (factors[name] > 1)} again, but "
        f"min.insync.replicas is now {minimum}, so it would accept no writes: set min.insync.replicas to "
        f"{factors[name]} first"
        for name, minimum in min_insync(admin, factors, there).items()
        if minimum and int(minimum) > factors[name]
    ]


def resume(
    request: Request, there: snapshot.Snapshot, declared: Mapping[int, Rack], begun: Record, admin: Admin
) -> Work:
    """Return the plan for the rest of an interrupted run (`begun`).

    Raises Refused with all reasons if the run may not continue, AdminError if the cluster does not answer.
    """
    now = standing(begun, there.metadata, there.running)
    text = [f"resumes an interrupted run: {len(now.done)} of {len(begun.moves)} partitions are moved"]
    text += notes_on_a_cancel(begun, there, now) if begun.back else []
    roomless, full, reasons = without_room(there, now, begun.back)
    skipped = {*roomless}
    left = [*now.running, *(move for move in now.waiting if move not in skipped), *now.turned]
    reasons += foreign_reassignments(begun, there, now)
    text += [f"note: {snapshot.no_room([str(move) for move in roomless], full)}"] if roomless else []
    if left and not begun.back:  # a cancel has to end, whatever has failed meanwhile
        reasons += changed_since(request, begun, left) + cannot_end(begun, there, declared, now)
        reasons += too_few(admin, request, there, begun.factors)
    if begun.back:
        reasons += too_few_again(admin, there, now.waiting)
    if reasons:
        then = WHEN_SOLVED if begun.back else WHEN_SOLVED_OR_CANCEL
        raise Refused(listed(STAYS_RECORDED, reasons) + then)
    rate = request.rate if request.limited else begun.rate
    notes = [f"note: {note}" for note in for_next_run(request, begun, there.metadata.topics)]
    made, canceled = replace(begun, rate=rate, timer=request.timer), now.turned if begun.back else ()
    return Work(made, text + lines(begun, there, left) + notes, left, canceled, roomless, full)


def cannot_end(begun: Record, there: snapshot.Snapshot, declared: Mapping[int, Rack], now: Standing) -> list[str]:
    """Return the reasons why the rest of a run cannot end; [] if it can.

    Possible reasons: a broker that the run needs is down, has an offline log dir, or is not in the inventory
    (`declared`) any more; or a partition is unhealthy.
    """
    left, under_way = [*now.running, *now.waiting], {move.place for move in (*now.running, *now.turned)}
    missing: dict[tuple[int, str, str], list[str]] = {}
    undeclared: dict[int, list[str]] = {}
    for one in feasibility.outlooks(left, there.metadata, there.running, lost_brokers.seen_offline(there, left)):
        for broker, why in one.missing.items():
            gets = broker in one.move.added
            # a move that is not under way is refused below, as its partition is under-replicated
            if gets or one.move.place in under_way:
                missing.setdefault((broker, why, "is to get" if gets else "is needed for"), []).append(str(one.move))
        for broker in one.move.added:
            if declared and broker in there.metadata.brokers and broker not in declared:
                undeclared.setdefault(broker, []).append(str(one.move))
    reasons = [
        f"broker {broker} {why}, and {what} {snapshot.named(names)}: {feasibility.remedy(why)}"
        for (broker, why, what), names in sorted(missing.items())
    ]
    reasons += [
        f"broker {broker} is not in the inventory any more, and is to get {snapshot.named(names)}: add its host again"
        for broker, names in sorted(undeclared.items())
    ]
    return reasons + snapshot.unhealthy(there, under_way, begun.leaving)


def notes_on_a_cancel(begun: Record, there: snapshot.Snapshot, now: Standing) -> list[str]:
    """Return notes on moves that the cancel cannot revert now, and on reassignments that it may not cancel now."""
    left = [*now.running, *now.waiting]
    unfinished = feasibility.outlooks(left, there.metadata, there.running, lost_brokers.seen_offline(there, left))
    turned = feasibility.outlooks(now.turned, there.metadata, there.running)
    kept = [one.not_canceled for one in turned if one.only_in_sync]
    return [f"note: {text}" for text in (*lost_brokers.notes_while_waiting(unfinished), *kept)]


def without_room(there: snapshot.Snapshot, now: Standing, back: bool) -> tuple[list[Move], list[str], list[str]]:
    """Return (moves to skip, texts on the disks that these would overfill, reasons to refuse the run).

    Only a cancel (`back`) skips moves, and only if something else is left to do: canceled reassignments free space. Any
    other run is refused.
    """
    coming = [*now.running, *now.waiting, *([] if back else now.turned)]
    full = snapshot.overfull(snapshot.disks_after(there, coming))
    brokers, texts = {broker for broker, _ in full}, [text for _, text in full]
    roomless = {move for move in now.waiting if brokers & {*move.added}}
    if back and (now.running or now.turned or len(roomless) < len(now.waiting)):
        return [move for move in now.waiting if move in roomless], texts if roomless else [], []
    return [], [], texts


def foreign_reassignments(begun: Record, there: snapshot.Snapshot, now: Standing) -> list[str]:
    """Return a list with one refusal if another tool is moving replicas; [] if none is.

    Reassignments that a cancel has to cancel belong to the run itself, so they are not counted.
    """
    others = sorted(there.running.keys() - {move.place for move in begun.moves})
    turned = [move for move in now.turned if not begun.back or there.running[move.place].target != move.before]
    names = [f"{topic}-{number}" for topic, number in others] + [str(move) for move in turned]
    return [f"{snapshot.moved_by_another_tool(names)}: wait until that has ended"] if names else []


def revert(
    request: Request, there: snapshot.Snapshot, declared: Mapping[int, Rack], begun: Record | None, admin: Admin
) -> Work | None:
    """Return the plan that reverts a run: it cancels running reassignments and undoes finished moves.

    `begun` is the record of the run. Return None if `begun` is None and no reassignment is running. Raises Refused if
    nothing may be reverted.
    """
    if begun is None:
        if there.running:
            raise Refused(
                f"reassignments of {snapshot.named([f'{t}-{n}' for t, n in sorted(there.running)])} are running, but "
                "this control node has no record of them: cancel them on the control node that started them, or with "
                "kafka-reassign-partitions.sh --cancel"
            )
        return None
    if begun.back:
        return resume(request, there, declared, begun, admin)
    now = standing(begun, there.metadata, there.running)
    gone = {move.place for move in now.gone}
    back = begun.reversed(tuple(move for move in begun.moves if move.place not in gone))
    back = replace(back, rate=request.rate if request.limited else begun.rate)
    left = standing(back, there.metadata, there.running)
    text = [f"reverts {begun.asked}: {len(left.running) + len(left.turned)} reassignments are canceled"]
    text += notes_on_a_cancel(back, there, left)
    text += [f"note: {foreign_moves(now.gone)}"] if now.gone else []
    roomless, full, reasons = without_room(there, left, back=True)
    skipped = {*roomless}
    moves = [move for move in left.waiting if move not in skipped]
    text += [f"note: {snapshot.no_room([str(move) for move in roomless], full)}"] if roomless else []
    reasons += foreign_reassignments(begun, there, now)
    if refusals := too_few_again(admin, there, moves):
        reasons += [f"{why}, or resume the run ({begun.typed})" for why in refusals]
    if reasons:
        raise Refused(listed("nothing was reverted", reasons))
    going = [*left.running, *left.turned, *moves]
    return Work(back, text + lines(back, there, moves), going, left.turned, roomless, full)
