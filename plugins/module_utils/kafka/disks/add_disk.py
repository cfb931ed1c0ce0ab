"""A broker takes in a new disk: what is looked at before, the limits of its copies, the wait until all is in sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import folders, new_disk
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.new_disk import NewDisk
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, control, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import NAMED, Work, busiest, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Run, Standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import DISK, Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import carry_on, progress
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

AGAIN = "run the same again to go on, with another rate if need be"


@dataclass(frozen=True)
class Asked:
    """One request."""

    disk: NewDisk
    rate: int | None = None
    """Bytes a second of each broker; None without a limit."""
    limited: bool = False
    """Whether a rate was said, `unlimited` among them."""


@dataclass(frozen=True)
class Planned:
    """What is to be done."""

    work: Work
    restart: bool
    """Whether the broker has to be started, or restarted, to take the disk in."""
    interrupted: bool = False
    """Whether an earlier run has not come to its end."""

    @property
    def needed(self) -> bool:
        """Tell whether there is anything to do."""
        return self.restart or self.interrupted or bool(self.work.left)


def prepare(asked: Asked, there: snapshot.Seen, begun: Record | None) -> Planned:
    """Return what is to be done. Raises Refused."""
    disk, partitions = asked.disk, there.metadata.partitions
    wrong = new_disk.refusals(disk, there.metadata.cluster_id) or new_disk.held_open(disk, there.dirs)
    if begun and begun.asked != disk.words:
        wrong.append(
            f"an earlier run, {begun.asked}, was interrupted: run that again first "
            f"({begun.typed}), or -e cancel=true, which takes its limits back"
        )
    serving = new_disk.serves(disk, there.dirs)
    lived = new_disk.lacked(disk, partitions, serving)
    if begun:  # what is in sync by now, too; what came since may be on the disk, and stands in no record
        places = {move.place for move in begun.moves} | {(one.topic, one.number) for one in lived}
        lived = [one for one in partitions if (one.topic, one.number) in places and disk.broker in one.replicas]
    moves = [_move(one, disk.broker, there.sizes) for one in lived]
    behind = [move for move, one in zip(moves, lived, strict=True) if not (serving and disk.broker in one.isr)]
    if not serving:
        wrong += new_disk.last_copies(disk, lived)
    wrong += no_room(disk, there, behind)
    if wrong:
        raise Refused(listed("nothing was changed", wrong))
    rate = asked.rate if asked.limited or not begun else begun.rate
    lost = () if serving else tuple(sorted(str(one) for one in lived if str(one) in disk.lost))
    made = begun or Record(disk.words, (), rate, (), kind=DISK, broker=disk.broker)
    made = replace(made, rate=rate, moves=tuple(moves), lost=lost)
    return Planned(Work(made, lines(disk, made, behind, lived, serving), behind), not serving, begun is not None)


def _move(one: Partition, broker: int, sizes: Mapping[tuple[str, int], int]) -> Move:
    """Return a replica that comes back as if it were new: for its limits, and for how far it is."""
    others = tuple(replica for replica in one.replicas if replica != broker)
    return Move(one.topic, one.number, others, (*others, broker), sizes.get((one.topic, one.number), 0))


def no_room(disk: NewDisk, there: snapshot.Seen, behind: Sequence[Move]) -> list[str]:
    """Return which log dirs would not hold what comes to them, by what the broker's host says of them.

    What a replica has there already, after an interruption or on a disk that was repaired, comes to it no more. The
    broker says how much, where it serves; else what is in use of the disk counts as theirs, by their sizes.
    """
    ours = [one for one in there.dirs if one.broker == disk.broker]
    told = {(one.path, place): size for one in ours for place, size in one.sizes.items()}
    own = []
    for path, mount in disk.mounts.items():
        whole = {place: there.sizes.get(place, 0) for place in folders.replicas(mount.get("names", []))}
        share = min(1, max(0, (mount.get("size") or 0) - (mount.get("free") or 0)) / max(1, sum(whole.values())))
        sizes = {place: told.get((path, place), int(size * share)) for place, size in whole.items()}
        own.append(LogDir(disk.broker, path, mount.get("size"), mount.get("free"), sizes))
    others = [one for one in there.dirs if one.broker != disk.broker]
    return snapshot.too_full(snapshot.disks_after(replace(there, dirs=[*others, *own]), behind))


def lines(disk: NewDisk, made: Record, behind: Sequence[Move], lived: Sequence[Partition], serving: bool) -> list[str]:
    """Return what a person is told before."""
    size = sum(move.bytes for move in behind)
    told = [f"{disk.words}: {len(behind)} replicas are copied anew, {amounts.size(size)}"]
    if behind and made.rate:
        each = f"{amounts.speed(made.rate)} a second of each broker"
        told.append(f"at {each} that takes {amounts.time(max(busiest(behind, lived) / made.rate, 1))} or more")
    if disk.here and not serving:
        told.append(f"the disk holds {folders.named(disk.here)} of this broker, which go on from there")
    if made.lost:
        told.append(f"the records of {', '.join(made.lost)} are given up")
    how = f"broker {disk.broker} serves from {disk.path} already: it is not restarted"
    told.append(how if serving else f"broker {disk.broker} is restarted through the gate, or started where it is down")
    named = sorted(behind, key=lambda one: (-one.bytes, one.place))
    told += [f"  {move}: from {','.join(map(str, move.before))}, {amounts.size(move.bytes)}" for move in named[:NAMED]]
    return told + ([f"  and {len(named) - NAMED} more"] if len(named) > NAMED else [])


def begin(admin: Admin, planned: Planned, path: Path) -> None:
    """Write down what is begun, and set its limits. Raises Unfinished, OSError."""
    try:
        control.begin(admin, planned.work.record, path)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; {AGAIN}", {"changed": True}) from error


def called_off(admin: Admin, begun: Record | None, path: Path, check: bool) -> dict[str, Any]:
    """Take back the limits of a run that was interrupted, and forget it; what was copied stays.

    Raises Unfinished, OSError.
    """
    if begun is None:
        return {"changed": False, "answer": "no run was interrupted: nothing to call off"}
    try:
        left = [] if check else control.taken_back(admin, begun, path)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; run the same again", {"changed": True}) from error
    answer = f"{begun.asked} is called off: its limits are taken back, and what was copied stays"
    whose = {} if begun.broker is None else {"broker": begun.broker}
    return {"changed": True, "notes": left, "answer": answer, **whose}


def wait(
    admin: Admin, made: Record, disk: NewDisk, path: Path, pause: float, waited: Mapping[str, Any]
) -> dict[str, Any]:
    """Wait for `pause` seconds (0: to the end) until the broker is in sync with all of them.

    Raises Unfinished, OSError.
    """

    def look(run: Run) -> Standing:
        metadata = run.metadata = snapshot.at_controller(admin, admin.metadata(), made.moves)
        return standing(made, disk.broker, metadata.partitions)

    try:
        if not waited:  # one that was down before could not be told its limits; what comes to the disk now is its own
            made = control.begin(admin, replace(made, lost=()), path)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; {AGAIN}", {"changed": True}) from error
    run = Run(admin, made, progress(waited), AGAIN, "with the same again", look=look)
    return carry_on(run, pause, lambda: ended(run, disk, path))


def standing(made: Record, broker: int, partitions: Sequence[Partition]) -> Standing:
    """Sort the replicas by whether they are in sync; one whose topic was deleted, or that was moved away, is gone.

    What the broker has on its other disks is waited for as well, where somebody leads it: it may have been down.
    """
    there = {(one.topic, one.number): one for one in partitions}
    found: dict[str, list[Move]] = {"done": [], "running": [], "gone": []}
    for move in made.moves:
        one = there.get(move.place)
        kind = "gone" if one is None or broker not in one.replicas else "done" if broker in one.isr else "running"
        found[kind].append(move)
    ours = {move.place for move in made.moves}
    found["running"] += [
        _move(one, broker, {})
        for place, one in there.items()
        if place not in ours and one.leader >= 0 and broker in set(one.replicas) - set(one.isr)
    ]
    return Standing(**found)


def ended(run: Run, disk: NewDisk, path: Path) -> dict[str, Any]:
    """Take the limits back, see that the broker serves from the disk, forget the record.

    Raises Unfinished, AdminError.
    """

    def look() -> list[str]:
        if new_disk.serves(disk, log_dirs(run.admin, [disk.broker])):
            return []
        text = f"all is in sync, and broker {disk.broker} does not serve from {disk.path}: its log says why"
        raise Unfinished(f"{text} (journalctl -u kafka); {AGAIN}", {"changed": True})

    left = control.taken_back(run.admin, run.record, path, look)
    done = control.copied(run)
    words = (
        f"broker {disk.broker} serves from {disk.path}: {len(run.now.done)} replicas, {amounts.size(done['bytes'])}, "
        f"are in sync after {amounts.time(done['seconds'])}"
    )
    return {"changed": bool(run.now.done), **done, "notes": left, "answer": words}
