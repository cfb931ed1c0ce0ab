"""Plans moves, carries them out, goes on where another run stopped, puts them back: what a module is asked to do."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import Refused, Unfinished
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, record, seen, throttles
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.arrivals import Progress
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.asked import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import (
    PART,
    QUIET,
    STALLED,
    Run,
    Standing,
    come,
    standing,
    strangers,
    verified,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move, plan
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import durability

MIN_ISR = "min.insync.replicas"
NAMED = 20
"""Moves that a plan names; the others are counted."""
AGAIN = "run the same again to go on, with another rate if need be, or with cancel=true to put everything back"
Result = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """What is to be done, and what a person is told of it before."""

    record: Record
    lines: Sequence[str] = ()
    left: Sequence[Move] = ()
    """The moves of the record that are not made yet."""

    @property
    def name(self) -> str:
        """Return what tells this plan from another: from where to where each partition goes, and not its bytes."""
        moves = sorted((one.topic, one.number, one.before, one.after) for one in self.record.moves)
        return hashlib.sha256(json.dumps(moves).encode()).hexdigest()[:8]

    @property
    def text(self) -> list[str]:
        """Return what is printed of it."""
        return [*self.lines, f"plan {self.name} (-e plan={self.name} runs this one, and no other)"]


def prepare(
    request: Asked, there: seen.Seen, declared: Mapping[int, Rack], begun: Record | None, admin: Admin
) -> Work | None:
    """Return what is to be done, None where there is nothing. Raises Refused, AdminError."""
    there = replace(there, metadata=seen.at_controller(admin, there.metadata, begun.moves if begun else ()))
    if request.cancel:
        return put_back(request, there, begun)
    if begun:
        if begun.asked != request.words:
            raise Refused(
                f"an earlier run, {begun.asked}, was interrupted with "
                f"{len(standing(begun, there.metadata, there.running).done)} of {len(begun.moves)} partitions moved: "
                f"run that again first (-e {begun.asked.replace(' ', ' -e ')}), or -e cancel=true, which puts back "
                "what it moved"
            )
        return go_on(request, there, begun)
    wrong = unknown(request, there) + seen.in_the_way(there, request.wish, declared)
    found = plan(request.wish, there.racks, there.partitions(request.topics), declared) if not wrong else None
    if found:
        wrong += [*found.refusals, *seen.too_full(seen.disks_after(there, found.moves))]
        wrong += too_few(admin, request, there)
    if wrong or not found:
        raise Refused(listed("nothing was moved", wrong))
    leaving = tuple(sorted(request.wish.leaving))
    made = Record(request.words, leaving, request.rate, tuple(found.moves), topics=request.topics)
    told = lines(made, there, found.moves) + [f"note: {text}" for text in found.notes]
    return Work(made, told, found.moves) if found.moves else None


def unknown(request: Asked, there: seen.Seen) -> list[str]:
    """Return the topics that are named and not there."""
    known = there.metadata.topics
    return [f"there is no topic {name}" for name in request.topics if name not in known]


def too_few(admin: Admin, request: Asked, there: seen.Seen) -> list[str]:
    """Refuse fewer replicas than a topic needs to be written to. Raises AdminError."""
    factor = request.wish.factor
    if factor is None:
        return []
    settings = topics.describe(admin, "TOPIC", [name for name in request.topics if name in there.metadata.topics])
    found = {name: one[MIN_ISR].value or None for name, one in sorted(settings.items()) if MIN_ISR in one}
    return [f"topic {name}: {why}" for name, least in found.items() for why in durability(factor, least)]


def go_on(request: Asked, there: seen.Seen, begun: Record) -> Work:
    """Return what an interrupted run left. Raises Refused where somebody else moves something besides."""
    now = standing(begun, there.metadata, there.running)
    alone(begun, there, now)
    told = [f"an interrupted run goes on: {len(now.done)} of {len(begun.moves)} partitions are moved"]
    if begun.back and (lost := [move for move in now.waiting if cannot_return(move, there)]):
        begun = replace(begun, moves=tuple(move for move in begun.moves if move not in lost))
        now = standing(begun, there.metadata, there.running)
        told.append(f"note: {seen.named([str(one) for one in lost])} stay: a broker that had them is away")
    left = [*now.running, *now.waiting, *now.turned]
    rate = request.rate if request.limited else begun.rate
    return Work(replace(begun, rate=rate), told + lines(begun, there, left), left)


def alone(begun: Record, there: seen.Seen, now: Standing) -> None:
    """Raise Refused where somebody else moves something besides. What a cancel is still to call off is our own."""
    foreign = sorted(there.running.keys() - {move.place for move in begun.moves})
    turned = [move for move in now.turned if not begun.back or there.running[move.place].target != move.before]
    if foreign or turned:
        names = [f"{topic}-{number}" for topic, number in foreign] + [str(move) for move in turned]
        raise Refused(f"replicas of {seen.named(names)} are being moved by somebody else: wait until that has ended")


def cannot_return(move: Move, there: seen.Seen) -> bool:
    """Tell whether a broker that would have to copy it is away."""
    has = next((one.replicas for one in there.metadata.partitions if (one.topic, one.number) == move.place), ())
    return bool(set(move.after) - there.metadata.brokers.keys() - {*has})


def put_back(request: Asked, there: seen.Seen, begun: Record | None) -> Work | None:
    """Return what takes a plan back: what is on the move is called off, what was moved goes back. Raises Refused."""
    if begun is None:
        if there.running:
            raise Refused(
                f"{seen.named([f'{t}-{n}' for t, n in sorted(there.running)])} are on the move, and this control node "
                "has no record of it: cancel where it was begun, or with kafka-reassign-partitions.sh --cancel"
            )
        return None
    if begun.back:
        return go_on(request, there, begun)
    now = standing(begun, there.metadata, there.running)
    alone(begun, there, now)
    lost = [move for move in now.done if set(move.before) - there.metadata.brokers.keys() - set(move.after)]
    kept = tuple(move for move in begun.moves if move not in lost and move not in now.gone)
    back = begun.reversed(kept)
    back = replace(back, rate=request.rate if request.limited else begun.rate)
    left = standing(back, there.metadata, there.running)
    told = [f"{begun.asked} is put back: {len(left.running) + len(left.turned)} partitions are called off"]
    told += [f"note: {seen.named([str(one) for one in lost])} stay: a broker that had them is away"] if lost else []
    moves = [*left.waiting]
    if wrong := seen.too_full(seen.disks_after(there, moves)):
        raise Refused(listed("nothing was put back", wrong))
    return Work(back, told + lines(back, there, moves), [*left.running, *left.turned, *moves])


def listed(what: str, wrong: Sequence[str]) -> str:
    """Return all that is wrong, one in a line."""
    return f"{what}: {len(wrong)} refused" + "".join(f"\n- {text}" for text in wrong)


def lines(made: Record, there: seen.Seen, moves: Sequence[Move]) -> list[str]:
    """Return a plan for a person: what is copied, for how long, what brokers hold before and after."""
    copies, size = sum(len(move.added) for move in moves), sum(move.bytes for move in moves)
    fewer = sum(len(move.after) < len(move.before) for move in moves)
    orders = sum(not move.added and len(move.after) == len(move.before) for move in moves)
    text = f"{made.asked}: {len(moves)} partitions change; {copies} replicas are copied, {amounts.size(size)}"
    text += f"; {fewer} lose replicas" if fewer else ""
    text += f"; {orders} only change the order of their replicas" if orders else ""
    told = [text]
    if copies and made.rate:
        each = f"{amounts.speed(made.rate)} a second of each broker"
        told.append(f"at {each} that takes {amounts.time(max(busiest(moves) / made.rate, 1))} or more")
    named = [
        f"  {move}: {','.join(map(str, move.before))} -> {','.join(map(str, move.after))}, {amounts.size(move.bytes)}"
        for move in sorted(moves, key=lambda one: (-one.bytes, one.place))[:NAMED]
    ]
    named += [f"  and {len(moves) - NAMED} more"] if len(moves) > NAMED else []
    return [*told, *named, *(f"  {row}" for row in seen.before_and_after(there, moves))]


def busiest(moves: Sequence[Move]) -> int:
    """Return the bytes of the broker that sends or takes most: that long it lasts."""
    sends, takes = Counter[int](), Counter[int]()
    for move in moves:
        sends[move.before[0]] += move.bytes
        for broker in move.added:
            takes[broker] += move.size
    return max([*sends.values(), *takes.values()], default=0)


def told(work: Work | None, nothing: str) -> Result:
    """Return what a module answers of a plan."""
    if work is None:
        return {"changed": False, "plan": [nothing], "moved": []}
    size = sum(move.bytes for move in work.left)
    return {"changed": True, "plan": work.text, "moved": [str(move) for move in work.left], "bytes": size}


def meant(work: Work, name: str) -> None:
    """Raise Refused where somebody looked at another plan than this one."""
    if name and name != work.name:
        text = "".join(f"\n{line}" for line in work.text)
        raise Refused(f"nothing was moved: it would not be plan {name} any more, for the cluster has changed:{text}")


def carried_out(admin: Admin, work: Work, path: Path, brokers: Collection[int], pause: float) -> Result:
    """Begin; carry it to its end, or with `pause` leave that to the next call, so that its plan can be said before.

    Raises Unfinished, OSError.
    """
    try:
        made = begin(admin, work, path, brokers)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; {AGAIN}", {"changed": True, "plan": work.text}) from error
    if not pause:
        return {**carried_on(admin, made, path, pause, {}), "plan": work.text}
    time = waits.now()
    return {**told(work, ""), "waiting": waits.waiting(["it begins"], 0, **asdict(Progress(time, time, moved=time)))}


def carried_on(admin: Admin, made: Record, path: Path, pause: float, waited: Mapping[str, Any]) -> Result:
    """Carry on for `pause` seconds (0: to the end). Raises Unfinished, OSError."""
    try:
        return carry_on(admin, made, path, pause, waited)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; {AGAIN}", {"changed": True}) from error


def begin(admin: Admin, work: Work, path: Path, brokers: Collection[int]) -> Record:
    """Write down what is begun, and set its limits. Raises AdminError, OSError."""
    if work.record.rate is None:
        throttles.take_out(admin, work.record, brokers)
        away = {broker: rates for broker, rates in work.record.rates.items() if int(broker) not in {*brokers}}
        made = replace(work.record, lists={}, rates=away)
    else:
        made = throttles.planned(admin, work.record, brokers)
    record.save(path, made)
    throttles.put_in(admin, made, brokers)
    return made


def carry_on(admin: Admin, made: Record, path: Path, pause: float, waited: Mapping[str, Any]) -> Result:
    """Move for `pause` seconds (0: to the end); return what is waited for, or what was done.

    Raises Unfinished, AdminError.
    """
    time = waits.now()
    run = Run(admin, made, Progress(**waited) if waited else Progress(time, time, moved=time))
    while True:
        now, done = run.until_done(pause or PART)
        if done:
            return ended(admin, made, now, path, run.progress.begun)
        far = run.words(now)
        stalled = waits.now() - run.progress.moved > STALLED
        words = "; ".join([far, *run.stuck(0 if stalled else QUIET)])
        if run.short and waits.now() - run.progress.short > STALLED:
            raise Unfinished(f"{run.short}, with the same again, or cancel=true ({words})", {"changed": True})
        if stalled:
            raise Unfinished(f"nothing was copied for {STALLED:.0f} s ({words}); {AGAIN}", {"changed": True})
        if pause:
            return {"changed": True, "waiting": waits.waiting([words], 0, **asdict(run.progress))}


def ended(admin: Admin, made: Record, now: Standing, path: Path, begun: float) -> Result:
    """Take the limits back, look at all once more, and forget the record. Raises Unfinished, AdminError."""
    metadata = seen.at_controller(admin, admin.metadata(), made.moves)
    left = throttles.take_out(admin, made, metadata.brokers)
    wrong, away = verified(made, metadata)
    if wrong:
        raise Unfinished(f"all is moved, and {'; '.join(wrong[:5])}; {AGAIN}", {"changed": True})
    path.unlink(missing_ok=True)
    notes = [*left, *away, *come(made, metadata), *([strangers(now.gone)] if now.gone else [])]
    done = {"moved": [str(move) for move in now.done], "bytes": sum(move.bytes for move in now.done)}
    return {"changed": True, **done, "seconds": round(waits.now() - begun, 1), "notes": notes}
