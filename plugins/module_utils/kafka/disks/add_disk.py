"""Replaces a failed disk of a broker: checks, throttles for the copies, and the wait until all replicas are in sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import folders, new_disk
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.new_disk import NewDisk
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import (
    amounts,
    control,
    snapshot,
    wait_progress,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import NAMED, Work, busiest, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.execution import Run, Standing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import DISK, Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import carry_on, progress
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

AGAIN = wait_progress.ON


@dataclass(frozen=True)
class Request:
    """The parsed options for the replacement of one disk of a broker."""

    disk: NewDisk
    rate: int | None = None
    """Bytes a second that each broker may copy; None without a limit."""
    limited: bool = False
    """Whether the option `rate` was set; `unlimited` is a value of this option."""


@dataclass(frozen=True)
class Planned:
    """The plan of the run that puts a new disk into use."""

    work: Work
    restart: bool
    """Whether the broker has to be started or restarted to use the disk."""
    interrupted: bool = False
    """Whether an earlier run was interrupted."""

    @property
    def needed(self) -> bool:
        """Tell whether the run has anything to do: restart the broker, copy replicas, or end an interrupted run."""
        return self.restart or self.interrupted or bool(self.work.left)


def prepare(request: Request, there: snapshot.Snapshot, begun: Record | None) -> Planned:
    """Return the plan for the new disk.

    `there` is the state of the cluster. `begun` is the record of an earlier run that has not ended, None if there is
    none. Raises Refused with all reasons if the broker may not use the disk.
    """
    disk, partitions = request.disk, there.metadata.partitions
    reasons = new_disk.refusals(disk, there.metadata.cluster_id) or new_disk.held_open(disk, there.dirs)
    if begun and begun.asked != disk.words:
        reasons.append(
            f"an earlier run, {begun.asked}, was interrupted: run it again first "
            f"({begun.typed}), or -e cancel=true, which removes its throttles"
        )
    serving = new_disk.serves(disk, there.dirs)
    lacked = new_disk.lacked(disk, partitions, serving)
    if begun:  # replicas that are in sync by now, too; newer partitions may be on the disk but in no record
        places = {move.place for move in begun.moves} | {(one.topic, one.number) for one in lacked}
        lacked = [one for one in partitions if (one.topic, one.number) in places and disk.broker in one.replicas]
    moves = [_move(one, disk.broker, there.sizes) for one in lacked]
    behind = [move for move, one in zip(moves, lacked, strict=True) if not (serving and disk.broker in one.isr)]
    if not serving:
        reasons += new_disk.last_copies(disk, lacked)
    reasons += no_room(disk, there, behind)
    if reasons:
        raise Refused(listed("nothing was changed", reasons))
    rate = request.rate if request.limited or not begun else begun.rate
    lost = () if serving else tuple(sorted(str(one) for one in lacked if str(one) in disk.lost))
    made = begun or Record(disk.words, (), rate, (), kind=DISK, broker=disk.broker)
    made = replace(made, rate=rate, moves=tuple(moves), lost=lost)
    return Planned(Work(made, lines(disk, made, behind, lacked, serving), behind), not serving, begun is not None)


def _move(one: Partition, broker: int, sizes: Mapping[tuple[str, int], int]) -> Move:
    """Describe the replica that `broker` has to recreate as a Move to that broker, for throttles and progress."""
    others = tuple(replica for replica in one.replicas if replica != broker)
    return Move(one.topic, one.number, others, (*others, broker), sizes.get((one.topic, one.number), 0))


def no_room(disk: NewDisk, there: snapshot.Snapshot, behind: Sequence[Move]) -> list[str]:
    """Return an error text for each of the broker's log dirs that is too small for the replicas to copy (`behind`).

    Bytes that a disk holds already (after an interruption, or on a repaired disk) are not counted twice. The broker
    reports the size of each replica for log dirs that it uses. For other log dirs, the used bytes of the disk are
    divided in proportion to the sizes of the replicas.
    """
    ours = [one for one in there.dirs if one.broker == disk.broker]
    reported = {(one.path, place): size for one in ours for place, size in one.sizes.items()}
    own = []
    for path, mount in disk.mounts.items():
        whole = {place: there.sizes.get(place, 0) for place in folders.replicas(mount.get("names", []))}
        share = min(1, max(0, (mount.get("size") or 0) - (mount.get("free") or 0)) / max(1, sum(whole.values())))
        sizes = {place: reported.get((path, place), int(size * share)) for place, size in whole.items()}
        own.append(LogDir(disk.broker, path, mount.get("size"), mount.get("free"), sizes))
    others = [one for one in there.dirs if one.broker != disk.broker]
    return snapshot.too_full(snapshot.disks_after(replace(there, dirs=[*others, *own]), behind))


def lines(disk: NewDisk, made: Record, behind: Sequence[Move], lacked: Sequence[Partition], serving: bool) -> list[str]:
    """Return the plan as lines for the user: bytes to copy, duration, and whether the broker is restarted.

    `behind` are the replicas to copy, `lacked` their partitions. `made` is the record of the run. `serving` tells
    whether the broker uses the disk already.
    """
    size = sum(move.bytes for move in behind)
    text = [f"{disk.words}: {len(behind)} replicas are copied to the disk, {amounts.size(size)}"]
    if behind and made.rate:
        seconds = amounts.time(max(busiest(behind, lacked) / made.rate, 1))
        text.append(f"at {amounts.speed(made.rate)}/s per broker this takes {seconds} or more")
    if disk.here and not serving:
        text.append(f"the disk holds {folders.named(disk.here)} of this broker, which continue from their present end")
    if made.lost:
        text.append(f"the records of {', '.join(made.lost)} are given up")
    how = f"broker {disk.broker} serves from {disk.path} already: it is not restarted"
    text.append(how if serving else f"broker {disk.broker} is restarted through the gate, or started if it is down")
    named = sorted(behind, key=lambda one: (-one.bytes, one.place))
    text += [f"  {move}: from {','.join(map(str, move.before))}, {amounts.size(move.bytes)}" for move in named[:NAMED]]
    return text + ([f"  and {len(named) - NAMED} more"] if len(named) > NAMED else [])


def begin(admin: Admin, planned: Planned, path: Path) -> None:
    """Write the record of a run, then set its throttles.

    Raises OSError if the record cannot be written, and Unfinished if the cluster rejects the throttles or does not
    answer.
    """
    try:
        control.begin(admin, planned.work.record, path)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; {AGAIN}", {"changed": True}) from error


def cancel(admin: Admin, begun: Record | None, path: Path, check: bool) -> dict[str, Any]:
    """End an interrupted run: remove its throttles and delete its record; return the module's result.

    `begun` is that record; if it is None, nothing is done. Copied replicas stay. With `check` nothing is changed.
    Raises Unfinished if the cluster does not answer, OSError if the record cannot be deleted.
    """
    if begun is None:
        return {"changed": False, "answer": "no run was interrupted: nothing to cancel"}
    try:
        notes = [] if check else control.clean_up(admin, begun, path)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; run the same command again", {"changed": True}) from error
    answer = f"{begun.asked} is canceled: its throttles are removed, and copied replicas stay"
    broker = {} if begun.broker is None else {"broker": begun.broker}
    return {"changed": True, "notes": notes, "answer": answer, **broker}


def wait(
    admin: Admin, made: Record, disk: NewDisk, path: Path, pause: float, waited: Mapping[str, Any]
) -> dict[str, Any]:
    """Wait until the broker is in sync with all partitions of the record `made`; return the module's result.

    This call waits for `pause` seconds (0: to the end). If the wait is not over by then, the result is progress, and
    the module has to be called again; `waited` is the progress of earlier calls. Raises Unfinished if the cluster does
    not answer or the copies stall, OSError if the record cannot be written.
    """

    def look(run: Run) -> Standing:
        metadata = run.metadata = snapshot.at_controller(admin, admin.metadata(), made.moves)
        return standing(made, disk.broker, metadata.partitions)

    try:
        # a broker that was down before gets its throttles now; it uses the disk, so no records are given up any more
        if not waited:
            made = control.begin(admin, replace(made, lost=()), path)
    except AdminError as error:
        raise Unfinished(f"{admin.explain(error)}; {AGAIN}", {"changed": True}) from error
    run = Run(admin, made, progress(waited), AGAIN, wait_progress.SAME, look=look)
    return carry_on(run, pause, lambda: finish(run, disk, path))


def standing(made: Record, broker: int, partitions: Sequence[Partition]) -> Standing:
    """Return the moves of a run, sorted by the state of the broker's replica: `done`, `running` or `gone`.

    A move is done when the replica is in sync, and running until then. It is gone if the topic was deleted or the
    partition was moved to other brokers. Replicas out of sync on the broker's other disks count as running if the
    partition has a leader, because the broker may have been down.
    """
    there = {(one.topic, one.number): one for one in partitions}
    by_state: dict[str, list[Move]] = {"done": [], "running": [], "gone": []}
    for move in made.moves:
        one = there.get(move.place)
        kind = "gone" if one is None or broker not in one.replicas else "done" if broker in one.isr else "running"
        by_state[kind].append(move)
    ours = {move.place for move in made.moves}
    by_state["running"] += [
        _move(one, broker, {})
        for place, one in there.items()
        if place not in ours and one.leader >= 0 and broker in set(one.replicas) - set(one.isr)
    ]
    return Standing(**by_state)


def finish(run: Run, disk: NewDisk, path: Path) -> dict[str, Any]:
    """End a run: remove the throttles, check that the broker uses the disk, and delete the record.

    Return the module's result. Raises Unfinished if the broker does not use the disk, AdminError if the cluster does
    not answer.
    """

    def look() -> list[str]:
        """Return [] if the broker uses the disk; raise Unfinished otherwise."""
        if new_disk.serves(disk, log_dirs(run.admin, [disk.broker])):
            return []
        text = f"all replicas are in sync, but broker {disk.broker} does not serve from {disk.path}: see its log"
        raise Unfinished(f"{text} (journalctl -u kafka); {AGAIN}", {"changed": True})

    notes = control.clean_up(run.admin, run.record, path, look)
    done = control.summary(run)
    answer = (
        f"broker {disk.broker} serves from {disk.path}: {len(run.now.done)} replicas, {amounts.size(done['bytes'])}, "
        f"are in sync after {amounts.time(done['seconds'])}"
    )
    return {"changed": bool(run.now.done), **done, "notes": notes, "answer": answer}
