"""What a timer of the admin host does once: plans that all brokers hold their share, and carries it out within limits.

The same plan, record and limits as of the module kafka_reassign, of which it refuses all that that refuses. No Ansible
import: it runs on the host by itself.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Failure
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections, told
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, control, record, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import Work, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Wish
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

WORDS = "rebalance=true"
"""What it asks for, as a person types it: who types it goes on with what the timer began."""
UNIT = "millrace-rebalance.service"
DONE, WRONG, TOO_MUCH, STOPPED = 0, 1, 3, 143
"""Exit statuses: done, or only said; refused or unfinished; more than the site lets it copy; ended by SIGTERM."""
PART = 60.0
"""Seconds between two lines on how far it is."""
ELECTION = 60.0
"""Seconds until the preferred leaders lead."""
GOES_ON = "the next run goes on, and so does {}; -e cancel=true puts everything back"
MOVED = (
    "all is moved, and nothing is left to go on with or to put back; preferred leaders that do not lead yet are "
    "elected by start.yml at once, by Kafka itself in minutes unless auto.leader.rebalance.enable is false"
)
NOTHING = "nothing was begun or changed by this run, and what an earlier one began, if any, is as it was"
"""What is said of a run that SIGTERM ended: while it has a record, once that was taken away, before it was made."""

Say = Callable[[str], None]


class TooMuch(Exception):
    """The plan copies more than the site lets the timer copy; nothing was moved."""


class Stopped(BaseException):
    """Somebody ended it (SIGTERM): what was begun stays written down."""


@dataclass
class Reached:
    """How far a run is, for whoever ends it."""

    path: Path | None = None
    """Its record, from before that is made until all is moved and said; nobody else may make one meanwhile."""
    begun: bool = False
    """Whether that was made; it is taken away when all is moved."""
    typed: str = ""
    """What a person types to go on with it."""

    def __str__(self) -> str:
        """Say what is left, and who goes on with it."""
        if self.path and self.path.exists():
            return GOES_ON.format(self.typed)
        return MOVED if self.begun else NOTHING


@dataclass(frozen=True)
class Settings:
    """What the role rebalance_timer wrote for it."""

    admin: Mapping[str, Any]
    """Client properties of a super user, under librdkafka's names."""
    brokers: Mapping[int, Rack]
    """Those that the inventory has, each with its rack."""
    cluster_id: str
    """Of the cluster that is meant; '' where any is."""
    write_timeout: float
    rate: str
    at_most: str
    """Bytes that a run may copy; '' where it may copy nothing, as it only says its plan."""
    run: bool
    record_directory: str

    @property
    def typed(self) -> str:
        """Return what a person types who asks for the same: a shell splits `50 MB`. Raises ValueError."""
        return f"reassign.yml -e {WORDS} -e rate={amounts.typed(amounts.rate(self.rate))}"


def settings_of(path: Path) -> Settings:
    """Return the settings in a file. Raises OSError, ValueError."""
    found = json.loads(path.read_text(encoding="utf-8"))
    try:
        brokers = {int(one["id"]): one.get("rack") for one in found.pop("brokers")}
        return Settings(brokers=brokers, **found)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not of this version ({error}): run site.yml") from error


def work_of(
    admin: Admin, metadata: Metadata, settings: Settings, path: Path
) -> tuple[Work | None, record.Record | None]:
    """Return what is to be done, None where there is nothing, and what an earlier run left.

    Raises Refused, AdminError, OSError, ValueError.
    """
    if settings.cluster_id and settings.cluster_id != metadata.cluster_id:
        raise Refused(f"the cluster that answers has the id {metadata.cluster_id}, not {settings.cluster_id}")
    with control.readable(path):
        begun = record.load(path)
        others = record.beside(path)
    metadata = snapshot.at_controller(admin, metadata, begun.moves if begun else ())
    wrong = [f"broker {one} is not registered: start it" for one in sorted(settings.brokers.keys() - metadata.brokers)]
    wrong += [
        f"broker {one} is registered and was not in the inventory when site.yml was run: add its host, or drain it"
        for one in sorted(metadata.brokers.keys() - settings.brokers.keys())
    ]
    wrong += [
        f"an earlier run, {one.asked}, was interrupted, or is still at it: wait for its end, end it, or call it off"
        for one in others
    ]
    if wrong:
        raise Refused(listed("nothing was moved", wrong))
    request = Asked(Wish(rebalance=True), WORDS, (), amounts.rate(settings.rate), limited=True, timer=True)
    return control.prepare(request, snapshot.look(admin, metadata), settings.brokers, begun, admin), begun


