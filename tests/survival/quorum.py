"""Does the ensemble serve? Answered by what it commits.

A leader goes on answering for two ticks after it has lost its quorum.
"""

import re
import time
import uuid
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

from faults.inventory import Inventory
from faults.zookeeper import session
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.security import OPEN_ACL_UNSAFE

# Where a quorum is computed it has this long to form, whatever else the machine does. Where none is computed, silence
# of all servers for longer than an election takes is the answer.
FORMS_SECONDS, SILENT_SECONDS = 30.0, 8.0
_ANSWER_SECONDS = 3.0
_PAUSE_SECONDS = 0.3  # between two questions to all servers, each with a TLS handshake


def serves(inventory: Inventory, left: Collection[str], hoped: bool) -> tuple[bool, float]:
    """Ask the servers left until it is certain whether they serve; return that, and the seconds after which it was so.

    True: all of them serve under one leader, and then they commit a change. False: none of them served for so long.
    """
    before, pause = time.monotonic(), Event()
    last, enough = before, FORMS_SECONDS if hoped else SILENT_SECONDS
    while True:
        modes = modes_of(inventory, left)
        now = time.monotonic()
        if any(modes):
            last = now
        if all(modes) and modes.count("leader") == 1 and commits(inventory, left):
            return True, now - before
        if now - last > enough:
            return False, last - before
        assert now - before < 2 * FORMS_SECONDS, f"the ensemble does not settle with {sorted(left)}: {modes}"
        pause.wait(_PAUSE_SECONDS)


def modes_of(inventory: Inventory, left: Collection[str]) -> list[str]:
    """Return what each server says that it is; '' for one that does not serve.

    Servers that were cut off are not asked: that takes long.
    """
    with ThreadPoolExecutor(len(left)) as pool:
        said = pool.map(lambda host: inventory.ask_zookeeper(host, "srvr"), left)
    return [found.group(1) if (found := re.search(r"^Mode: (\w+)$", text, re.MULTILINE)) else "" for text in said]


def commits(inventory: Inventory, left: Collection[str]) -> bool:
    """Tell whether the servers left commit a change that begins now: a session, and a znode that goes with it."""
    view = replace(inventory, groups={**inventory.groups, "zookeeper": sorted(left)})
    try:
        with session(view, timeout=_ANSWER_SECONDS) as client:
            client.create_async(f"/survival-{uuid.uuid4().hex}", ephemeral=True, acl=OPEN_ACL_UNSAFE).get(
                timeout=_ANSWER_SECONDS
            )
    except (KazooException, KazooTimeoutError):
        return False
    return True
