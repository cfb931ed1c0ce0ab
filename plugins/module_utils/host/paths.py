"""Where a path leads, when others than root own directories on its way; no Ansible import."""

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
    """A state that cannot be reached; the text says what and why."""


@dataclass(frozen=True)
class Directory:
    """A directory that is held open: `name` is a path to this very one, wherever names may lead meanwhile."""

    name: str
    alone: bool
    """Nobody but root (or who runs this) can change what is in it."""

    def entry(self, path: str) -> str:
        """Return the name of what stands at the end of `path` in it."""
        return f"{self.name}/{os.path.basename(path)}"


def alone(status: os.stat_result) -> bool:
    """Tell whether nobody but root, or who runs this, can put something into a directory."""
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def refusal(path: str, name: str, folder: os.stat_result) -> StateError:
    """Return what is said of a link that root must not follow."""
    try:
        owner = pwd.getpwuid(folder.st_uid).pw_name
    except KeyError:
        owner = str(folder.st_uid)
    return StateError(
        f"{path}: {name} is a link, in a directory of {owner}, who can lead it anywhere;"
        " look at who put it there, and remove it"
    )


def into(path: str, name: str, here: int, make: bool) -> int:
    """Return a descriptor of one component below the directory `here`."""
    try:
        return os.open(name, HANDLE, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):  # another run was quicker: what it made is looked at as any
            os.mkdir(name, 0o755, dir_fd=here)
        return os.open(name, HANDLE, dir_fd=here)


def descend(path: str, make: bool) -> int:
    """Return a descriptor of a directory, reached component by component; `make` makes those that are missing.

    A link is followed where root alone could have put it. Raises StateError for another, and where something else is
    in the way; FileNotFoundError.
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
                raise StateError(f"{path}: {name} is there and is no directory; move it away")
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise
    return here


@contextmanager
def held(path: str, make: bool = False) -> Iterator[Directory | None]:
    """Hold a directory open; None where there is none. Raises StateError as `descend`."""
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
    """Make files and directories with this umask, whatever the host's is."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def read(name: str, path: str) -> str | None:
    """Return a file's text, byte for byte, None where there is none; StateError for a link and for what is no file.

    `name` is the path to open, `path` what people call it.
    """
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StateError(f"{path}: is a link and no file; move it away") from None
        raise
    with open(handle, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise StateError(f"{path}: is there and is no file; move it away")
        return stream.read()
