"""Balances replicas over all brokers once; a systemd timer on the admin host runs this program without Ansible.

The program uses the plan, record, throttles and refusals of the module kafka_reassign.
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
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections, not_elected
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, control, record, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import Work, listed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Wish
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

WORDS = "rebalance=true"
"""The request as on the command line, so that reassign.yml with the same request resumes a run of the timer."""
UNIT = "millrace-rebalance.service"
DONE, WRONG, TOO_MUCH, STOPPED = 0, 1, 3, 143
"""Exit statuses: done, or only planned; refused or unfinished; more bytes than `at_most`; ended by SIGTERM."""
PART = 60.0
"""Seconds between two lines of progress."""
ELECTION = 60.0
"""Seconds that the preferred leader election may take."""
RESUMES = "the next run resumes the moves, and so does {}; -e cancel=true reverts them"
MOVED = (
    "all partitions are moved, and nothing is left to resume or to revert; preferred leaders that do not lead yet are "
    "elected by start.yml at once, or by Kafka within minutes unless auto.leader.rebalance.enable is false"
)
NOTHING = "this run has started and changed nothing; an earlier interrupted run, if any, is unchanged"
"""What a run reports after SIGTERM: RESUMES while its record exists, MOVED after that was deleted, else NOTHING."""

Say = Callable[[str], None]


class TooMuch(Exception):
    """Raised before anything is moved if the plan copies more bytes than the setting `at_most`."""


class Stopped(BaseException):
    """Raised when SIGTERM arrives; the record of the run is kept, so the run can be resumed."""


@dataclass
class Reached:
    """How far a run has come; this is reported when SIGTERM stops the run."""

    path: Path | None = None
    """Path of the run's record, from before it is written until the end is reported; no other run writes it."""
    begun: bool = False
    """Whether the record was written; the record is deleted when all partitions are moved."""
    typed: str = ""
    """The command that resumes the run."""

    def __str__(self) -> str:
        """Return what is left to do, and the command that resumes the run."""
        if self.path and self.path.exists():
            return RESUMES.format(self.typed)
        return MOVED if self.begun else NOTHING


@dataclass(frozen=True)
class Settings:
    """The settings file that the role rebalance_timer wrote; the fields are the keys of the file."""

    admin: Mapping[str, Any]
    """Client properties of a super user, under librdkafka's names."""
    brokers: Mapping[int, Rack]
    """The rack of each broker in the inventory."""
    cluster_id: str
    """Expected id of the cluster; '' for any."""
    write_timeout: float
    rate: str
    at_most: str
    """Bytes that a run may copy; '' if it only prints its plan."""
    run: bool
    record_directory: str

    @property
    def typed(self) -> str:
        """Return the command with which a user can run the same request.

        The rate is written without a space, so that it is a single shell word. Raises ValueError if `rate` is no valid
        rate.
        """
        return f"reassign.yml -e {WORDS} -e rate={amounts.typed(amounts.rate(self.rate))}"


