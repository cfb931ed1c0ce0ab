"""Locks hosts for one run at a time: flock on one file per host, on the control node, until the run ends.

A task runs in a worker process that ends with the task, so a worker cannot keep a lock. The worker sends the open file
to a socket pair that the run's main process created before (socketpair(7), SCM_RIGHTS). While the main process lives,
the queue of the socket keeps the file open, and the open file keeps its flock (flock(2)). The kernel releases the lock
however the process ends.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import pwd
import re
import secrets
import shlex
import socket
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Folders for the lock files, in order: every user may write there, and no service removes files in use.
FOLDERS = ("/run/lock", "/var/tmp")
OPEN_TO_ALL = stat.S_ISVTX | stat.S_IWOTH
# Open files in one message; SCM_MAX_FD of Linux allows 253.
AT_ONCE = 200
# Seconds to wait until a run that has just taken a lock has described itself in the file.
PATIENCE = 2.0
# Options whose values are variables: these may be passwords.
VARIABLES = re.compile(r"(-[bCDJKkv]*e|--e[a-z-]*=?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Run:
    """A playbook run that holds a lock, described for people; `mark` is a random text that identifies the run."""

    user: str
    pid: int
    command: str
    since: str
    node: str
    mark: str

    def __str__(self) -> str:
        """Return the run for a message: user, control node, start time, pid and command."""
        return f"{self.user} on control node {self.node} since {self.since}, pid {self.pid}: {self.command}"


@dataclass
class Keeper:
    """The lock state of the main process of a run; forked worker processes inherit it.

    `sender` is the end of the socket pair through which workers send open lock files to the main process.
    """

    mark: str = ""
    sender: socket.socket | None = None
    kept: list[socket.socket] = field(default_factory=list)
    """The receiving end of the socket pair; its queue keeps the lock files open.

    Workers close this end: a worker that outlives the run would keep the locks.
    """


_KEEPER = Keeper()


def prepare() -> None:
    """Create the socket pair that keeps this run's locks; call it in the run's main process before its first task.

    The lookup run_lock does so.
    """
    if _KEEPER.sender is None:
        _KEEPER.sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        _KEEPER.mark = f"{os.getpid()} {secrets.token_hex(8)}"
        _KEEPER.kept.append(receiver)
        os.register_at_fork(after_in_child=_leave_to_the_parent)


def _leave_to_the_parent() -> None:
    for receiver in _KEEPER.kept:
        receiver.close()
    _KEEPER.kept.clear()


def usual_folder() -> Path:
    """Return the default folder of the lock files: a folder in which every user may create files.

    The folder is the same for all users, so that their runs use the same lock files.
    """
    folders = (Path(name) for name in FOLDERS)
    return next((path for path in folders if path.is_dir() and path.stat().st_mode & OPEN_TO_ALL == OPEN_TO_ALL),
                Path(FOLDERS[-1]))  # fmt: skip


LOCK_FOLDER = ProblemKind(
    "LOCK_FOLDER",
    "{error}: {file}. Without a lock two runs could restart two brokers",
    "set it to a folder in which all users that run playbooks may create and write files, on a file system with flock",
)
LOCK_FOLDER_FILES = LOCK_FOLDER.variant(
    advice="raise the limit of open files (ulimit -n): a run holds one lock for each host"
)
RUN_LOCKED = ProblemKind(
    "RUN_LOCKED",
    "another run changes {host} ({run}): two runs at once could restart two brokers",
    "wait until that run has ended, or end it there. No file has to be removed",
)


def problems(addresses: Mapping[str, str], folder: str) -> list[Problem]:
    """Lock all hosts in `addresses`, {host: address}, until this run ends; return [] if that succeeds.

    If another run holds a lock, or a lock file cannot be used, no host is locked and the list contains that problem.
    `folder` is the folder of the lock files, '' for the default.
    """
    place = Path(folder) if folder else usual_folder()
    try:
        held = take(place, sorted(set(addresses.values())))
    except OSError as error:
        too_many = error.errno in (errno.EMFILE, errno.ENFILE, errno.ETOOMANYREFS)
        kind = LOCK_FOLDER_FILES if too_many else LOCK_FOLDER
        file = error.filename or place
        return [kind.problem((), "run_lock_directory", place, error=error.strerror, file=file)]
    if held is None:
        return []
    address, run = held
    host = next(name for name, value in addresses.items() if value == address)
    return [RUN_LOCKED.problem((), "", host=host, run=run)]


def take(folder: Path, addresses: Sequence[str]) -> tuple[str, Run] | None:
    """Lock all of these addresses or none; return None, or (address, run) of the first lock that another run holds.

    Locks of this run stay. Waits up to PATIENCE seconds if the run that a lock file describes has ended: another run
    may hold the lock already and not have written its description yet. Raises OSError if a lock file cannot be opened
    or locked, and RuntimeError if `prepare` was not called.
    """
    if _KEEPER.sender is None:
        raise RuntimeError("run_lock.prepare was not called in the process of the run")
    until = time.monotonic() + PATIENCE
    while True:
        held = _take(folder, addresses)
        # The run may not have described itself yet: then the file has an earlier run, which has ended.
        if held is None or _is_alive(held[1]) or time.monotonic() > until:
            return held
        time.sleep(0.1)


def _take(folder: Path, addresses: Sequence[str]) -> tuple[str, Run] | None:
    own, taken = this_run(), list[int]()
    try:
        for address in addresses:
            file = opened(folder / f"millrace-{re.sub(r'[^A-Za-z0-9.:_-]', '_', address)}.lock")
            taken.append(file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = read(file)
                os.close(taken.pop())
                if holder.mark != own.mark:
                    return address, holder
        for file in taken:
            content = f"{json.dumps(asdict(own))}\n".encode()
            os.pwrite(file, content, 0)
            os.ftruncate(file, len(content))
        _keep(taken)
    finally:
        for file in taken:
            os.close(file)
    return None


def _keep(files: Sequence[int]) -> None:
    """Send open lock files to the socket of the run's main process, which keeps the locks. Raises OSError."""
    assert _KEEPER.sender is not None
    for start in range(0, len(files), AT_ONCE):
        socket.send_fds(_KEEPER.sender, [b"."], list(files[start : start + AT_ONCE]), socket.MSG_DONTWAIT)


