"""Have another broker be the controller before this one is stopped, on its own host.

`hand_over.py server.properties [ID ...]`; the ids are those of brokers that are stopped with it.

A broker that stops has the controller move what it leads. The controller that moves its own resigns before it has told
all others of it, and they go on sending clients to it until the next one is elected and tells them. With the znode of
the controller gone, Kafka elects another one while this one serves all that it leads. So that it is another one, this
one is held (SIGSTOP) for as long as the election takes, some hundredths of a second. Who stops it waits until nobody
names it as the controller any more: until then the new one would not be heard.

The znode is deleted once. A broker that is told that somebody was elected, and finds nobody any more, stands for no
election: where that happens to all, as by a second deletion at once, nobody is the controller until one is restarted.

Written for Python 3.9 without any package.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parent))  # which -I leaves out

from broker_file import own_endpoints, place, read
from zookeeper_session import RefusedError, ZooKeeper

CONTROLLER, EPOCH, REGISTERED, UNIT = "/controller", "/controller_epoch", "/brokers/ids", "kafka.service"
SETTLED = 5.0  # seconds since an election: brokers may still work on it
HELD = 0.5  # seconds for which a process is held, at most
ELECTED, LOOK = 2.0, 0.005  # seconds: in which somebody is elected, and between two looks
STANDS = "TtZX"  # states of a thread that does nothing


class Outcome(NamedTuple):
    """What was done."""

    said: str
    former: Sequence[int] = ()
    """Who is the controller no more, one or none."""
    elected: Sequence[int] = ()
    """Who is it, as far as that is known, one or none."""


def main(path: str, *stopped: str) -> Outcome:
    """Return what was done."""
    try:
        properties, process = read(path), main_process()
        with ZooKeeper(properties) as zookeeper:
            return handed_over(zookeeper, properties, {properties["broker.id"], *stopped}, process)
    except Exception as error:  # whatever it is: the broker is stopped, and Kafka elects another one then
        return Outcome(f"nobody else is known to be the controller: {str(error) or type(error).__name__}")


def handed_over(zookeeper: ZooKeeper, properties: Mapping[str, str], stopped: Collection[str], process: int) -> Outcome:
    """Delete what says who is the controller, once; return what was done. Raises as `held` and ZooKeeper."""
    number = properties["broker.id"]
    epoch = zookeeper.get(EPOCH)  # first: who is elected after this look changes it, and keeps what is seen then
    if why := opposed(zookeeper, properties, stopped):
        return Outcome(why)
    with held(process):
        zookeeper.allow(ELECTED + 1)
        try:
            zookeeper.delete(CONTROLLER, EPOCH, epoch.version if epoch else -1)
        except RefusedError:
            raise
        except Exception as error:
            return unknown(number, error)
        try:
            elected = next_ruler(zookeeper)
        except Exception as error:
            return unknown(number, error)
    said = "was elected, and is stopped now" if str(elected) in stopped else "is the controller now"
    return Outcome(f"broker {elected} {said}", () if str(elected) == number else (int(number),), (elected,))


def unknown(number: str, error: Exception) -> Outcome:
    """Return that a broker may be the controller no more."""
    why = str(error) or type(error).__name__
    return Outcome(f"its znode may be deleted, and nobody is known to be elected: {why}", (int(number),))


def opposed(zookeeper: ZooKeeper, properties: Mapping[str, str], stopped: Collection[str]) -> str:
    """Return why nothing is to be deleted; '' for nothing."""
    number, own, ruler = properties["broker.id"], zookeeper.get(place(properties)), zookeeper.get(CONTROLLER)
    if not own or not ruler or not own.owner or own.owner != ruler.owner:
        return f"broker {number} is not the controller"
    if not set(json.loads(own.data)["endpoints"]) & set(own_endpoints(properties)):
        return f"broker {number} is registered at none of the addresses that its file says"
    if not set(zookeeper.children(REGISTERED)) - set(stopped):
        return "nobody else could be the controller"
    if time.time() - int(json.loads(ruler.data).get("timestamp", 0)) / 1000 < SETTLED:  # by this host's own clock
        return f"broker {number} has been elected a moment ago"
    return ""


def main_process() -> int:
    """Return the process id of the broker. Raises LookupError, OSError, ValueError, subprocess.SubprocessError."""
    command = ["systemctl", "show", "--property=MainPID", "--value", UNIT]
    number = int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=ELECTED).stdout or 0)
    if number <= 1:
        raise LookupError(f"{UNIT} has no process")
    return number


@contextlib.contextmanager
def held(process: int) -> Iterator[None]:
    """Hold a process meanwhile, at most HELD s. A child does it, and ends it where this process is killed.

    Raises LookupError, OSError.
    """
    mine, its = socket.socketpair()
    child = os.fork()
    if not child:
        try:
            mine.close()
            hold(process, its)
        finally:
            os._exit(0)
    its.close()
    signal.signal(signal.SIGALRM, lambda *_: go_on(process))  # where the child is killed
    signal.setitimer(signal.ITIMER_REAL, 2 * HELD)
    try:
        mine.settimeout(2 * HELD)
        if not mine.recv(1):
            raise LookupError("its process could not be held")
        yield
    finally:
        mine.close()
        ended(child)
        go_on(process)
        signal.setitimer(signal.ITIMER_REAL, 0)


def go_on(process: int) -> None:
    """Have a process go on; one that has ended, or goes on already, is well."""
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGCONT)


def ended(child: int) -> None:
    """Wait until a child has ended, as it does at once, or end it."""
    until, pause = time.monotonic() + HELD, threading.Event()
    with contextlib.suppress(OSError):
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
            pause.wait(LOOK)


def hold(process: int, other: socket.socket) -> None:
    """Hold a process until the other end is closed, at most HELD s; say so once it stands.

    One that stands already was stopped by somebody else, who has it go on.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.setsid()
    if stands(process):
        return
    until, pause = time.monotonic() + HELD, threading.Event()
    try:
        os.kill(process, signal.SIGSTOP)
        while not stands(process):
            if time.monotonic() > until:
                return
            pause.wait(LOOK)
        other.settimeout(max(until - time.monotonic(), LOOK))
        other.send(b".")
        other.recv(1)  # ends when nobody has the other end any more
    finally:
        go_on(process)


def stands(process: int) -> bool:
    """Tell whether no thread of a process does anything."""
    states = list[str]()
    for thread in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # one that has ended
            states.append(thread.read_text().rpartition(") ")[2][:1])
    return all(state in STANDS for state in states)


def next_ruler(zookeeper: ZooKeeper) -> int:
    """Return the id of the controller, as soon as there is one. Raises TimeoutError, ValueError, as ZooKeeper."""
    pause, deadline = threading.Event(), time.monotonic() + ELECTED
    while not (ruler := zookeeper.get(CONTROLLER)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody was within {ELECTED:.0f} s")
        pause.wait(LOOK)
    return int(json.loads(ruler.data)["brokerid"])


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])._asdict()))
