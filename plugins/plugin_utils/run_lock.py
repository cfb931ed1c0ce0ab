"""One run at a time that changes a host: flock on a file for each, kept as long as the run lives; no Ansible import.

Tasks run in workers that end with them, so a worker cannot keep a lock. It puts the open file into the queue of a
socket that the run's own process has made before (socketpair(7), SCM_RIGHTS): while that process lives the queue is
there, and with it the open file and its flock, which belongs to the open file (flock(2)). However the process ends, the
kernel releases it.
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

from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# All users may write to the first of them that is open to all, and nobody tidies up there what is in use.
FOLDERS = ("/run/lock", "/var/tmp")
OPEN_TO_ALL = stat.S_ISVTX | stat.S_IWOTH
# What one message may carry is SCM_MAX_FD of Linux, 253.
AT_ONCE = 200
# How long to wait for the words of a run that has just taken a lock.
PATIENCE = 2.0
# What comes before variables of the command line: they may be passwords.
VARIABLES = re.compile(r"(-[bCDJKkv]*e|--e[a-z-]*=?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Run:
    """Who holds a lock, in words for people; `mark` is of this run alone."""

    user: str
    pid: int
    command: str
    since: str
    node: str
    mark: str

    def __str__(self) -> str:
        """Return all but the mark."""
        return f"{self.user} on control node {self.node} since {self.since}, pid {self.pid}: {self.command}"


@dataclass
class Keeper:
    """What the run's own process has, and workers inherit."""

    mark: str = ""
    sender: socket.socket | None = None
    kept: list[socket.socket] = field(default_factory=list)
    """The end in whose queue the files lie; no worker has it, else one that outlives the run would keep them."""


_KEEPER = Keeper()


def prepare() -> None:
    """Make what keeps locks. To be called in the run's own process, before its first task."""
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
    """Return a folder of this machine in which every user may make files: the same one for all."""
    found = (Path(name) for name in FOLDERS)
    return next((path for path in found if path.is_dir() and path.stat().st_mode & OPEN_TO_ALL == OPEN_TO_ALL),
                Path(FOLDERS[-1]))  # fmt: skip


def problems(addresses: Mapping[str, str], folder: str) -> list[Problem]:
    """Lock these hosts ({host: address}) until this run ends; say what is in the way, and then lock none.

    `folder` is where the files are, '' where the inventory does not say it.
    """
    place = Path(folder) if folder else usual_folder()
    try:
        found = take(place, sorted(set(addresses.values())))
    except OSError as error:
        wrong = f"{error.strerror}: {error.filename or place}, and without a lock two runs could restart two brokers"
        advice = "name a folder in which all who run playbooks may make and write files, on a file system with flock"
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ETOOMANYREFS):
            advice = "raise the number of files that may be open (ulimit -n): a lock is one for each host"
        return [Problem((), "run_lock_directory", "LOCK_FOLDER", place, wrong, advice)]
    if found is None:
        return []
    address, run = found
    host = next(name for name, value in addresses.items() if value == address)
    wrong = f"another run changes {host}, and two at once could restart two brokers ({run})"
    advice = "wait until it has ended, or end it there; nothing has to be removed"
    return [Problem((), "", "RUN_LOCKED", None, wrong, advice)]


def take(folder: Path, addresses: Sequence[str]) -> tuple[str, Run] | None:
    """Lock all of these, or none. Return the first that another run holds, and who that is. Raises OSError.

    What this run holds already, it keeps.
    """
    if _KEEPER.sender is None:
        raise RuntimeError("run_lock.prepare was not called in the process of the run")
    until = time.monotonic() + PATIENCE
    while True:
        held = _take(folder, addresses)
        # It may be about to write its words: those of an earlier run, which has ended, are still there.
        if held is None or _lives(held[1]) or time.monotonic() > until:
            return held
        time.sleep(0.1)


def _take(folder: Path, addresses: Sequence[str]) -> tuple[str, Run] | None:
    us, taken = this_run(), list[int]()
    try:
        for address in addresses:
            file = opened(folder / f"millrace-{re.sub(r'[^A-Za-z0-9.:_-]', '_', address)}.lock")
            taken.append(file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = read(file)
                os.close(taken.pop())
                if holder.mark != us.mark:
                    return address, holder
        for file in taken:
            words = f"{json.dumps(asdict(us))}\n".encode()
            os.pwrite(file, words, 0)
            os.ftruncate(file, len(words))
        _keep(taken)
    finally:
        for file in taken:
            os.close(file)
    return None


def _keep(files: Sequence[int]) -> None:
    """Have the run's own process hold these open files. Raises OSError."""
    assert _KEEPER.sender is not None
    for start in range(0, len(files), AT_ONCE):
        socket.send_fds(_KEEPER.sender, [b"."], list(files[start : start + AT_ONCE]), socket.MSG_DONTWAIT)


def opened(path: Path) -> int:
    """Open a lock's file, making it where it is missing, for all users. Raises OSError."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        try:  # O_CREAT alone is refused of another user's file in a folder that is open to all (fs.protected_regular)
            mask = os.umask(0)
            try:
                file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            finally:
                os.umask(mask)
            os.fchmod(file, 0o666)  # where the folder has an ACL
        except FileExistsError:
            file = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "no regular file", str(path))
    return file


def read(file: int) -> Run:
    """Return who says in the file that he holds it; nobody is trusted to have written what can be shown."""
    try:
        said = json.loads(os.pread(file, 65536, 0))
        user, command, since, node, mark = (_shown(said[name]) for name in ("user", "command", "since", "node", "mark"))
        return Run(user, int(said["pid"]), command, since, node, mark)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return Run("somebody", 0, "a command that is not noted", "an unknown time", "an unknown one", "")


def _shown(word: object) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in str(word))
    return text if len(text) <= 300 else f"{text[:300]}..."


def this_run() -> Run:
    """Return this run, as others are to see it."""
    pid = int(_KEEPER.mark.partition(" ")[0] or os.getpid())
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    return Run(user(), pid, _shown(command_line(sys.argv)), since, platform.node(), _KEEPER.mark)


def user() -> str:
    """Return who runs this, and who became it by sudo."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        name = str(os.getuid())
    before = os.environ.get("SUDO_USER")
    return f"{name} (sudo of {before})" if before else name


def command_line(arguments: Iterable[str]) -> str:
    """Return a command as it was typed, without the values of variables: files alone are named."""
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


def _lives(run: Run) -> bool:
    """Tell whether a run is there; of another machine's that is not known."""
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
