"""Removes the registrations of brokers of a lost datacenter from ZooKeeper, so that their sessions need not expire."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import EnsembleError, Tls

CONNECT = 15.0
"""Seconds within which a session has to be established."""


@contextmanager
def session(addresses: Sequence[str], port: int, tls: Tls | None) -> Iterator[Any]:
    """Context manager: yield a connected kazoo client of the ensemble at these addresses.

    `tls` is {'certificate', 'ca'}, paths of PEM files; None or {} for a plaintext port. Raises EnsembleError if the
    ensemble rejects a request or does not answer, ImportError if kazoo is not installed.
    """
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException
    from kazoo.handlers.threading import KazooTimeoutError

    hosts = ",".join(f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address in addresses)
    secure: dict[str, Any] = {}
    if tls:
        files = {"certfile": tls["certificate"], "keyfile": tls["certificate"], "ca": tls["ca"]}
        secure = {"use_ssl": True, "verify_certs": True, "check_hostname": True, **files}
    client = KazooClient(hosts, timeout=10, **secure)
    try:
        client.start(timeout=CONNECT)
        yield client
    except (KazooException, KazooTimeoutError) as error:
        raise EnsembleError(str(error) or type(error).__name__) from error
    finally:
        client.stop()
        client.close()


def controller(client: Any, chroot: str) -> int:
    """Return the id of the broker that is registered as the controller, -1 if none is."""
    from kazoo.exceptions import NoNodeError

    try:
        return int(json.loads(client.get(f"{chroot}/controller")[0])["brokerid"])
    except (NoNodeError, ValueError, KeyError):
        return -1


def registered(client: Any, chroot: str) -> list[int]:
    """Return the sorted ids of the registered brokers; [] if Kafka has never used this chroot."""
    from kazoo.exceptions import NoNodeError

    try:
        return sorted(int(name) for name in client.get_children(f"{chroot}/brokers/ids") if name.isdecimal())
    except NoNodeError:
        return []


def remove(client: Any, chroot: str, lost: Collection[int], check_mode: bool = False) -> Mapping[str, Any]:
    """Delete the registrations of the brokers in `lost`, then that of the controller if it is one of them.

    Return {'removed': [ids], 'controller': id of the lost controller, -1 if the controller is not lost}. Both znodes
    are ephemeral: the brokers would create them again if they had a session, so call it only after the fence.
    """
    from kazoo.exceptions import NoNodeError

    removed = [number for number in registered(client, chroot) if number in lost]
    leads = controller(client, chroot)
    leads = leads if leads in lost else -1
    if not check_mode:
        for number in removed:
            with suppress(NoNodeError):
                client.delete(f"{chroot}/brokers/ids/{number}")
        if leads >= 0:
            with suppress(NoNodeError):
                client.delete(f"{chroot}/controller")
    return {"removed": removed, "controller": leads}
