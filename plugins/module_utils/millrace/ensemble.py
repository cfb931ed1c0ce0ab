"""The state of a ZooKeeper ensemble, asked server by server; no Ansible import."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping

from .probe import four_letter_word, zookeeper_mode


def state(servers: Mapping[str, str], port: int) -> dict[str, str]:
    """Return the mode of each server (`{name: address}`): leader, follower, observer, not serving or down."""
    return {name: zookeeper_mode(four_letter_word(address, port, "srvr")) for name, address in servers.items()}


def synced_followers(address: str, port: int) -> int:
    """Return how many followers the leader at `address` counts as in sync (mntr: zk_synced_followers)."""
    found = re.search(r"^zk_synced_followers\t(\d+)", four_letter_word(address, port, "mntr"), re.MULTILINE)
    return int(found.group(1)) if found else 0


def problems(servers: Mapping[str, str], port: int) -> tuple[dict[str, str], list[str]]:
    """Return the modes and what keeps the ensemble from being whole: one leader, all others synced followers or observers."""
    modes = state(servers, port)
    found = [f"{name} ({servers[name]}:{port}): {mode}" for name, mode in modes.items() if mode in ("down", "not serving")]
    leaders = [name for name, mode in modes.items() if mode in ("leader", "standalone")]
    if len(leaders) != 1:
        found.append(f"{len(leaders)} leaders")
    elif modes[leaders[0]] == "leader":
        followers = sum(mode == "follower" for mode in modes.values())
        synced = synced_followers(servers[leaders[0]], port)
        if synced < followers:
            found.append(f"{synced} of {followers} followers in sync")
    return modes, found


def wait(servers: Mapping[str, str], port: int, timeout: float) -> tuple[dict[str, str], list[str]]:
    """Ask until nothing is wrong, `timeout` seconds at most (0: once); return the last answer."""
    deadline, tick = time.monotonic() + timeout, threading.Event()
    while True:
        modes, found = problems(servers, port)
        if not found or time.monotonic() >= deadline:
            return modes, found
        tick.wait(0.2)
