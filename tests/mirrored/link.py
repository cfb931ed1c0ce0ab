"""Puts a distance between two networks of this machine, until it is ended: packets between them arrive later.

Their bridges send such packets to an interface of this process, which holds each for half the round trip, and for the
time that a link of limited rate takes.
"""

from __future__ import annotations

import argparse
import fcntl
import heapq
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from millrace_lab.distance import BURST, FRAME, NO_PACKET_INFORMATION, QUEUE, TUNSETIFF

TUN, NAME, TABLE, PRIORITY = 0x0001, "millrace-link", "7198", "7198"


def ip(*words: str) -> None:
    """Run the command ip. Raises CalledProcessError."""
    subprocess.run(["ip", *words], check=True)


@contextmanager
def routed(bridges: list[tuple[str, str]]) -> Iterator[int]:
    """Send packets between networks, each (its bridge, its subnet), to an interface; yield its file descriptor."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", NAME.encode(), TUN | NO_PACKET_INFORMATION))
    rules = [
        ("iif", bridge, "to", subnet, "lookup", TABLE, "priority", PRIORITY)
        for bridge, own in bridges
        for _, subnet in bridges
        if subnet != own
    ]
    try:
        ip("link", "set", NAME, "txqueuelen", "10000", "up")
        Path(f"/proc/sys/net/ipv4/conf/{NAME}/forwarding").write_text("1")
        Path(f"/proc/sys/net/ipv4/conf/{NAME}/rp_filter").write_text("0")
        ip("route", "replace", "default", "dev", NAME, "table", TABLE)
        for rule in rules:
            ip("rule", "add", *rule)
        yield descriptor
    finally:
        for rule in rules:
            with suppress(subprocess.CalledProcessError):
                ip("rule", "del", *rule)
        os.close(descriptor)  # the interface and its routes go with it


def carry(descriptor: int, delay: float, rate: float, ended: Event) -> None:
    """Carry packets until `ended`: each waits `delay` seconds, and for a link of `rate` bytes a second, if not 0."""
    waiting, taken, free = list[tuple[float, int, bytes]](), 0, dict[bytes, float]()
    while not ended.is_set():
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.2
        select.select((descriptor,), (), (), min(pause, 0.2))
        now = time.monotonic()
        for _ in range(BURST):
            try:
                packet = os.read(descriptor, FRAME)
            except BlockingIOError:
                break
            towards, due = packet[16:19], now  # the network of the destination
            if rate:
                begins = max(now, free.get(towards, now))
                if begins - now > QUEUE:
                    continue
                due = free[towards] = begins + len(packet) / rate
            taken += 1
            heapq.heappush(waiting, (due + delay, taken, packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            with suppress(BlockingIOError):
                os.write(descriptor, heapq.heappop(waiting)[2])


def main() -> int:
    """Read the command line, and carry packets until a signal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bridges", nargs=2, metavar="BRIDGE=SUBNET")
    parser.add_argument("--round-trip", type=float, default=0, metavar="MS")
    parser.add_argument("--rate", type=float, default=0, metavar="BYTES", help="bytes a second (0: no limit)")
    arguments = parser.parse_args()
    ended = Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    pairs = [tuple(text.split("=", 1)) for text in arguments.bridges]
    with routed([(bridge, subnet) for bridge, subnet in pairs]) as descriptor:
        print("apart", flush=True)
        carry(descriptor, arguments.round_trip / 2000, arguments.rate, ended)
    return 0


if __name__ == "__main__":
    sys.exit(main())
