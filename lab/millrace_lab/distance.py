"""Puts a distance between the datacenters of a running lab: frames between them arrive later or never, and are counted.

Each datacenter gets a bridge of its own for each network of the lab, and a relay between the bridges holds every frame
for half the round trip. The bridge that podman made keeps the machine itself, which is next to all datacenters. podman
connects a restarted host to its own bridge: restart the relay then.
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import select
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from .host import hardware_address
from .records import LabError
from .shared_resources import Machine, prefix

HOME = ""
"""The side of the control node: podman's bridge."""
TUNSETIFF, TAP, NO_PACKET_INFORMATION = 0x400454CA, 0x0002, 0x1000
FRAME = 65536
QUEUE = 0.4
"""Seconds that a frame may wait for a link of limited rate."""
BURST = 64
"""Frames that are read of one bridge before others have their turn."""


@dataclass
class Relay:
    """Decides when a frame leaves on which side, and counts. `places` is {hardware address: side}. No I/O.

    A side is (network, datacenter or HOME). A frame to an unknown address goes to all other sides of its network.
    """

    sides: list[tuple[str, str]]
    places: Mapping[bytes, str]
    delay: float
    """Seconds that a frame from one datacenter to another takes."""
    loss: float = 0
    """Share of the frames from one datacenter to another that are lost, from 0 to 1."""
    rate: float = 0
    """Bytes a second from one datacenter to another, 0 for no limit; what would wait longer than QUEUE is lost."""
    cut: bool = False
    """Whether all frames from one datacenter to another are lost."""
    counts: Counter[str] = field(default_factory=Counter)
    """Bytes from one datacenter to another, as `client dc1 dc2`."""
    waiting: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    free: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """Time at which a link of limited rate has sent all frames that it took."""
    taken: int = 0

    def take(self, side: int, frame: bytes, now: float) -> None:
        """Take a frame that a bridge sent to the relay."""
        network, datacenter = self.sides[side]
        to = self.places.get(frame[:6])
        for number, (other, place) in enumerate(self.sides):
            if number == side or other != network or to not in (None, place):
                continue
            due = now
            if HOME not in (datacenter, place):
                sent = self.sent((network, datacenter, place), len(frame), now)
                if sent is None:
                    continue
                due = sent + self.delay
                self.counts[f"{network} {datacenter} {place}"] += len(frame)
            self.taken += 1
            heapq.heappush(self.waiting, (due, self.taken, number, frame))

    def sent(self, link: tuple[str, str, str], size: int, now: float) -> float | None:
        """Return when a link has sent a frame of this size, None if the frame is lost."""
        if self.cut or (self.loss and random.random() < self.loss):
            return None
        if not self.rate:
            return now
        begins = max(now, self.free.get(link, now))
        if begins - now > QUEUE:
            return None
        self.free[link] = begins + size / self.rate
        return self.free[link]

    def due(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Yield (side, frame) of the frames whose time has come, in the order of their times."""
        while self.waiting and self.waiting[0][0] <= now:
            _, _, side, frame = heapq.heappop(self.waiting)
            yield side, frame

    def pause(self, now: float) -> float | None:
        """Return the seconds until the next frame is due, None if none waits."""
        return max(0.0, self.waiting[0][0] - now) if self.waiting else None


def tap(name: str) -> int:
    """Make a TAP interface, which lives as long as this process; return its file descriptor.

    Raises LabError if the machine cannot.
    """
    try:
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", name.encode(), TAP | NO_PACKET_INFORMATION))
    except OSError as error:
        raise LabError(f"interface {name}: {error.strerror}") from error
    return descriptor


@contextmanager
def only_relay(directory: Path) -> Iterator[None]:
    """Be the only relay of a lab. Raises LabError if there is one already: two would take each other's bridges away."""
    with (directory / "distance.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError(f"another make lab-distance runs on {directory}: end it first") from error
        yield


def carry(relay: Relay, taps: list[int], ended: Callable[[], bool], counts: Path) -> None:
    """Carry frames until `ended`; write the counts to a file once a second."""
    sides, written = {descriptor: side for side, descriptor in enumerate(taps)}, 0.0
    while not ended():
        pause = relay.pause(time.monotonic())
        ready, _, _ = select.select(taps, (), (), 0.2 if pause is None else min(pause, 0.2))
        for descriptor in ready:
            for _ in range(BURST):
                try:
                    relay.take(sides[descriptor], os.read(descriptor, FRAME), time.monotonic())
                except BlockingIOError:
                    break
        now = time.monotonic()
        for side, frame in relay.due(now):
            with suppress(BlockingIOError):  # the bridge's queue is full: a frame is lost, as on a link
                os.write(taps[side], frame)
        if now > written + 1:
            write_counts(relay, counts)
            written = now
    write_counts(relay, counts)


def write_counts(relay: Relay, path: Path) -> None:
    """Replace the file by {"client dc1 dc2": bytes}, in one step."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(relay.counts))
    new.rename(path)


class Bridges:
    """The bridges of the datacenters of one lab, and the interfaces of its hosts on them."""

    def __init__(self, machine: Machine, directory: Path) -> None:
        """Read what the lab is made of; raise LabError if it does not run, or has one datacenter."""
        self.machine = machine
        try:
            lab = json.loads((directory / "lab.json").read_text())
        except FileNotFoundError as error:
            raise LabError(f"{directory} is not a running lab: make it with make lab i=...") from error
        if "datacenters" not in lab:
            raise LabError(f"{directory} was made by an older version: run make lab again")
        self.datacenters = {host: str(name) for host, name in lab["datacenters"].items()}
        self.containers: dict[str, str] = lab["containers"]
        self.names = sorted({name for name in self.datacenters.values() if name})
        if len(self.names) < 2:
            raise LabError(f"the hosts of {directory} are in one datacenter, so there is no link to delay")
        self.home = self._bridges_of_podman()

    def _bridges_of_podman(self) -> dict[str, str]:
        """Return {network (client, replication): name of its bridge on the machine}."""
        first = next(iter(self.containers.values()))
        found = json.loads(self.machine.run("podman", "inspect", first))[0]["NetworkSettings"]["Networks"]
        names = {name.rpartition("-")[2]: name for name in found}
        return {
            kind: json.loads(self.machine.run("podman", "network", "inspect", name))[0]["network_interface"]
            for kind, name in sorted(names.items())
        }

    def sides(self) -> list[tuple[str, str]]:
        """Return each (network, datacenter or HOME) that has a bridge."""
        return [(kind, place) for kind in self.home for place in (HOME, *self.names)]

    def bridge(self, side: tuple[str, str]) -> str:
        """Return the name of a side's bridge."""
        kind, place = side
        return f"{self.prefix()}{kind[0]}{self.names.index(place)}" if place else self.home[kind]

    def prefix(self) -> str:
        """Return how the names of this lab's own interfaces begin."""
        return prefix(self.home["client"])

    def places(self) -> dict[bytes, str]:
        """Return {hardware address: datacenter} of the hosts' interfaces."""
        found = {}
        for host, container in self.containers.items():
            for settings in self._networks(container).values():
                address = hardware_address(settings["IPAddress"])
                found[bytes.fromhex(address.replace(":", ""))] = self.datacenters.get(host) or HOME
        for link in json.loads(self.machine.run("ip", "-j", "link", "show", "type", "bridge")):
            if link["ifname"] in self.home.values():
                found[bytes.fromhex(link["address"].replace(":", ""))] = HOME
        return found

    def _networks(self, container: str) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = json.loads(self.machine.run("podman", "inspect", container))[0][
            "NetworkSettings"
        ]["Networks"]
        return {name.rpartition("-")[2]: settings for name, settings in found.items()}

    def connect(self, place_of: Callable[[str, str], str]) -> list[str]:
        """Connect each interface of each host with the bridge that `place_of(network, host)` names.

        Return why it failed for some hosts, for example because they are down; the others are connected.
        """
        failed = []
        links = {link["ifindex"]: link["ifname"] for link in json.loads(self.machine.run("ip", "-j", "link"))}
        for host, container in self.containers.items():
            try:
                pid = self.machine.run("podman", "inspect", "--format", "{{.State.Pid}}", container).strip()
                inside = json.loads(self.machine.run("nsenter", "-t", pid, "-n", "ip", "-j", "link"))
                for link in inside:
                    if link["ifname"] in self.home:
                        bridge = place_of(link["ifname"], host)
                        self.machine.run("ip", "link", "set", links[link["link_index"]], "master", bridge)
            except LabError as error:
                failed.append(f"{host}: {error}")
        return failed

    @contextmanager
    def apart(self) -> Iterator[list[int]]:
        """Put the datacenters on bridges of their own; yield a TAP interface of each side, as file descriptors."""
        taps: list[int] = []
        self.together()
        try:
            for number, side in enumerate(self.sides()):
                if side[1]:
                    self.machine.run("ip", "link", "add", self.bridge(side), "type", "bridge")
                    self.machine.run("ip", "link", "set", self.bridge(side), "up")
                name = f"{self.prefix()}t{number}"
                taps.append(tap(name))
                self.machine.run("ip", "link", "set", name, "txqueuelen", "10000")
                self.machine.run("ip", "link", "set", name, "master", self.bridge(side), "up")
            if failed := self.connect(lambda kind, host: self.bridge((kind, self.datacenters.get(host) or HOME))):
                raise LabError("; ".join(failed))
            yield taps
        finally:
            self.together()
            for descriptor in taps:
                os.close(descriptor)

    def together(self) -> None:
        """Put all hosts back on podman's bridges, and remove those of the datacenters, also of a relay that died."""
        self.connect(lambda kind, _: self.home[kind])  # a host that is down starts on podman's bridge
        there = {link["ifname"] for link in json.loads(self.machine.run("ip", "-j", "link", "show", "type", "bridge"))}
        for side in self.sides():
            if side[1] and self.bridge(side) in there:
                self.machine.run("ip", "link", "del", self.bridge(side))