def once(settings: Settings, say: Say, reached: Reached) -> None:
    """Plan, say it, and carry it out where that is asked for.

    Raises Refused, Unfinished, TooMuch, Failure, ClusterError, ImportError, OSError, ValueError.
    """
    admin, reached.typed = Admin(settings.admin, settings.write_timeout), settings.typed
    try:
        metadata = admin.metadata()
        path = record.path_of(metadata.cluster_id, settings.record_directory)
        with record.alone(path, UNIT, look=True):
            work, begun = work_of(admin, metadata, settings, path)
        for line in work.text if work else [f"{WORDS}: nothing to move"]:
            say(line)
        if work is None or not wanted(work, settings, begun, say):
            return
        with control.readable(path), record.alone(path, UNIT):
            if record.load(path) != begun or record.beside(path):
                raise Refused("nothing was moved: another run began meanwhile")
            carry_out(admin, work, path, say, reached)
        elect(settings, say)
    except AdminError as error:
        raise admin.explain(error) from error
    finally:
        with suppress(AdminError):
            admin.close()


def wanted(work: Work, settings: Settings, begun: record.Record | None, say: Say) -> bool:
    """Tell whether a plan is to be carried out; say why not. Raises TooMuch, Unfinished."""
    size = sum(move.bytes for move in work.left)
    if not settings.run:
        if begun:
            how = f"end it with {settings.typed}, or put it back with -e cancel=true"
            raise Unfinished(f"the timer began it, was interrupted, and may only say its plan by now: {how}", {})
        say(f"only the plan, as rebalance_timer says: {settings.typed} carries it out")
        return False
    limit = amounts.bytes_of(settings.at_most)
    if size > limit:
        how = f"{settings.typed} -e plan={work.name}"
        raise TooMuch(
            f"nothing {'more ' if begun else ''}was moved: {amounts.size(size)} would be copied, and at_most of "
            f"rebalance_timer is {settings.at_most}: look at the plan, then {how}"
        )
    return True


def carry_out(admin: Admin, work: Work, path: Path, say: Say, reached: Reached) -> None:
    """Move to the end, and say now and then how far it is. Raises Unfinished, AdminError, OSError, ValueError."""
    reached.path = path
    found = control.carried_out(admin, work, path, PART)
    reached.begun = True
    while "waiting" in found:
        begun = record.load(path)
        if begun is None or not begun.timer:
            raise Unfinished(f"{WORDS} was ended or put back by another run meanwhile", {})
        for line in found["waiting"]["what"]:
            say(line)
        found = control.carried_on(admin, begun, path, PART, found["waiting"]["waited"])
    say(f"{len(found['moved'])} partitions moved, {amounts.size(found['bytes'])} in {amounts.time(found['seconds'])}")
    for note in found["notes"]:
        say(f"note: {note}")
    reached.path = None


def elect(settings: Settings, say: Say) -> None:
    """Have the preferred leaders elected. Raises ClientError, ClusterError."""
    elections = Elections(Cluster({"admin": settings.admin}))
    left = elections.hold(ELECTION)
    moved = f"{len(elections.moved)} partitions are led by their preferred replica again"
    say(f"note: {told(left, elections.refused)}" if left else moved)


def stop(*_: object) -> None:
    """End wherever it is: what was begun is written down before it is done."""
    raise Stopped


def main(arguments: Sequence[str], say: Say = lambda line: print(line, flush=True)) -> int:
    """Run once with the settings in a file, and return the exit status."""
    reached = Reached()
    signal.signal(signal.SIGTERM, stop)
    try:
        once(settings_of(Path(arguments[0])), say, reached)
    except TooMuch as error:
        say(f"TOO MUCH: {error}")
        return TOO_MUCH
    except ImportError as error:
        say(f"FAILED: no {error.name or 'confluent-kafka'} for {sys.executable}; install it where the modules have it")
        return WRONG
    except Refused as error:
        say(f"REFUSED: {error}")
        return WRONG
    except (Unfinished, Failure, ClusterError, OSError, ValueError) as error:
        say(f"FAILED: {error}")
        return WRONG
    except Stopped:
        say(f"STOPPED: {reached}")
        return STOPPED
    return DONE
