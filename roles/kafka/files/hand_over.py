"""Moves the controller away from the broker of this host before that broker is stopped.

Usage: `hand_over.py server.properties [ID ...]`; the ids are those of the brokers that are stopped together with it.
Prints one line of JSON, an `Outcome`: `state`, `message`, `former` and `elected`.

Why: when a broker stops, the controller moves the leaders that the broker has. If the broker is the controller itself,
it resigns before it has informed all other brokers, and they send clients to it until the next controller is elected.
If the controller's znode is deleted instead, Kafka elects another controller while this broker still serves all that
it leads. Meanwhile this broker is paused (SIGSTOP) for some hundredths of a second, so that it does not win the
election. The caller then waits until no broker names the former controller any more: until then the new controller's
requests would be ignored.

The znode is deleted only once. A broker that is notified of an election, and then finds no controller, does not stand
for the next election. If all brokers are in that state, as after a second deletion at once, there is no controller
until a broker is restarted.

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
HELD = 0.5  # seconds for which the process is paused, at most
ELECTED, LOOK = 2.0, 0.005  # seconds: limit of an election; interval between two looks
PAUSED = "TtZX"  # states of a thread that does not run

# Values of Outcome.state; the module kafka_controller decides by them.
HANDED_OVER = "handed_over"  # another broker is the controller, and it keeps running
NOT_CONTROLLER = "not_controller"  # this broker is not the controller: there is nothing to do
REFUSED = "refused"  # nothing was deleted, because the conditions are not met
STOPPING = "stopping"  # the broker that was elected is about to stop, too
UNKNOWN = "unknown"  # the znode may have been deleted, and no new controller is known
FAILED = "failed"  # nothing was deleted, because of an error


class Outcome(NamedTuple):
    """The result of the run, printed as JSON."""

    state: str
    message: str
    former: Sequence[int] = ()
    """Id of the broker that is no longer the controller, if there is one."""
    elected: Sequence[int] = ()
    """Id of the broker that was elected, if it is known."""


def main(path: str, *stopped: str) -> Outcome:
    """Hand the controller over; return the outcome. Never raises."""
    try:
        properties, process = read(path), main_process()
        with ZooKeeper(properties) as zookeeper:
            return handed_over(zookeeper, properties, {properties["broker.id"], *stopped}, process)
    except Exception as error:  # any error: the broker is stopped all the same, and Kafka then elects another one
        return Outcome(FAILED, f"the controller was not handed over: {str(error) or type(error).__name__}")


def handed_over(zookeeper: ZooKeeper, properties: Mapping[str, str], stopped: Collection[str], process: int) -> Outcome:
    """Delete the controller's znode once; return the outcome. Raises what `paused` and ZooKeeper raise."""
    number = properties["broker.id"]
    epoch = zookeeper.get(EPOCH)  # first: an election after this point changes it, and then the deletion is refused
    if refusal := refused(zookeeper, properties, stopped):
        return refusal
    with paused(process):
        zookeeper.allow(ELECTED + 1)
        try:
            zookeeper.delete(CONTROLLER, EPOCH, epoch.version if epoch else -1)
        except RefusedError:
            raise
        except Exception as error:
            return unknown(number, error)
        try:
            elected = next_controller(zookeeper)
        except Exception as error:
            return unknown(number, error)
    former = () if str(elected) == number else (int(number),)
    if str(elected) in stopped:
        return Outcome(STOPPING, f"broker {elected} was elected, but it is about to stop", former, (elected,))
    return Outcome(HANDED_OVER, f"broker {elected} is the controller now", former, (elected,))


def unknown(number: str, error: Exception) -> Outcome:
    """Return the outcome where the broker with this id may no longer be the controller."""
    why = str(error) or type(error).__name__
    message = f"the controller's znode may have been deleted, but no new controller is known: {why}"
    return Outcome(UNKNOWN, message, (int(number),))


