"""Opens files safely if other users own directories on the path, and could replace a part of the path by a link."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class StateError(Exception):
    """The host cannot be brought to the declared state; the text names the object and the reason."""


@dataclass(frozen=True)
class Directory:
    """An open directory; the path `name` leads to this directory even if another process renames or replaces it."""

    name: str
    alone: bool
    """Whether only root (or the user of this process) can change its entries."""

    def entry(self, path: str) -> str:
        """Return a path that opens the entry of this directory whose name is the last component of `path`."""
        return f"{self.name}/{os.path.basename(path)}"


def alone(status: os.stat_result) -> bool:
    """Tell whether only root (or the user of this process) may change the entries of a directory.

    `status` is the directory's status from os.stat.
    """
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def refusal(path: str, name: str, folder: os.stat_result) -> StateError:
    """Return the error that the link `name`, a component of `path`, is not followed.

    `folder` is the status of the directory that holds the link; the owner of this directory could change the link.
    """
    try:
        owner = pwd.getpwuid(folder.st_uid).pw_name
    except KeyError:
        owner = str(folder.st_uid)
    return StateError(
        f"{path}: {name} is a link in a directory of {owner}, who could point it anywhere;"
        " find out who created it, and remove it"
    )


def into(path: str, name: str, here: int, make: bool) -> int:
    """Open the directory `name` and return its file descriptor; `here` is the descriptor of its parent directory.

    `path` is the path for messages. If the directory is missing, it is created with `make`; without `make`,
    FileNotFoundError is raised.
    """
    try:
        return os.open(name, HANDLE, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):  # another run was faster: its directory is checked like any other
            os.mkdir(name, 0o755, dir_fd=here)
        return os.open(name, HANDLE, dir_fd=here)


def descend(path: str, make: bool) -> int:
    """Open a directory, one component of its path after the other, and return its file descriptor.

    With `make`, missing directories are created; without, FileNotFoundError is raised. A link is followed only if no
    user but root could have created it. Raises StateError for any other link, and for a component that is no directory.
    """
    here, links = os.open("/", HANDLE), 0
    names = path.split("/")[::-1]
    try:
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            there = into(path, name, here, make)
            mode = os.fstat(there).st_mode
            if stat.S_ISLNK(mode):
                target = os.readlink("", dir_fd=there)
                os.close(there)
                if not alone(os.fstat(here)):
                    raise refusal(path, name, os.fstat(here))
                links += 1
                if links > 40:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                names += target.split("/")[::-1]
                if not target.startswith("/"):
                    continue
                there = os.open("/", HANDLE)
            elif not stat.S_ISDIR(mode):
                os.close(there)
                raise StateError(f"{path}: {name} exists and is not a directory; move it away")
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise
    return here


@contextmanager
def held(path: str, make: bool = False) -> Iterator[Directory | None]:
    """Context manager: yield the directory at `path` and keep it open; yield None if it does not exist.

    With `make`, missing directories are created. Raises StateError at a link that another user than root may have
    created, or if the path is no directory.
    """
    try:
        descriptor = descend(path, make)
    except FileNotFoundError:
        descriptor = -1
    if descriptor < 0:
        yield None
        return
    try:
        yield Directory(f"/proc/{os.getpid()}/fd/{descriptor}", alone(os.fstat(descriptor)))
    finally:
        os.close(descriptor)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Context manager: set this process's umask to `mask`, and restore the previous umask at the end."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def read(name: str, path: str) -> str | None:
    """Return the text of a file (undecodable bytes as surrogates), None if the file does not exist.

    `name` is the path to open, `path` the path for messages. Raises StateError if the path is no regular file.
    """
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StateError(f"{path}: is a link, not a file; move it away") from None
        raise
    with open(handle, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise StateError(f"{path}: exists and is not a file; move it away")
        return stream.read()
