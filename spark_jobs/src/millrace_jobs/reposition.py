"""`millrace-jobs reposition JOB`: replaces the checkpoint of a job, so that the job continues at other offsets."""

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
from millrace_jobs.paths import exists
from millrace_jobs.positions import has_begun, next_offsets

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Move:
    """The change for one partition: with a fresh checkpoint, the job reads the offsets from `begin` up to `end`.

    `end` is the offset after the last record at present. `current` is the offset at which the present checkpoint
    continues; None if the checkpoint has no offset for the partition.
    """

    topic: str
    partition: int
    begin: int
    end: int
    current: int | None

    @property
    def again(self) -> int:
        """The number of records that the job would read a second time."""
        return max(0, min(self.current or 0, self.end) - self.begin)

    @property
    def left_out(self) -> int:
        """The number of records that the job would never read: those from `current` to `begin`."""
        return 0 if self.current is None else max(0, self.begin - self.current)


def start_argument(arguments: argparse.Namespace) -> Start | None:
    """Return the Start that the command line gives (--to-group, --to-time, ...), or None if it gives no start.

    Raises:
        ConfigError: the value of --to-group or --to-time is not valid.
    """
    problems: list[str] = []
    if arguments.to_group is not None:
        problems = list(checks.start("--to-group", {"group": arguments.to_group}))
        start = Start("group", arguments.to_group)
    elif arguments.to_time is not None:
        problems = list(checks.start("--to-time", {"timestamp": arguments.to_time}))
        start = Start("timestamp", arguments.to_time)
    elif arguments.to_earliest or arguments.to_latest:
        start = Start("earliest" if arguments.to_earliest else "latest")
    else:
        return None
    if problems:
        raise ConfigError(problems)
    return start


def moves(config: Config, start: Start | None) -> dict[str, list[Move]]:
    """Return the new read positions of a job as {input name: [one Move per partition]}; nothing is changed.

    If `start` is None, the start in the configuration applies.

    Raises:
        JobError: the job reads no topic; the start is outside the stored records of a partition; records would be
            missing in a database or archive; or no broker answers.
    """
    moves_by_input: dict[str, list[Move]] = {}
    current = next_offsets(checkpoints(config)[0])
    for name, source in config.inputs.items():
        if not source.topics:
            continue
        moves_by_input[name] = []
        for (topic, number), (first, begin, end) in starts.resolve(source, start or source.start).items():
            if not first <= begin <= end:
                raise JobError(
                    f"{name}: topic {topic} partition {number} holds offsets {first} to {end}, but the start is "
                    f"{begin}; give another start"
                )
            moves_by_input[name].append(Move(topic, number, begin, end, current.get((topic, number))))
    if not moves_by_input:
        raise JobError(f"{config.job}: reads no topic, so there is no position to move; name another job")
    all_moves = [move for partition_moves in moves_by_input.values() for move in partition_moves]
    sink_offsets.check(config, {(move.topic, move.partition): move.begin for move in all_moves})
    return moves_by_input


def checkpoints(config: Config) -> list[str]:
    """Return the checkpoint folder of each query of the job.

    With one output it is the configured checkpoint; with several, each output has a folder below that checkpoint.
    """
    outputs = JOBS[config.job].outputs
    if len(outputs) == 1:
        return [config.checkpoint]
    return [str(Path(config.checkpoint) / output.name) for output in outputs]


