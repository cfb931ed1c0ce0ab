"""Locks a checkpoint for one process: a job, or a `reposition` that moves it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace_jobs.errors import JobError

FILE = ".lease"


@contextmanager
def held(checkpoint: str) -> Iterator[None]:
    """Lock a checkpoint, which is created if it is missing; the lock ends with the block or with the process.

    Raises:
        JobError: another process holds the lock, or the checkpoint cannot be opened.
    """
    file = Path(checkpoint) / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = os.open(file, os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError as error:
        raise JobError(f"checkpoint: {error.filename} cannot be opened ({error.strerror})") from None
    try:
        if not _taken(opened):
            raise JobError(f"checkpoint: a process works with {checkpoint}; stop the job first")
        if not (file.exists() and os.path.samestat(os.fstat(opened), file.stat())):
            raise JobError(f"checkpoint: {checkpoint} was moved away in this moment; try again")
        yield
    finally:
        os.close(opened)


def _taken(opened: int) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
