"""A client that writes to ZooKeeper all the time, and the times at which each write was acknowledged."""

import contextlib
import subprocess
import threading
import time
from itertools import pairwise
from typing import Self

from .inventory import Inventory

_PAUSE_SECONDS = 0.1
_ANSWER_SECONDS = 2.0


class ZooKeeperWriter:
    """One session of ZooKeeper's own command-line client, on the host of one server, that creates one znode after the other."""

    def __init__(self, inventory: Inventory, host: str, parent: str) -> None:
        """Connect to all servers on the client network; `parent` is the znode below which it writes."""
        servers = ",".join(f"{inventory.client_address(server)}:2181" for server in inventory.hosts("zookeeper"))
        self.parent = parent
        self.acks: list[float] = []
        self._said: list[str] = []
        self._answered, self._stopped = threading.Event(), threading.Event()
        self._process = subprocess.Popen(
            inventory.command(host, f"zkCli.sh -server {servers} 2>&1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._threads = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._write, daemon=True)]

    def __enter__(self) -> Self:
        """Make the parent and wait for the first write."""
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + 30
        while len(self.acks) < 5:
            assert time.monotonic() < deadline, f"no write to ZooKeeper in 30 s:\n{''.join(self._said[-20:])}"
            self._stopped.wait(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was written, and end the client."""
        self._stopped.set()
        self._threads[1].join()
        with contextlib.suppress(BrokenPipeError):
            self._send(f"deleteall {self.parent}")
            self._send("quit")
        self._process.wait(30)
        self._threads[0].join()

    def gap(self, since: float) -> float:
        """Return the longest time without an acknowledgement after `since` (time.monotonic), now included."""
        times = [since, *(ack for ack in self.acks if ack > since), time.monotonic()]
        return max(later - earlier for earlier, later in pairwise(times))

    def writes_again(self, since: float, seconds: float) -> float:
        """Wait until ten writes in a row came without a pause of a second; return the longest gap after `since`. AssertionError after `seconds`."""
        while True:
            acks = [ack for ack in self.acks if ack > since]
            if len(acks) >= 10 and acks[-1] - acks[-10] < 3 and time.monotonic() - acks[-1] < 1 and time.monotonic() - since > 5:
                return self.gap(since)
            assert time.monotonic() - since < seconds, f"no writes for {self.gap(since):.1f} s:\n{''.join(self._said[-20:])}"
            self._stopped.wait(0.1)

    def _send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def _write(self) -> None:
        """One command after the other; one that is not answered is waited for, and then the next is sent."""
        self._send(f"create {self.parent}")
        number = 0
        while not self._stopped.wait(_PAUSE_SECONDS):
            number += 1
            self._answered.clear()
            self._send(f"create {self.parent}/{number}")
            self._answered.wait(_ANSWER_SECONDS)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.append(line)
            if f"Created {self.parent}/" in line:
                self.acks.append(time.monotonic())
                self._answered.set()
            elif "oss" in line or "expired" in line:  # connection loss: the next may succeed
                self._answered.set()
