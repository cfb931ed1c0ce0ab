"""Reads the state of each server of a ZooKeeper ensemble, and sets the ACL of the root znode."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import tls_context
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import SERVES

Tls = Mapping[str, str]
CONNECT = 15.0
"""Seconds within which a session has to be established."""


class EnsembleError(Exception):
    """The ensemble rejected a request or did not answer; the text contains what to check."""


def four_letter_word(address: str, port: int, word: str, tls: Tls | None = None, timeout: float = 2.0) -> str:
    """Send a four-letter word (`srvr`, `mntr`, `ruok`) to a server; return its answer, '' if it does not answer.

    With `tls` ({'ca', 'certificate'}: paths of PEM files) the connection uses TLS. Raises OwnFileError if such a file
    cannot be read on this host: then the server was not asked, and may be up.
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
    """Return the mode in a server's answer to `srvr`: leader, follower, observer, standalone or read-only.

    An answer without a mode gives 'not serving', no answer gives 'down'.
    """
    mode = re.search(r"^Mode: ([\w-]+)", answer, re.MULTILINE)
    return mode.group(1) if mode else ("not serving" if answer else "down")


def state(servers: Mapping[str, str], port: int, tls: Tls | None = None) -> dict[str, str]:
    """Return {server: mode}; `servers` is {server: address}.

    The mode is leader, follower, observer, standalone, read-only, 'not serving' or, without an answer, 'down'.
    """
    return {name: zookeeper_mode(four_letter_word(address, port, "srvr", tls)) for name, address in servers.items()}


def synced_followers(address: str, port: int, tls: Tls | None = None) -> int:
    """Return how many followers the leader at `address` reports as in sync (zk_synced_followers in mntr), or 0."""
    found = re.search(r"^zk_synced_followers\t(\d+)", four_letter_word(address, port, "mntr", tls), re.MULTILINE)
    return int(found.group(1)) if found else 0


def learners(address: str, port: int, tls: Tls | None = None) -> int:
    """Return how many followers and observers the leader at `address` reports (zk_learners in mntr), or 0."""
    found = re.search(r"^zk_learners\t(\d+)", four_letter_word(address, port, "mntr", tls), re.MULTILINE)
    return int(found.group(1)) if found else 0


def undeclared_servers(
    servers: Mapping[str, str], port: int, tls: Tls | None, modes: Mapping[str, str], members: int, timeout: float
) -> int:
    """Return how many servers are connected to the leader beyond the declared ones, whose number is `members`.

    `modes` is {server: its mode}. A leader still counts a server for some seconds after it disappeared, and twice when
    it is back. So a surplus counts only if it lasts for `timeout` seconds.
    """
    leaders = [name for name, mode in modes.items() if mode == "leader"]
    deadline = waits.now() + timeout
    while len(leaders) == 1:
        more = learners(servers[leaders[0]], port, tls) - (members - 1)
        if more <= 0 or waits.now() >= deadline:
            return max(more, 0)
        waits.rest(0.5)
    return 0


def reported(servers: Mapping[str, str], port: int, tls: Tls | None, key: str) -> dict[str, int | None]:
    """Return {server: a number in its answer to `mntr`}, None if the answer does not contain `key`."""
    answers = {name: four_letter_word(address, port, "mntr", tls) for name, address in servers.items()}
    found = {name: re.search(rf"^{key}\t(\d+)", answer, re.MULTILINE) for name, answer in answers.items()}
    return {name: int(match.group(1)) if match else None for name, match in found.items()}


def data_differences(servers: Mapping[str, str], port: int, tls: Tls | None) -> list[str]:
    """Return a text on servers with different numbers of znodes; [] if all have the same number.

    The sizes are not compared: zk_approximate_data_size differs between servers with the same data.
    """
    counts = reported(servers, port, tls, "zk_znode_count")
    if len(set(counts.values())) == 1 and None not in counts.values():
        return []
    shown = (f"{name} {'reports no znodes' if count is None else f'{count} znodes'}" for name, count in counts.items())
    return [f"data differ: {'; '.join(shown)}"]


