"""The state of a ZooKeeper ensemble, asked server by server; no Ansible import."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import tls_context
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import SERVES

Tls = Mapping[str, str]


class EnsembleError(Exception):
    """The ensemble refused, or did not answer; the text says what to look at."""


def four_letter_word(address: str, port: int, word: str, tls: Tls | None = None, timeout: float = 2.0) -> str:
    """Return a server's answer to `srvr`, `mntr` or `ruok`; '' when it does not answer.

    `tls` as for `tls_context`. Raises OwnFileError: a file that is missing here is no silence there.
    """
    context, answer = tls_context(tls) if tls else None, b""
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection((address, port), timeout=timeout))
            if context:
                connection = stack.enter_context(context.wrap_socket(connection, server_hostname=address))
            connection.sendall(word.encode())
            while chunk := connection.recv(65536):
                answer += chunk
    except OSError:
        return ""
    return answer.decode(errors="replace")


def zookeeper_mode(answer: str) -> str:
    """Return what the text of `srvr` says: leader, follower, observer, standalone, read-only.

    'not serving' or 'down' where it does not.
    """
    found = re.search(r"^Mode: ([\w-]+)", answer, re.MULTILINE)
    return found.group(1) if found else ("not serving" if answer else "down")


def state(servers: Mapping[str, str], port: int, tls: Tls | None = None) -> dict[str, str]:
    """Return the mode of each server (`{name: address}`): leader, follower, observer, not serving or down."""
    return {name: zookeeper_mode(four_letter_word(address, port, "srvr", tls)) for name, address in servers.items()}


def synced_followers(address: str, port: int, tls: Tls | None = None) -> int:
    """Return how many followers the leader at `address` counts as in sync (mntr: zk_synced_followers)."""
    found = re.search(r"^zk_synced_followers\t(\d+)", four_letter_word(address, port, "mntr", tls), re.MULTILINE)
    return int(found.group(1)) if found else 0


def learners(address: str, port: int, tls: Tls | None = None) -> int:
    """Return how many servers follow or observe the leader at `address`, whoever they are (mntr: zk_learners)."""
    found = re.search(r"^zk_learners\t(\d+)", four_letter_word(address, port, "mntr", tls), re.MULTILINE)
    return int(found.group(1)) if found else 0


def strangers(
    servers: Mapping[str, str], port: int, tls: Tls | None, modes: Mapping[str, str], members: int, timeout: float
) -> int:
    """Return how many more servers the one leader has than an ensemble of `members` can give it.

    A leader counts a server that went without a word for some seconds more, and twice once it is back: what is too many
    has to be so for `timeout` seconds.
    """
    leaders = [name for name, mode in modes.items() if mode == "leader"]
    deadline = waits.now() + timeout
    while len(leaders) == 1:
        more = learners(servers[leaders[0]], port, tls) - (members - 1)
        if more <= 0 or waits.now() >= deadline:
            return max(more, 0)
        waits.rest(0.5)
    return 0


def problems(
    servers: Mapping[str, str], port: int, tls: Tls | None = None, expected: Collection[str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the modes and what keeps the ensemble from being whole.

    One leader, all others synced followers or observers; of those that are not `expected` (None: all are) it is no
    matter whether they serve.
    """
    modes = state(servers, port, tls)
    found = [
        f"{name} ({servers[name]}:{port}): {mode}"
        for name, mode in modes.items()
        if mode not in SERVES and (expected is None or name in expected)
    ]
    leaders = [name for name, mode in modes.items() if mode in ("leader", "standalone")]
    if len(leaders) != 1:
        found.append(f"{len(leaders)} leaders")
    elif modes[leaders[0]] == "leader":
        followers = sum(mode == "follower" for mode in modes.values())
        synced = synced_followers(servers[leaders[0]], port, tls)
        if synced < followers:
            found.append(f"{synced} of {followers} followers in sync")
    return modes, found


def wait(
    servers: Mapping[str, str],
    port: int,
    timeout: float,
    tls: Tls | None = None,
    expected: Collection[str] | None = None,
) -> tuple[dict[str, str], list[str]]:
    """Ask until nothing is wrong, `timeout` seconds at most (0: once); return the last answer.

    `tls` as for `tls_context`, `expected` as for `problems`. Raises OwnFileError.
    """
    deadline = waits.now() + timeout
    while True:
        modes, found = problems(servers, port, tls, expected)
        if not found or waits.now() >= deadline:
            return modes, found
        waits.rest(0.2)


def subject(certificate: str) -> str:
    """Return the subject of a PEM file, written as ZooKeeper names the owner of a znode (RFC 2253).

    Raises ImportError.
    """
    from cryptography import x509

    return x509.load_pem_x509_certificate(Path(certificate).read_bytes()).subject.rfc4514_string()


def owner_of(acls: Sequence[Any]) -> str:
    """Return the one certificate's subject that may write where everybody may read; '' where the ACL is another."""
    owners = [acl.id.id for acl in acls if (acl.perms, acl.id.scheme) == (31, "x509")]
    return (
        str(owners[0])
        if len(owners) == 1 and {(acl.perms, acl.id.scheme) for acl in acls} == {(31, "x509"), (1, "world")}
        else ""
    )


def keep_root_acl(addresses: Sequence[str], port: int, tls: Tls, check_mode: bool = False) -> list[str]:
    """Let only the subject of `tls` write to the root znode, and everybody read it.

    Return the changes, [] where it is so.

    Below `/` every znode has its own ACL; with the default one, anybody with a trusted certificate could add trees
    beside Kafka's.
    Raises EnsembleError, ImportError.
    """
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException
    from kazoo.handlers.threading import KazooTimeoutError
    from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE

    hosts = ",".join(f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address in addresses)
    files = {"certfile": tls["certificate"], "keyfile": tls["certificate"], "ca": tls["ca"]}
    client = KazooClient(hosts, timeout=10, use_ssl=True, verify_certs=True, check_hostname=True, **files)
    try:
        client.start(timeout=15)
        found: list[ACL] = client.get_acls("/")[0]
        if owner_of(found) == subject(tls["certificate"]):
            return []
        if not check_mode:
            client.set_acls("/", CREATOR_ALL_ACL + READ_ACL_UNSAFE)
        return ["ACL of the root znode: its owner may write, everybody may read"]
    except (KazooException, KazooTimeoutError) as error:
        words = str(error) or type(error).__name__
        raise EnsembleError(
            f"ACL of the root znode: {words}; is {tls['certificate']} what its owner was made with?"
        ) from error
    finally:
        client.stop()
        client.close()
