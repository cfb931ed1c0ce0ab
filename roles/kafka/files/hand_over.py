"""Have another broker be the controller before this one is stopped, on its own host.

`hand_over.py server.properties [ID ...]`; the ids are those of brokers that are stopped with it.

A broker that stops has the controller move what it leads. The controller that moves its own resigns before it has told
all others of it, and they go on sending clients to it until the next one is elected and tells them. With the znode of
the controller gone, Kafka elects another one while this one serves all that it leads. So that it is another one, this
one is held (SIGSTOP) for as long as the election takes, some hundredths of a second. Who stops it waits until all
brokers name the new one: until then they would not be heard.

The znode is deleted once. A broker that is told that somebody was elected, and finds nobody any more, stands for no
election: where that happens to all, as by a second deletion at once, nobody is the controller until one is restarted.

Written for Python 3.9 without any package.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which -I leaves out

from broker_file import own_endpoints, place, read
from zookeeper_session import ZooKeeper

CONTROLLER, REGISTERED, UNIT = "/controller", "/brokers/ids", "kafka.service"
SETTLED = 5.0  # seconds since an election: brokers may still work on it
HELD = 0.5  # seconds for which a process is held, at most
ELECTED, LOOK = 2.0, 0.005  # seconds: in which somebody is elected, and between two looks


def main(path: str, *stopped: str) -> str:
    """Return what was done, in a sentence."""
    try:
        properties = read(path)
        with ZooKeeper(properties) as zookeeper:
            return handed_over(zookeeper, properties, {properties["broker.id"], *stopped})
    except Exception as error:  # whatever it is: the broker is stopped, and Kafka elects another one then
        return f"nobody else is known to be the controller: {str(error) or type(error).__name__}"


def handed_over(zookeeper: ZooKeeper, properties: Mapping[str, str], stopped: Collection[str]) -> str:
    """Delete what says who is the controller, once; return what was done."""
    number, own, ruler = properties["broker.id"], zookeeper.get(place(properties)), zookeeper.get(CONTROLLER)
    if not own or not ruler or not own.owner or own.owner != ruler.owner:
        return f"broker {number} is not the controller"
    if not set(json.loads(own.data)["endpoints"]) & set(own_endpoints(properties)):
        return f"broker {number} is registered at none of the addresses that its file says"
    if not set(zookeeper.children(REGISTERED)) - set(stopped):
        return "nobody else could be the controller"
    if abs(time.time() - int(json.loads(ruler.data).get("timestamp", 0)) / 1000) < SETTLED:
        return f"broker {number} has been elected a moment ago"
    with held(main_process()):
        zookeeper.delete(CONTROLLER)
        elected = next_ruler(zookeeper)
    return f"broker {elected} " + ("was elected, and is stopped now" if elected in stopped else "is the controller now")


def main_process() -> int:
    """Return the process id of the broker. Raises LookupError, OSError, subprocess.SubprocessError."""
    command = ["systemctl", "show", "--property=MainPID", "--value", UNIT]
    number = int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=ELECTED).stdout or 0)
    if number <= 1:
        raise LookupError(f"{UNIT} has no process")
    return number


@contextlib.contextmanager
def held(process: int) -> Iterator[None]:
    """Hold a process meanwhile, at most HELD s. Where this one is killed, its child has the other go on."""
    mine, its = socket.socketpair()
    if not os.fork():
        try:
            os.setsid()
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            mine.close()
            its.send(b".")
            select.select([its], [], [], HELD)  # ends when nobody has the other end any more
            os.kill(process, signal.SIGCONT)
        finally:
            os._exit(0)
    its.close()
    try:
        mine.recv(1)
        os.kill(process, signal.SIGSTOP)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
        mine.close()
        os.wait()


def next_ruler(zookeeper: ZooKeeper) -> str:
    """Return the id of the controller, as soon as there is one. Raises TimeoutError."""
    pause, deadline = threading.Event(), time.monotonic() + ELECTED
    while not (ruler := zookeeper.get(CONTROLLER)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"its znode was deleted, and nobody was elected within {ELECTED:.0f} s")
        pause.wait(LOOK)
    return str(json.loads(ruler.data)["brokerid"])


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
