"""`millrace-jobs reposition JOB`: makes a job continue from other offsets, with a fresh checkpoint."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from millrace_jobs import checks, lease, sink_offsets, starts
from millrace_jobs.config import JOBS, Config
from millrace_jobs.ends import Input, Start
from millrace_jobs.errors import ConfigError, JobError
from millrace_jobs.paths import there
from millrace_jobs.positions import has_begun, planned_until

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Move:
    """One partition: where the fresh checkpoint starts, and where the current one continues (None: nowhere yet)."""

    topic: str
    partition: int
    begin: int
    end: int
    held: int | None

    @property
    def again(self) -> int:
        """Records that are read a second time."""
        return max(0, min(self.held or 0, self.end) - self.begin)

    @property
    def left_out(self) -> int:
        """Records that no checkpoint of the job covers."""
        return 0 if self.held is None else max(0, self.begin - self.held)


def asked(arguments: argparse.Namespace) -> Start | None:
    """Return the start that the command line names; None for the one in the configuration.

    Raises:
        ConfigError: it is not a valid start.
    """
    found: list[str] = []
    if arguments.to_group is not None:
        found = list(checks.start("--to-group", {"group": arguments.to_group}))
        start = Start("group", arguments.to_group)
    elif arguments.to_time is not None:
        found = list(checks.start("--to-time", {"timestamp": arguments.to_time}))
        start = Start("timestamp", arguments.to_time)
    elif arguments.to_earliest or arguments.to_latest:
        start = Start("earliest" if arguments.to_earliest else "latest")
    else:
        return None
    if found:
        raise ConfigError(found)
    return start


def moves(config: Config, start: Start | None) -> dict[str, list[Move]]:
    """Return what would happen to the partitions of each input, by name. `start` replaces that of the configuration.

    Raises:
        JobError: the job reads no topic, the start lies before the first remaining record, a gap would follow the
            sink's position, or no broker answers.
    """
    found: dict[str, list[Move]] = {}
    held = planned_until(checkpoints(config)[0])
    for name, source in config.inputs.items():
        if not source.topics:
            continue
        found[name] = []
        for (topic, number), (first, begin, end) in starts.resolve(source, start or source.start).items():
            if not first <= begin <= end:
                raise JobError(
                    f"{name}: topic {topic} partition {number} holds offsets {first} to {end}, and {begin} is asked "
                    "for; give another start"
                )
            found[name].append(Move(topic, number, begin, end, held.get((topic, number))))
    if not found:
        raise JobError(f"{config.job}: reads no topic, so there is no offset to move")
    sink_offsets.check(config, {(one.topic, one.partition): one.begin for several in found.values() for one in several})
    return found


def checkpoints(config: Config) -> list[str]:
    """Return the folders that hold the progress of the job's queries."""
    outputs = JOBS[config.job].outputs
    return [config.checkpoint] if len(outputs) == 1 else [str(Path(config.checkpoint) / one.name) for one in outputs]