def settings_of(path: Path) -> Settings:
    """Read the settings file. Raises OSError if the file cannot be read, ValueError if another version wrote it."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    try:
        brokers = {int(one["id"]): one.get("rack") for one in settings.pop("brokers")}
        return Settings(brokers=brokers, **settings)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} was written by another version ({error}): run site.yml") from error


def work_of(
    admin: Admin, metadata: Metadata, settings: Settings, path: Path
) -> tuple[Work | None, record.Record | None]:
    """Return (plan, or None if there is nothing to do; record of an earlier run that has not ended, or None).

    Raises Refused with all reasons if nothing may be moved or a record cannot be read. Raises AdminError if the cluster
    does not answer, ValueError if the rate is invalid.
    """
    if settings.cluster_id and settings.cluster_id != metadata.cluster_id:
        raise Refused(f"the cluster that answers has the id {metadata.cluster_id}, not {settings.cluster_id}")
    with control.readable(path):
        begun = record.load(path)
        others = record.beside(path)
    metadata = snapshot.at_controller(admin, metadata, begun.moves if begun else ())
    reasons = [
        f"broker {broker} is not registered: start it" for broker in sorted(settings.brokers.keys() - metadata.brokers)
    ]
    reasons += [
        f"broker {broker} is registered but was not in the inventory of the last site.yml: add its host, or drain it"
        for broker in sorted(metadata.brokers.keys() - settings.brokers.keys())
    ]
    reasons += [
        f"an earlier run, {one.asked}, was interrupted or is still running: wait, run it again, or cancel it"
        for one in others
    ]
    if reasons:
        raise Refused(listed("nothing was moved", reasons))
    request = Request(Wish(rebalance=True), WORDS, (), amounts.rate(settings.rate), limited=True, timer=True)
    return control.prepare(request, snapshot.look(admin, metadata), settings.brokers, begun, admin), begun


def once(settings: Settings, say: Say, reached: Reached) -> None:
    """Compute the plan, print it with `say`, and run it if the settings allow this.

    Raises Refused, TooMuch or ValueError before anything is moved, and Unfinished if the run fails or may not continue.
    Raises Failure or ClusterError if the cluster does not answer, ImportError if a library is missing, and OSError if a
    file cannot be written.
    """
    admin, reached.typed = Admin(settings.admin, settings.write_timeout), settings.typed
    try:
        metadata = admin.metadata()
        path = record.path_of(metadata.cluster_id, settings.record_directory)
        with record.alone(path, UNIT, look=True):
            work, begun = work_of(admin, metadata, settings, path)
        for line in work.text if work else [f"{WORDS}: nothing to move"]:
            say(line)
        if work is None or not may_run(work, settings, begun, say):
            return
        with control.readable(path), record.alone(path, UNIT):
            if record.load(path) != begun or record.beside(path):
                raise Refused("nothing was moved: another run started meanwhile")
            run(admin, work, path, say, reached)
        elect(settings, say)
    except AdminError as error:
        raise admin.explain(error) from error
    finally:
        with suppress(AdminError):
            admin.close()


def may_run(work: Work, settings: Settings, begun: record.Record | None, say: Say) -> bool:
    """Tell whether the plan may be run; if the settings only allow to compute plans, print this and return False.

    Raises TooMuch if the plan copies more than `at_most`, Unfinished if an interrupted run may not be continued.
    """
    size = sum(move.bytes for move in work.left)
    if not settings.run:
        if begun:
            how = f"end it with {settings.typed}, or revert it with -e cancel=true"
            raise Unfinished(f"a run of the timer was interrupted, and the timer may now only print plans: {how}", {})
        say(f"only the plan is printed, because run of rebalance_timer is false: {settings.typed} runs it")
        return False
    limit = amounts.bytes_of(settings.at_most)
    if size > limit:
        how = f"{settings.typed} -e plan={work.name}"
        raise TooMuch(
            f"nothing {'more ' if begun else ''}was moved: {amounts.size(size)} would be copied, but at_most of "
            f"rebalance_timer is {settings.at_most}: check the plan, then run {how}"
        )
    return True


def run(admin: Admin, work: Work, path: Path, say: Say, reached: Reached) -> None:
    """Run the plan to its end, and print its progress every PART seconds.

    Raises Unfinished if the run fails or another run has ended it, AdminError if the cluster does not answer, OSError
    or ValueError if the record cannot be read.
    """
    reached.path = path
    answer = control.start_run(admin, work, path, PART)
    reached.begun = True
    while "waiting" in answer:
        begun = record.load(path)
        if begun is None or not begun.timer:
            raise Unfinished(f"{WORDS} was ended or reverted by another run meanwhile", {})
        for line in answer["waiting"]["what"]:
            say(line)
        answer = control.continue_run(admin, begun, path, PART, answer["waiting"]["waited"])
    size, seconds = amounts.size(answer["bytes"]), amounts.time(answer["seconds"])
    say(f"{len(answer['moved'])} partitions moved, {size} in {seconds}")
    for note in answer["notes"]:
        say(f"note: {note}")
    reached.path = None


def elect(settings: Settings, say: Say) -> None:
    """Start a preferred leader election, and print its result.

    Raises ClientError or ClusterError if the cluster does not answer.
    """
    elections = Elections(Cluster({"admin": settings.admin}))
    left = elections.elect(ELECTION)
    moved = f"{len(elections.moved)} partitions are led by their preferred replica again"
    say(f"note: {not_elected(left, elections.refused)}" if left else moved)


def stop(*_: object) -> None:
    """Handle SIGTERM: raise Stopped, which ends the run at once.

    The run can be resumed, since each change is recorded before it is made.
    """
    raise Stopped


def main(arguments: Sequence[str], say: Say = lambda line: print(line, flush=True)) -> int:
    """Run once with the settings file in `arguments[0]`; print lines with `say`.

    Return the exit status: DONE, WRONG, TOO_MUCH or STOPPED.
    """
    reached = Reached()
    signal.signal(signal.SIGTERM, stop)
    try:
        once(settings_of(Path(arguments[0])), say, reached)
    except TooMuch as error:
        say(f"TOO MUCH: {error}")
        return TOO_MUCH
    except ImportError as error:
        library = error.name or "confluent-kafka"
        say(f"FAILED: {sys.executable} has no {library}; install it for the Python of Ansible's modules on this host")
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
