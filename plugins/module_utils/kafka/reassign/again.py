"""An interrupted run goes on, or is put back: what was refused at first is looked at again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import absent, seen
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.asked import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.declared import later, otherwise
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.ending import strangers
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Standing, standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.work import Work, lines, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import durability

MIN_ISR = "min.insync.replicas"
MENDED = "\nthen run the same again, or call it off with -e cancel=true"
SET_FIRST = "; resources.yml sets it while the topic is declared with the replicas that it has"


def too_few(admin: Admin, request: Asked, there: seen.Seen, only: Collection[str] = ()) -> list[str]:
    """Refuse fewer replicas than a topic, of `only` these where some are named, needs to be written to.

    Raises AdminError.
    """
    factors = {name: one for name, one in request.wish.factors.items() if name in only or not only}
    found = needed(admin, factors, there)
    advice = SET_FIRST if request.declared else ""
    return [f"topic {name}: {why}{advice}" for name, least in found.items() for why in durability(factors[name], least)]


def needed(admin: Admin, names: Collection[str], there: seen.Seen) -> dict[str, str | None]:
    """Return min.insync.replicas of these topics, of those that are there. Raises AdminError."""
    known = sorted({*names} & there.metadata.topics.keys())
    settings = topics.describe(admin, "TOPIC", known) if known else {}
    return {name: one[MIN_ISR].value or None for name, one in sorted(settings.items()) if MIN_ISR in one}


def too_few_again(admin: Admin, there: seen.Seen, moves: Collection[Move]) -> list[str]:
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


def go_on(request: Asked, there: seen.Seen, declared: Mapping[int, Rack], begun: Record, admin: Admin) -> Work:
    """Return what an interrupted run left. Raises Refused, AdminError."""
    now = standing(begun, there.metadata, there.running)
    told = [f"an interrupted run goes on: {len(now.done)} of {len(begun.moves)} partitions are moved"]
    if begun.back:
        begun, now, stuck = without_the_dead(begun, there)
        told += [f"note: {text}" for text in absent.left([*now.lost, *stuck])]
    left = [*now.running, *now.waiting, *now.turned]
    wrong = foreign(begun, there, now) + seen.too_full(seen.disks_after(there, left))
    if left and not begun.back:  # a cancel must come to its end whatever has died
        wrong += otherwise(request, begun, left) + kept_from(begun, there, declared, now)
        wrong += too_few(admin, request, there, begun.factors)
    if begun.back:
        wrong += too_few_again(admin, there, now.waiting)
    if wrong:
        raise Refused(listed("nothing more was moved, and what was begun stays written down", wrong) + MENDED)
    rate = request.rate if request.limited else begun.rate
    notes = [f"note: {text}" for text in later(request, begun, there.metadata.topics)]
    return Work(replace(begun, rate=rate, timer=request.timer), told + lines(begun, there, left) + notes, left)


def kept_from(begun: Record, there: seen.Seen, declared: Mapping[int, Rack], now: Standing) -> list[str]:
    """Return why what is left of a run cannot be done any more: who was to get it, and who has it."""
    gets: dict[int, list[str]] = {}
    for move in (*now.running, *now.waiting):
        for broker in move.added:
            gets.setdefault(broker, []).append(str(move))
    brokers = there.metadata.brokers
    wrong = [
        f"broker {one} is down, and is to get {seen.named(names)}: start it"
        for one, names in sorted(gets.items())
        if one not in brokers
    ]
    wrong += [
        f"broker {one} is not in the inventory any more, and is to get {seen.named(names)}: add its host again"
        for one, names in sorted(gets.items())
        if declared and one in brokers and one not in declared
    ]
    return wrong + seen.unwell(there, {move.place for move in (*now.running, *now.turned)}, begun.leaving)


def foreign(begun: Record, there: seen.Seen, now: Standing) -> list[str]:
    """Return what somebody else moves besides. What a cancel is still to call off is our own."""
    others = sorted(there.running.keys() - {move.place for move in begun.moves})
    turned = [move for move in now.turned if not begun.back or there.running[move.place].target != move.before]
    names = [f"{topic}-{number}" for topic, number in others] + [str(move) for move in turned]
    told = f"replicas of {seen.named(names)} are being moved by somebody else: wait until that has ended"
    return [told] if names else []


def without_the_dead(begun: Record, there: seen.Seen) -> tuple[Record, Standing, list[Move]]:
    """Return a cancel without what brokers that are away would have to copy, how far it is, and what is on its way.

    What is on its way to them stays in the record: it is our own, and is called off while they are away.
    """
    dead = absent.takers(begun) - there.metadata.brokers.keys()
    now = standing(begun, there.metadata, there.running, dead)
    lost = {move.place for move in now.lost}
    begun = replace(begun, moves=tuple(move for move in begun.moves if move.place not in lost))
    stuck = [move for move in now.running if dead & {*move.added}]
    return begun, replace(now, running=[move for move in now.running if not dead & {*move.added}]), stuck


def put_back(
    request: Asked, there: seen.Seen, declared: Mapping[int, Rack], begun: Record | None, admin: Admin
) -> Work | None:
    """Return what takes a plan back: what is on the move is called off, what was moved goes back. Raises Refused."""
    if begun is None:
        if there.running:
            raise Refused(
                f"{seen.named([f'{t}-{n}' for t, n in sorted(there.running)])} are on the move, and this control node "
                "has no record of it: cancel where it was begun, or with kafka-reassign-partitions.sh --cancel"
            )
        return None
    if begun.back:
        return go_on(request, there, declared, begun, admin)
    now = standing(begun, there.metadata, there.running)
    lost = [move for move in now.done if set(move.before) - there.metadata.brokers.keys() - set(move.after)]
    dropped = {move.place for move in (*lost, *now.gone)}
    kept = tuple(move for move in begun.moves if move.place not in dropped)
    back = begun.reversed(kept)
    back = replace(back, rate=request.rate if request.limited else begun.rate)
    left = standing(back, there.metadata, there.running)
    told = [f"{begun.asked} is put back: {len(left.running) + len(left.turned)} partitions are called off"]
    told += [f"note: {text}" for text in absent.left(lost)]
    told += [f"note: {strangers(now.gone)}"] if now.gone else []
    moves = [*left.waiting]
    wrong = foreign(begun, there, now) + seen.too_full(seen.disks_after(there, moves))
    if few := too_few_again(admin, there, moves):
        wrong += [f"{text}, or go on with what was begun ({begun.typed})" for text in few]
    if wrong:
        raise Refused(listed("nothing was put back", wrong))
    return Work(back, told + lines(back, there, moves), [*left.running, *left.turned, *moves])