def table(found: dict[str, list[Move]]) -> Iterator[str]:
    """Return the moves as lines for people."""
    rows = [("topic", "partition", "from", "to", "records", "again", "left out")]
    rows += [
        (one.topic, f"{one.partition}", f"{one.begin}", f"{one.end}", f"{one.end - one.begin}", f"{one.again}",
         f"{one.left_out}")
        for several in found.values() for one in several
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        topic, *numbers = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        yield "  ".join([topic.strip().ljust(widths[0]), *numbers])
    every = [(one.end - one.begin, one.again, one.left_out) for several in found.values() for one in several]
    read, again, left_out = (sum(column) for column in zip(*every, strict=True))
    yield f"{read} records to read, {again} of them again, {left_out} left out"


def apply(config: Config, found: dict[str, list[Move]]) -> Path | None:
    """Set the checkpoint aside, and leave the offsets for the next start; return where the old checkpoint is.

    The new checkpoint is completed beside the old one, behind links. After a kill at any moment either the old one is
    in place, or `finish` puts the new one there. A refused move has changed nothing.

    Raises:
        JobError: a process uses the checkpoint, or it cannot be moved.
    """
    checkpoint = _place(config)
    new = _new(checkpoint)
    part = new.with_name(f"{new.name}.part")
    if os.path.ismount(checkpoint):
        raise JobError(_mount(checkpoint))
    with (
        _said(checkpoint, "run it as the job's user"),
        lease.held(str(checkpoint)) if there(checkpoint) else nullcontext(),
    ):
        try:
            shutil.rmtree(part, ignore_errors=True)
            _make(config, found, checkpoint, part)
            shutil.rmtree(new, ignore_errors=True)
            part.rename(new)
            return _put(new, checkpoint)
        except OSError:
            for left in (part, new):
                shutil.rmtree(left, ignore_errors=True)
            raise


def finish(config: Config) -> None:
    """Put the checkpoint in place that a killed `apply` made; delete it if the old one has continued since.

    Raises:
        JobError: another process uses the checkpoint, or it cannot be moved.
    """
    checkpoint = _place(config)
    new = _new(checkpoint)
    if not os.path.exists(new):  # nor where it may not be looked at, of which `there` would say so
        return
    advice = f"put {new} there by hand, or remove it, which a reposition left that was killed"
    with _said(checkpoint, advice), lease.held(str(checkpoint)):
        if any(map(has_begun, checkpoints(config))):
            shutil.rmtree(new)
            _LOG.warning("checkpoint: a reposition was killed before it changed anything; ask for it again")
        else:
            _put(new, checkpoint)
            _LOG.warning("checkpoint: a reposition was killed, and is finished now")


def _place(config: Config) -> Path:
    """Return where the checkpoint is, behind links: its replacement must be on the same file system.

    Raises:
        JobError: root would follow a link that another user can redirect.
    """
    named = Path(config.checkpoint)
    place = Path(os.path.realpath(named))
    owner = next(one for one in (place, *place.parents) if os.path.exists(one)).stat().st_uid
    for one in (named, *named.parents):
        if os.geteuid() == 0 and os.path.islink(one) and one.lstat().st_uid not in (0, owner):
            raise JobError(f"checkpoint: {one} is a link to what another user owns; run it as the job's user")
    return place


@contextmanager
def _said(checkpoint: Path, advice: str) -> Iterator[None]:
    """Turn errors of the operating system into a JobError with advice."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EBUSY:  # of its own file system, as another folder of it
            raise JobError(_mount(checkpoint)) from None
        why = f"{error.filename or checkpoint} cannot be moved ({error.strerror or error})"
        raise JobError(f"checkpoint: {why}; {advice}") from None


def _mount(checkpoint: Path) -> str:
    what = f"checkpoint: {checkpoint} is a mount point, in whose place nothing can be put"
    return f"{what}; name a folder below it, and move there what it holds"


def _new(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.new")


def _put(new: Path, checkpoint: Path) -> Path | None:
    """Replace the old checkpoint by the new one and return the old one's new name; an empty one has none."""
    old: Path | None = None
    if there(checkpoint) and {path.name for path in checkpoint.iterdir()} <= {lease.FILE}:
        shutil.rmtree(checkpoint)
    elif there(checkpoint):
        at = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%fZ")
        old = checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.before-{at}"))
    try:
        new.rename(checkpoint)
    except OSError:
        if old is not None:
            old.rename(checkpoint)
        raise
    return old


def _make(config: Config, found: dict[str, list[Move]], checkpoint: Path, part: Path) -> None:
    """Make a checkpoint with the owner of the old one, or of its folder: root may run this command."""
    part.mkdir(parents=True)
    for folder in checkpoints(config):
        for name, several in found.items():
            source = config.inputs[name]
            starts.tell(str(part / Path(folder).relative_to(config.checkpoint)), source, _offsets(source, several))
    like = (checkpoint if there(checkpoint) else checkpoint.parent).stat()
    part.chmod(like.st_mode & 0o777)
    for path in (part, *part.rglob("*")):
        os.chown(path, like.st_uid, like.st_gid)


def _offsets(source: Input, several: list[Move]) -> starts.Offsets:
    return {
        topic.name: {str(one.partition): one.begin for one in several if one.topic == topic.name}
        for topic in source.topics
    }
