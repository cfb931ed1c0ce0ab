"""Removes the registrations of brokers of a lost datacenter from ZooKeeper, so that their sessions need not expire."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any


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