def refused(zookeeper: ZooKeeper, properties: Mapping[str, str], stopped: Collection[str]) -> Outcome | None:
    """Return why nothing may be deleted; None where the znode may be deleted."""
    number, own, controller = properties["broker.id"], zookeeper.get(place(properties)), zookeeper.get(CONTROLLER)
    if not own or not controller or not own.owner or own.owner != controller.owner:
        return Outcome(NOT_CONTROLLER, f"broker {number} is not the controller")
    if not set(json.loads(own.data)["endpoints"]) & set(own_endpoints(properties)):
        return Outcome(REFUSED, f"broker {number} is registered with none of the addresses in its server.properties")
    if not set(zookeeper.children(REGISTERED)) - set(stopped):
        return Outcome(REFUSED, "no other broker that keeps running is registered")
    elected = int(json.loads(controller.data).get("timestamp", 0)) / 1000
    if time.time() - elected < SETTLED:  # by the clock of this host, which also wrote the timestamp
        return Outcome(REFUSED, f"broker {number} was elected less than {SETTLED:.0f} s ago")
    return None


def main_process() -> int:
    """Return the id of the broker's process. Raises LookupError, OSError, ValueError, subprocess.SubprocessError."""
    command = ["systemctl", "show", "--property=MainPID", "--value", UNIT]
    number = int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=ELECTED).stdout or 0)
    if number <= 1:
        raise LookupError(f"{UNIT} has no process")
    return number


@contextlib.contextmanager
def paused(process: int) -> Iterator[None]:
    """Pause a process for the length of the block, at most HELD s.

    A child does it, so that the process is resumed also if this one is killed. Raises LookupError, OSError.
    """
    mine, its = socket.socketpair()
    child = os.fork()
    if not child:
        try:
            mine.close()
            pause(process, its)
        finally:
            os._exit(0)
    its.close()
    signal.signal(signal.SIGALRM, lambda *_: resume(process))  # if the child is killed
    signal.setitimer(signal.ITIMER_REAL, 2 * HELD)
    try:
        mine.settimeout(2 * HELD)
        if not mine.recv(1):
            raise LookupError("the broker's process could not be paused")
        yield
    finally:
        mine.close()
        reap(child)
        resume(process)
        signal.setitimer(signal.ITIMER_REAL, 0)


def resume(process: int) -> None:
    """Resume a process; no error if it has ended or runs already."""
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGCONT)


def reap(child: int) -> None:
    """Wait until a child has ended, usually at once; kill it after HELD s."""
    until, tick = time.monotonic() + HELD, threading.Event()
    with contextlib.suppress(OSError):
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
            tick.wait(LOOK)


def pause(process: int, other: socket.socket) -> None:
    """Pause a process until the other end of the socket is closed, at most HELD s; send a byte once it is paused.

    A process that is paused already is left alone: another program paused it, and will resume it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.setsid()
    if is_paused(process):
        return
    until, tick = time.monotonic() + HELD, threading.Event()
    try:
        os.kill(process, signal.SIGSTOP)
        while not is_paused(process):
            if time.monotonic() > until:
                return
            tick.wait(LOOK)
        other.settimeout(max(until - time.monotonic(), LOOK))
        other.send(b".")
        other.recv(1)  # returns when no process has the other end open
    finally:
        resume(process)


def is_paused(process: int) -> bool:
    """Tell whether no thread of a process runs."""
    states = list[str]()
    for thread in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # a thread that has ended
            states.append(thread.read_text().rpartition(") ")[2][:1])
    return all(state in PAUSED for state in states)


def next_controller(zookeeper: ZooKeeper) -> int:
    """Wait until a controller is elected; return its id. Raises TimeoutError, ValueError, and what ZooKeeper raises."""
    tick, deadline = threading.Event(), time.monotonic() + ELECTED
    while not (controller := zookeeper.get(CONTROLLER)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no controller was elected within {ELECTED:.0f} s")
        tick.wait(LOOK)
    return int(json.loads(controller.data)["brokerid"])


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])._asdict()))
