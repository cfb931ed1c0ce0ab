"""An interrupted run goes on, or is put back: what was refused at first is looked at again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import feasibility, lost_brokers, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import Work, lines, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.completion import strangers
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.declared import later, otherwise
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Standing, standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import durability

MIN_ISR = "min.insync.replicas"
ONCE_MENDED = "\nthen run the same again"
MENDED = f"{ONCE_MENDED}, or call it off with -e cancel=true"
SET_FIRST = "; resources.yml sets it while the topic is declared with the replicas that it has"


def too_few(admin: Admin, request: Asked, there: snapshot.Seen, only: Collection[str] = ()) -> list[str]:
    """Refuse fewer replicas than a topic, of `only` these where some are named, needs to be written to.

    Raises AdminError.
    """
    factors = {name: one for name, one in request.wish.factors.items() if name in only or not only}
    found = needed(admin, factors, there)
    advice = SET_FIRST if request.declared else ""
    return [f"topic {name}: {why}{advice}" for name, least in found.items() for why in durability(factors[name], least)]


def needed(admin: Admin, names: Collection[str], there: snapshot.Seen) -> dict[str, str | None]:
    """Return min.insync.replicas of these topics, of those that are there. Raises AdminError."""
    known = sorted({*names} & there.metadata.topics.keys())
    settings = topics.describe(admin, "TOPIC", known) if known else {}
    return {name: one[MIN_ISR].value or None for name, one in sorted(settings.items()) if MIN_ISR in one}


def too_few_again(admin: Admin, there: snapshot.Seen, moves: Collection[Move]) -> list[str]:
    """Refuse to take replicas away that a topic needs by now to be written to. Raises AdminError.

    That a restart of one broker would stop writes is no reason: it may have been so before.
    """
    factors: dict[str, int] = {}
    for move in moves:
        if len(move.after) < len(move.before):
            factors[move.topic] = min(len(move.after), factors.get(move.topic, len(move.after)))
    return [
        f"topic {name}: it would have {factors[name]} replica{'s' * (factors[name] > 1)} again, and "
        f"min.insync.replicas is {least} by now: nothing could be written; set that to {factors[name]} first"
        for name, least in needed(admin, factors, there).items()
        if least and int(least) > factors[name]
    ]


def go_on(request: Asked, there: snapshot.Seen, declared: Mapping[int, Rack], begun: Record, admin: Admin) -> Work:
    """Return what an interrupted run left. Raises Refused, AdminError."""
    now = standing(begun, there.metadata, there.running)
    told = [f"an interrupted run goes on: {len(now.done)} of {len(begun.moves)} partitions are moved"]
    told += notes_on_a_cancel(begun, there, now) if begun.back else []
    roomless, full, wrong = without_room(there, now, begun.back)
    skipped = {*roomless}
    left = [*now.running, *(one for one in now.waiting if one not in skipped), *now.turned]
    wrong += foreign(begun, there, now)
    told += [f"note: {snapshot.no_room([str(one) for one in roomless], full)}"] if roomless else []
    if left and not begun.back:  # a cancel must come to its end whatever has died
        wrong += otherwise(request, begun, left) + kept_from(begun, there, declared, now)
        wrong += too_few(admin, request, there, begun.factors)
    if begun.back:
        wrong += too_few_again(admin, there, now.waiting)
    if wrong:
        mended = ONCE_MENDED if begun.back else MENDED
        raise Refused(listed("nothing more was moved, and what was begun stays written down", wrong) + mended)
    rate = request.rate if request.limited else begun.rate
    notes = [f"note: {text}" for text in later(request, begun, there.metadata.topics)]
    made, off = replace(begun, rate=rate, timer=request.timer), now.turned if begun.back else ()
    return Work(made, told + lines(begun, there, left) + notes, left, off, roomless, full)


def kept_from(begun: Record, there: snapshot.Seen, declared: Mapping[int, Rack], now: Standing) -> list[str]:
    """Return why what is left of a run cannot be done any more: who was to get it, who keeps it, and who has it."""
    left, begun_already = [*now.running, *now.waiting], {move.place for move in (*now.running, *now.turned)}
    lacks: dict[tuple[int, str, str], list[str]] = {}
    strange: dict[int, list[str]] = {}
    for one in feasibility.outlooks(left, there.metadata, there.running, lost_brokers.seen_given_up(there, left)):
        for broker, why in one.lacks.items():
            gets = broker in one.move.added
            if gets or one.move.place in begun_already:  # what is not begun is under-replicated, and refused for that
                lacks.setdefault((broker, why, "is to get" if gets else "is to have"), []).append(str(one.move))
        for broker in one.move.added:
            if declared and broker in there.metadata.brokers and broker not in declared:
                strange.setdefault(broker, []).append(str(one.move))
    wrong = [
        f"broker {broker} {why}, and {what} {snapshot.named(names)}: {feasibility.cure(why)}"
        for (broker, why, what), names in sorted(lacks.items())
    ]
    wrong += [
        f"broker {one} is not in the inventory any more, and is to get {snapshot.named(names)}: add its host again"
        for one, names in sorted(strange.items())
    ]
    return wrong + snapshot.unwell(there, begun_already, begun.leaving)


def notes_on_a_cancel(begun: Record, there: snapshot.Seen, now: Standing) -> list[str]:
    """Return what of a cancel cannot go back, or cannot be called off, as things are."""
    left = [*now.running, *now.waiting]
    found = feasibility.outlooks(left, there.metadata, there.running, lost_brokers.seen_given_up(there, left))
    off = feasibility.outlooks(now.turned, there.metadata, there.running)
    return [f"note: {text}" for text in (*lost_brokers.told(found), *(one.kept for one in off if one.alone))]


def without_room(there: snapshot.Seen, now: Standing, back: bool) -> tuple[list[Move], list[str], list[str]]:
    """Return what is not begun for want of room, the disks that would be full, and those for which all is refused.

    A cancel leaves out what would come to such disks, where it has anything else to do: what is called off gives room.
    """
    coming = [*now.running, *now.waiting, *([] if back else now.turned)]
    full = snapshot.overfull(snapshot.disks_after(there, coming))
    brokers, texts = {broker for broker, _ in full}, [text for _, text in full]
    roomless = {one for one in now.waiting if brokers & {*one.added}}
    if back and (now.running or now.turned or len(roomless) < len(now.waiting)):
        return [one for one in now.waiting if one in roomless], texts if roomless else [], []
    return [], [], texts


def foreign(begun: Record, there: snapshot.Seen, now: Standing) -> list[str]:
    """Return what somebody else moves besides. What a cancel is still to call off is our own."""
    others = sorted(there.running.keys() - {move.place for move in begun.moves})
    turned = [move for move in now.turned if not begun.back or there.running[move.place].target != move.before]
    names = [f"{topic}-{number}" for topic, number in others] + [str(move) for move in turned]
    told = f"replicas of {snapshot.named(names)} are being moved by somebody else: wait until that has ended"
    return [told] if names else []


def put_back(
    request: Asked, there: snapshot.Seen, declared: Mapping[int, Rack], begun: Record | None, admin: Admin
) -> Work | None:
    """Return what takes a plan back: what is on the move is called off, what was moved goes back. Raises Refused."""
    if begun is None:
        if there.running:
            raise Refused(
                f"{snapshot.named([f'{t}-{n}' for t, n in sorted(there.running)])} are on the move, and this "
                "control node has no record of it: cancel where it was begun, or with "
                "kafka-reassign-partitions.sh --cancel"
            )
        return None
    if begun.back:
        return go_on(request, there, declared, begun, admin)
    now = standing(begun, there.metadata, there.running)
    gone = {move.place for move in now.gone}
    back = begun.reversed(tuple(move for move in begun.moves if move.place not in gone))
    back = replace(back, rate=request.rate if request.limited else begun.rate)
    left = standing(back, there.metadata, there.running)
    told = [f"{begun.asked} is put back: {len(left.running) + len(left.turned)} partitions are called off"]
    told += notes_on_a_cancel(back, there, left)
    told += [f"note: {strangers(now.gone)}"] if now.gone else []
    roomless, full, wrong = without_room(there, left, back=True)
    skipped = {*roomless}
    moves = [one for one in left.waiting if one not in skipped]
    told += [f"note: {snapshot.no_room([str(one) for one in roomless], full)}"] if roomless else []
    wrong += foreign(begun, there, now)
    if few := too_few_again(admin, there, moves):
        wrong += [f"{text}, or go on with what was begun ({begun.typed})" for text in few]
    if wrong:
        raise Refused(listed("nothing was put back", wrong))
    going = [*left.running, *left.turned, *moves]
    return Work(back, told + lines(back, there, moves), going, left.turned, roomless, full)