def digest_mismatches(servers: Mapping[str, str], port: int, tls: Tls | None = None) -> dict[str, int]:
    """Return {server: how often a digest of its data differed from the leader's since it was started}, without zeros.

    The leader sends a digest of its data with each transaction.
    """
    counts = reported(servers, port, tls, "zk_digest_mismatches_count")
    return {name: count for name, count in counts.items() if count}


def problems(
    servers: Mapping[str, str],
    port: int,
    tls: Tls | None = None,
    expected: Collection[str] | None = None,
    compare: bool = False,
) -> tuple[dict[str, str], list[str]]:
    """Return ({server: mode}, texts on what keeps the ensemble from being healthy).

    A healthy ensemble has one leader; all other servers are observers, or followers in sync. Only the servers in
    `expected` (None: all) have to serve. With `compare`, the servers that serve also need the same number of znodes.
    """
    modes = state(servers, port, tls)
    lines = [
        f"{name} ({servers[name]}:{port}): {mode}"
        for name, mode in modes.items()
        if mode not in SERVES and (expected is None or name in expected)
    ]
    leaders = [name for name, mode in modes.items() if mode in ("leader", "standalone")]
    if len(leaders) != 1:
        lines.append(f"{len(leaders)} leaders")
    elif modes[leaders[0]] == "leader":
        followers = sum(mode == "follower" for mode in modes.values())
        synced = synced_followers(servers[leaders[0]], port, tls)
        if synced < followers:
            lines.append(f"{synced} of {followers} followers in sync")
    if compare and not lines:
        lines = data_differences({name: servers[name] for name, mode in modes.items() if mode in SERVES}, port, tls)
    return modes, lines


def wait(
    servers: Mapping[str, str],
    port: int,
    timeout: float,
    tls: Tls | None = None,
    expected: Collection[str] | None = None,
    compare: bool = False,
) -> tuple[dict[str, str], list[str]]:
    """Wait until the ensemble is healthy, at most `timeout` seconds (0: check once).

    The other arguments and the result are those of `problems`. Raises OwnFileError if a file of `tls` cannot be read on
    this host.
    """
    deadline = waits.now() + timeout
    while True:
        modes, lines = problems(servers, port, tls, expected, compare)
        if not lines or waits.now() >= deadline:
            return modes, lines
        waits.rest(0.2)


def subject(certificate: str) -> str:
    """Return the subject of the certificate in a PEM file, as ZooKeeper writes the owner of a znode (RFC 2253).

    Raises ImportError if cryptography is not installed.
    """
    from cryptography import x509

    return x509.load_pem_x509_certificate(Path(certificate).read_bytes()).subject.rfc4514_string()


def owner_of(acls: Sequence[Any]) -> str:
    """Return the subject that alone may write to a znode with these ACLs, while all clients may read it.

    Return '' if the ACLs allow anything else.
    """
    owners = [acl.id.id for acl in acls if (acl.perms, acl.id.scheme) == (31, "x509")]
    return (
        str(owners[0])
        if len(owners) == 1 and {(acl.perms, acl.id.scheme) for acl in acls} == {(31, "x509"), (1, "world")}
        else ""
    )


@contextlib.contextmanager
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


def keep_root_acl(addresses: Sequence[str], port: int, tls: Tls, check_mode: bool = False) -> list[str]:
    """Allow only the subject of the certificate in `tls` to write to the root znode, and all clients to read it.

    Return a list with the change, [] if the ACL is the required one. With the default ACL, any client with a trusted
    certificate could create znodes beside Kafka's. Raises EnsembleError if the ensemble rejects the change or does not
    answer, ImportError if kazoo or cryptography is not installed.
    """
    from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE

    try:
        with session(addresses, port, tls) as client:
            acls: list[ACL] = client.get_acls("/")[0]
            if owner_of(acls) == subject(tls["certificate"]):
                return []
            if not check_mode:
                client.set_acls("/", CREATOR_ALL_ACL + READ_ACL_UNSAFE)
            return ["ACL of the root znode: its owner may write, all clients may read"]
    except EnsembleError as error:
        raise EnsembleError(
            f"ACL of the root znode: {error}; check that {tls['certificate']} is the certificate of its owner"
        ) from error
