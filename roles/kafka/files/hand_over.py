"""Have another broker be the controller before this one stops, on its own host.

`hand_over.py server.properties` is what the unit runs first of a stop (ExecStop).

A broker that stops has the controller move what it leads. The controller that moves its own resigns before it has told
all others of it, and they go on sending clients to it until the next one is elected and tells them. With the znode of
the controller gone, Kafka elects another one while this one serves all that it leads; that one then moves it.

Written for Python 3.9 without any package.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which -I leaves out

from broker_file import own_endpoints, place, read
from zookeeper_session import ZooKeeper

CONTROLLER, REGISTERED = "/controller", "/brokers/ids"
TRIES = 3  # this broker may be elected again: it hears of it first, and resigns before it runs again
ELECTED, LOOK = 2.0, 0.02  # seconds: in which somebody is elected, and between two looks


def main(path: str) -> str:
    """Return what was done, in a sentence."""
    try:
        properties = read(path)
        with ZooKeeper(properties) as zookeeper:
            return handed_over(zookeeper, properties)
    except Exception as error:  # whatever it is: the broker has to be stopped, and Kafka elects another one then
        return f"nobody was asked to be the controller first: {str(error) or type(error).__name__}"


def handed_over(zookeeper: ZooKeeper, properties: Mapping[str, str]) -> str:
    """Delete what says that this broker is the controller, until another one is; return what was done."""
    number, own, ruler = properties["broker.id"], zookeeper.get(place(properties)), zookeeper.get(CONTROLLER)
    if not own or not ruler or own.owner != ruler.owner:
        return f"broker {number} is not the controller"
    if sorted(json.loads(own.data)["endpoints"]) != sorted(own_endpoints(properties)):
        return f"broker {number} is registered by another process"
    if len(zookeeper.children(REGISTERED)) == 1:
        return "nobody else could be the controller"
    for _ in range(TRIES):
        # Whoever was elected since the look is elected anew: an election more, and nothing else.
        zookeeper.delete(CONTROLLER)
        elected = next_ruler(zookeeper)
        if elected != number:
            return f"broker {elected} is the controller now"
    return f"broker {number} was elected again"


def next_ruler(zookeeper: ZooKeeper) -> str:
    """Return the id of the controller, as soon as there is one. Raises TimeoutError."""
    pause, deadline = threading.Event(), time.monotonic() + ELECTED
    while not (ruler := zookeeper.get(CONTROLLER)):
        if time.monotonic() > deadline:
            raise TimeoutError("nobody was elected in time")
        pause.wait(LOOK)
    return str(json.loads(ruler.data)["brokerid"])


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