def opened(path: Path) -> int:
    """Open the lock file `path` and return its file descriptor; a missing file is created, writable for all users.

    Raises OSError if the file cannot be opened, or is not a regular file.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        try:  # O_CREAT alone fails for a file of another user in a folder that is open to all (fs.protected_regular)
            mask = os.umask(0)
            try:
                file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            finally:
                os.umask(mask)
            os.fchmod(file, 0o666)  # in case the folder has an ACL
        except FileExistsError:
            file = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "not a regular file", str(path))
    return file


def read(file: int) -> Run:
    """Return the Run that an open lock file describes; `file` is a file descriptor.

    Any user may write to the file: unprintable characters are replaced, and for invalid contents the Run has the user
    "an unknown user" and no mark.
    """
    try:
        content = json.loads(os.pread(file, 65536, 0))
        user, command, since, node, mark = (
            _printable(content[name]) for name in ("user", "command", "since", "node", "mark")
        )
        return Run(user, int(content["pid"]), command, since, node, mark)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return Run("an unknown user", 0, "an unknown command", "an unknown time", "(unknown)", "")


def _printable(value: object) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in str(value))
    return text if len(text) <= 300 else f"{text[:300]}..."


def this_run() -> Run:
    """Return the description of this run, which `take` writes into its lock files."""
    pid = int(_KEEPER.mark.partition(" ")[0] or os.getpid())
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    return Run(user(), pid, _printable(command_line(sys.argv)), since, platform.node(), _KEEPER.mark)


def user() -> str:
    """Return the name of the user who runs this process; after sudo also the user who called sudo."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        name = str(os.getuid())
    before = os.environ.get("SUDO_USER")
    return f"{name} (sudo of {before})" if before else name


def command_line(arguments: Iterable[str]) -> str:
    """Return the command `arguments` as typed, with `...` in place of the values of variables (-e).

    These values may be passwords. Names of variable files (-e @file) stay.
    """
    words, hidden = list[str](), False
    for argument in arguments:
        option = VARIABLES.fullmatch(argument)
        if hidden:
            words.append(argument if argument.startswith("@") else "...")
        elif option and option.group(2) and not option.group(2).startswith("@"):
            words.append(f"{option.group(1)}...")
        else:
            words.append(argument)
        hidden = not hidden and option is not None and not option.group(2) and not option.group(1).endswith("=")
    return " ".join(word if word.endswith("...") else shlex.quote(word) for word in words)


def _is_alive(run: Run) -> bool:
    """Tell whether the process of a run is still alive; a run on another control node counts as alive."""
    if run.node != platform.node():
        return bool(run.mark)
    try:
        os.kill(run.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OverflowError:
        return False
    return run.pid > 0
