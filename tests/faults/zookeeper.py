"""Sessions with ZooKeeper; a client that writes all the time, and the times at which each write was acknowledged."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Self

from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE

from .inventory import Inventory

_PAUSE_SECONDS = 0.1
_ANSWER_SECONDS = 2.0


@contextlib.contextmanager
def session(inventory: Inventory, tls: Mapping[str, str] | None = None, timeout: float = 15) -> Iterator[KazooClient]:
    """Connect to the ensemble with a certificate, that of the znodes' owner by default."""
    hosts = ",".join(
        f"{inventory.client_address(host)}:{inventory.zookeeper_port}" for host in inventory.hosts("zookeeper")
    )
    files: dict[str, object] = {}
    if inventory.secure:
        tls = tls or inventory.owner_tls
        files = {
            "use_ssl": True,
            "check_hostname": True,
            "certfile": tls["certificate"],
            "keyfile": tls["certificate"],
            "ca": tls["ca"],
        }
    client = KazooClient(hosts, **files)
    try:
        client.start(timeout)
        yield client
    finally:
        client.stop()
        client.close()


class ZooKeeperWriter:
    """One session of ZooKeeper's own command-line client, on the host of one server, that creates znode after znode.

    The client shows the server's own certificate, which may not write to the root: the parent is made by its owner, and
    open to everybody.
    """

    def __init__(self, inventory: Inventory, host: str, parent: str) -> None:
        """Connect to all servers on the client network; `parent` is the znode below which it writes."""
        servers = ",".join(
            f"{inventory.client_address(server)}:{inventory.zookeeper_port}" for server in inventory.hosts("zookeeper")
        )
        secure = " -client-configuration /etc/zookeeper/client.properties" if inventory.secure else ""
        client = f"zkCli.sh -server {servers}{secure}"
        self.inventory, self.parent = inventory, parent
        self.acks: list[float] = []
        self._said: list[str] = []
        self._answered, self._stopped = threading.Event(), threading.Event()
        self._process = subprocess.Popen(
            inventory.command(host, f"{client} 2>&1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._write, daemon=True),
        ]

    def __enter__(self) -> Self:
        """Make the parent and wait for the first write."""
        with session(self.inventory) as owner:
            owner.create(self.parent, acl=OPEN_ACL_UNSAFE)
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
            self._send("quit")
        self._process.wait(30)
        self._threads[0].join()
        with session(self.inventory) as owner:
            owner.delete(self.parent, recursive=True)

    def gap(self, since: float, end: float | None = None) -> float:
        """Return the longest time without an acknowledgement from `since` to `end` (time.monotonic; now)."""
        end = end or time.monotonic()
        times = [since, *(ack for ack in self.acks if since < ack < end), end]
        return max(later - earlier for earlier, later in pairwise(times))

    def writes_again(self, seconds: float) -> None:
        """Wait until ten writes in a row came without a pause of a second. AssertionError after `seconds`."""
        since, asked = len(self.acks), time.monotonic()
        while len(self.acks) < since + 10 or self.acks[-1] - self.acks[-10] > 3:
            assert time.monotonic() - asked < seconds, (
                f"no writes for {self.gap(asked):.1f} s:\n{''.join(self._said[-20:])}"
            )
            self._stopped.wait(0.1)

    def _send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def _write(self) -> None:
        """One command after the other; one that is not answered is waited for, and then the next is sent."""
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
