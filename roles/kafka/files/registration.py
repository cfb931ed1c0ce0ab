"""Restart a broker that runs, and has lost its registration in ZooKeeper, on its own host.

`registration.py server.properties unit SECONDS` goes on for ever: it restarts a broker that runs, was registered, and
has not been for so long. Kafka does not register again where its old registration was still there when its new session
began. Nobody loses by it: who is not registered leads nothing, and is in no ISR.

Written for Python 3.9 without any package.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which -I leaves out

from broker_file import own_endpoints, place, read
from zookeeper_session import ALL, ZooKeeper

EVERY = 10.0  # seconds: from one look at the registration to the next


def watch(path: str, unit: str, seconds: str) -> None:
    """Restart a broker that has lost its registration for so long; looks again and again, and says what it does."""
    lost, tick = Lost(float(seconds)), threading.Event()
    while not tick.wait(EVERY):
        try:
            process, there = look(path, unit)
        except Exception:  # nobody knows then
            process, there = "", None
        if lost.seen(process, there, time.monotonic()):
            print(f"{unit} runs and has not been registered for {seconds} s: it is restarted", flush=True)
            subprocess.run(["systemctl", "--no-block", "try-restart", unit], check=False)


def look(path: str, unit: str) -> tuple[str, bool | None]:
    """Return which process runs, and whether it is registered.

    Where it registers is in its name: a file that was written since the process was started may say another place, of
    which nobody knows whether it was ever registered there. What it says is read once.
    """
    run = running(unit)
    if not run:
        return "", None
    properties = read(path)
    return f"{run} {properties['broker.id']} {properties['zookeeper.connect']}", registered(properties)


class Lost:
    """Since when a process that was registered is not any more."""

    def __init__(self, seconds: float) -> None:
        """It may be away for so long."""
        self.seconds, self.process, self.since = seconds, "", -1.0

    def seen(self, process: str, there: bool | None, now: float) -> bool:
        """Take one look; return whether it has been away for too long, in every look since. None: nobody knows."""
        if there:
            self.process = process
        if there is not False or not process or process != self.process:  # one that starts has not registered yet
            self.since = -1.0
            return False
        self.since = now if self.since < 0 else self.since
        if now - self.since < self.seconds:
            return False
        self.process = ""
        return True


def running(unit: str) -> str:
    """Return the name that systemd gives to this run of the unit; "" where it is not active."""
    command = ["systemctl", "show", "-p", "ActiveState", "-p", "InvocationID", unit]
    said = subprocess.run(command, stdout=subprocess.PIPE, timeout=ALL, check=True).stdout.decode()
    facts = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    return facts.get("InvocationID", "") if facts.get("ActiveState") == "active" else ""


def registered(properties: Mapping[str, str]) -> bool | None:
    """Tell whether the broker is registered; None where another one is under its id. Raises what a session does."""
    with ZooKeeper(properties) as zookeeper:
        found = zookeeper.get(place(properties))
    if found is None:
        return False
    return sorted(json.loads(found.data)["endpoints"]) == sorted(own_endpoints(properties)) or None


if __name__ == "__main__":
    watch(*sys.argv[1:])
