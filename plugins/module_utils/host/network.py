"""Finds out which TCP ports can be reached from this host, with the standard library only."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def connect(address: str, port: int, timeout: float) -> str:
    """Try one TCP connection; return `open`, `refused`, `timeout`, or the name of another error, as `EHOSTUNREACH`.

    Both `open` and `refused` prove that the address can be reached. `timeout` is in seconds.
    """
    try:
        socket.create_connection((address, port), timeout=timeout).close()
    except ConnectionRefusedError:
        return "refused"
    except TimeoutError:
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return "open"


def attempts(peers: Iterable[Mapping[str, Any]], timeout: float = 2.0) -> dict[str, tuple[str, float]]:
    """Try a TCP connection to each peer {address, port} in parallel.

    Return {`address:port`: (result of `connect`, milliseconds that it took)}. An `open` or `refused` connection takes
    one round trip of the network, and the time of the name server if the address is a name.
    """

    def attempt(peer: tuple[str, int]) -> tuple[str, float]:
        begun = time.monotonic()
        result = connect(*peer, timeout)
        return result, 1000 * (time.monotonic() - begun)

    asked = [(str(peer["address"]), int(peer["port"])) for peer in peers]
    with ThreadPoolExecutor(64) as pool:
        answers = pool.map(attempt, asked)
        return {f"{address}:{port}": answer for (address, port), answer in zip(asked, answers, strict=True)}


def reach(peers: Iterable[Mapping[str, Any]], timeout: float = 2.0) -> dict[str, str]:
    """Try a TCP connection to each peer {address, port} in parallel; return {`address:port`: result of `connect`}."""
    return {peer: result for peer, (result, _) in attempts(peers, timeout).items()}
