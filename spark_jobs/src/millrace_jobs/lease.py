"""Locks a checkpoint, so that only one process uses it: a job, or the command `reposition`."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace_jobs.errors import JobError

FILE = ".lease"


@contextmanager
def lock(checkpoint: str) -> Iterator[None]:
    """Context manager: hold the lock of a checkpoint during the block; create the checkpoint if it is missing.

    If another process holds the lock, raise at once without waiting.

    Raises:
        JobError: another process holds the lock, the checkpoint cannot be opened, or it was moved at the same moment.
    """
    file = Path(checkpoint) / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError as error:
        raise JobError(f"checkpoint: {error.filename} cannot be opened ({error.strerror})") from None
    try:
        if not _try_lock(descriptor):
            raise JobError(f"checkpoint: a process uses {checkpoint}; stop the job first")
        if not (file.exists() and os.path.samestat(os.fstat(descriptor), file.stat())):
            raise JobError(f"checkpoint: {checkpoint} was moved just now; try again")
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
