"""Finds out which ports can be reached from this host, with the standard library only."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def connect(address: str, port: int, timeout: float) -> str:
    """Try one TCP connection: open, refused, timeout, or the error's name.

    `open` and `refused` both prove that the address can be reached.
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


def reach(peers: Iterable[Mapping[str, Any]], timeout: float = 2.0) -> dict[str, str]:
    """Try all peers in parallel; return the result of `connect` by address:port."""
    asked = [(str(peer["address"]), int(peer["port"])) for peer in peers]
    with ThreadPoolExecutor(64) as pool:
        answers = pool.map(lambda peer: connect(peer[0], peer[1], timeout), asked)
        return {f"{address}:{port}": answer for (address, port), answer in zip(asked, answers, strict=True)}