def table(moves_by_input: dict[str, list[Move]]) -> Iterator[str]:
    """Yield the lines of a table with a row for each Move, and a last line with sums.

    `moves_by_input` is the result of `moves`.
    """
    rows = [("topic", "partition", "from", "to", "records", "again", "left out")]
    rows += [
        (move.topic, f"{move.partition}", f"{move.begin}", f"{move.end}", f"{move.end - move.begin}", f"{move.again}",
         f"{move.left_out}")
        for partition_moves in moves_by_input.values() for move in partition_moves
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        topic, *numbers = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        yield "  ".join([topic.strip().ljust(widths[0]), *numbers])
    counts = [
        (move.end - move.begin, move.again, move.left_out)
        for partition_moves in moves_by_input.values()
        for move in partition_moves
    ]
    read, again, left_out = (sum(column) for column in zip(*counts, strict=True))
    yield f"{read} records to read, {again} of them again, {left_out} left out"


def apply(config: Config, moves_by_input: dict[str, list[Move]]) -> Path | None:
    """Replace the checkpoint by a new one that starts at the offsets of `moves_by_input`, the result of `moves`.

    Return the path to which the old checkpoint was renamed; None if there was no old checkpoint. The new checkpoint is
    completed beside the old one before the old one is renamed. After a kill the old checkpoint is in place, or `finish`
    completes the replacement. If an error is raised, nothing is changed.

    Raises:
        JobError: another process uses the checkpoint, or the checkpoint cannot be moved.
    """
    checkpoint = _resolved_checkpoint(config)
    new = _new_path(checkpoint)
    part = new.with_name(f"{new.name}.part")
    if os.path.ismount(checkpoint):
        raise JobError(_mount_error(checkpoint))
    with (
        _os_errors(checkpoint, "run it as the job's user"),
        lease.lock(str(checkpoint)) if exists(checkpoint) else nullcontext(),
    ):
        try:
            shutil.rmtree(part, ignore_errors=True)
            _create_checkpoint(config, moves_by_input, checkpoint, part)
            shutil.rmtree(new, ignore_errors=True)
            part.rename(new)
            return _replace_checkpoint(new, checkpoint)
        except OSError:
            for leftover in (part, new):
                shutil.rmtree(leftover, ignore_errors=True)
            raise


def finish(config: Config) -> None:
    """Complete an `apply` that was killed: move the new checkpoint that it prepared into place.

    If the old checkpoint is still in place and has planned batches, delete the new checkpoint instead. Do nothing if
    there is no new checkpoint.

    Raises:
        JobError: another process uses the checkpoint, or the checkpoint cannot be moved.
    """
    checkpoint = _resolved_checkpoint(config)
    new = _new_path(checkpoint)
    if not os.path.exists(new):  # False also without permission to look, where `exists` raises
        return
    advice = f"move {new}, which a killed reposition left, there by hand, or remove it"
    with _os_errors(checkpoint, advice), lease.lock(str(checkpoint)):
        if any(map(has_begun, checkpoints(config))):
            shutil.rmtree(new)
            _LOG.warning("checkpoint: a reposition was killed before it changed anything; run it again")
        else:
            _replace_checkpoint(new, checkpoint)
            _LOG.warning("checkpoint: a reposition was killed; it is completed now")


def _resolved_checkpoint(config: Config) -> Path:
    """Return the path of the checkpoint with links resolved, so that a path beside it is on the same file system.

    Raises:
        JobError: the process runs as root, and a link in the path belongs to a user who could redirect it.
    """
    named = Path(config.checkpoint)
    target = Path(os.path.realpath(named))
    owner = next(path for path in (target, *target.parents) if os.path.exists(path)).stat().st_uid
    for path in (named, *named.parents):
        if os.geteuid() == 0 and os.path.islink(path) and path.lstat().st_uid not in (0, owner):
            raise JobError(f"checkpoint: {path} is a link that another user owns; run it as the job's user")
    return target


@contextmanager
def _os_errors(checkpoint: Path, advice: str) -> Iterator[None]:
    """Context manager: raise an error of the operating system as a JobError whose message ends with `advice`."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EBUSY:  # a mount point, or on another file system
            raise JobError(_mount_error(checkpoint)) from None
        reason = f"{error.filename or checkpoint} cannot be moved ({error.strerror or error})"
        raise JobError(f"checkpoint: {reason}; {advice}") from None


def _mount_error(checkpoint: Path) -> str:
    problem = f"checkpoint: {checkpoint} is a mount point and cannot be replaced"
    return f"{problem}; name a folder below it, and move the content there"


def _new_path(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.new")


def _replace_checkpoint(new: Path, checkpoint: Path) -> Path | None:
    """Move the checkpoint at the path `new` to the path `checkpoint`; return the new path of the old checkpoint.

    Return None if there was no old checkpoint, or if it was empty and has been deleted.
    """
    old: Path | None = None
    if exists(checkpoint) and {path.name for path in checkpoint.iterdir()} <= {lease.FILE}:
        shutil.rmtree(checkpoint)
    elif exists(checkpoint):
        timestamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%fZ")
        old = checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.before-{timestamp}"))
    try:
        new.rename(checkpoint)
    except OSError:
        if old is not None:
            old.rename(checkpoint)
        raise
    return old


def _create_checkpoint(config: Config, moves_by_input: dict[str, list[Move]], checkpoint: Path, part: Path) -> None:
    """Create in the folder `part` a checkpoint that starts at the offsets of the moves.

    All its files get the owner of the existing checkpoint, or of the folder above if there is none, because root may
    run this command.
    """
    part.mkdir(parents=True)
    for folder in checkpoints(config):
        for name, partition_moves in moves_by_input.items():
            source = config.inputs[name]
            new_folder = part / Path(folder).relative_to(config.checkpoint)
            starts.store_start(str(new_folder), source, _offsets(source, partition_moves))
    original = (checkpoint if exists(checkpoint) else checkpoint.parent).stat()
    part.chmod(original.st_mode & 0o777)
    for path in (part, *part.rglob("*")):
        os.chown(path, original.st_uid, original.st_gid)


def _offsets(source: Input, partition_moves: list[Move]) -> starts.Offsets:
    return {
        topic.name: {str(move.partition): move.begin for move in partition_moves if move.topic == topic.name}
        for topic in source.topics
    }
