"""A ZooKeeper server that is asked by TLS, and the ACL of the root znode.

The servers of TLS are real ones on loopback; the client stands in.
"""

import runpy
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import kazoo.client
import pytest
from kazoo.exceptions import NoAuthError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, make_acl
from unit.certificate_maker import Ca, key_pem, new_key, pem

from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import OwnFileError
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import (
    EnsembleError,
    four_letter_word,
    keep_root_acl,
    problems,
    state,
    wait,
)

ROLES = Path(__file__).parents[2] / "roles"
SRVR = "Zookeeper version: 3.8.6\nMode: {}\nNode count: 5\n"
END = datetime.now(UTC) + timedelta(days=2)
Serve = Callable[..., tuple[int, list[Any]]]


class Word(socketserver.BaseRequestHandler):
    """Answers srvr by TLS, once the client has shown a certificate of the CA."""

    def handle(self) -> None:
        server: Any = self.server
        try:
            with server.context.wrap_socket(self.request, server_side=True) as connection:
                word = connection.recv(4).decode()
                server.seen.append((word, dict(part[0] for part in connection.getpeercert()["subject"])["commonName"]))
                connection.sendall(SRVR.format(server.mode).encode() if word == "srvr" else b"zk_synced_followers\t1\n")
        except OSError:
            server.seen.append("refused")


def files(folder: Path, ca: Ca, name: str, names: tuple[str, ...], trusted: Ca | None = None) -> dict[str, str]:
    """Write a key with its certificate, and the CA that its holder trusts; return what `tls` of a probe is."""
    key = new_key()
    (folder / f"{name}.pem").write_bytes(key_pem(key) + pem(ca.issue(key, names, common=name, end=END)))
    (folder / f"{name}-ca.pem").write_bytes(pem((trusted or ca).certificate))
    return {"certificate": str(folder / f"{name}.pem"), "ca": str(folder / f"{name}-ca.pem")}


@pytest.fixture
def ca() -> Ca:
    return Ca("Infra CA", end=END)


@pytest.fixture
def serve(tmp_path: Path, ca: Ca) -> Iterator[Serve]:
    """Start a server whose certificate holds some names; return its port, and who asked what so far."""
    with ExitStack() as stack:

        def start(
            names: tuple[str, ...] = ("127.0.0.1",), mode: str = "follower", address: str = "127.0.0.1", port: int = 0
        ) -> tuple[int, list[Any]]:
            tls = files(tmp_path, ca, f"server-{address}", names)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls["certificate"])
            context.load_verify_locations(tls["ca"])
            context.verify_mode = ssl.CERT_REQUIRED
            server: Any = stack.enter_context(
                socketserver.ThreadingTCPServer((address, port), Word, bind_and_activate=False)
            )
            server.allow_reuse_address, server.daemon_threads = True, True
            server.context, server.mode, server.seen = context, mode, []
            server.server_bind()
            server.server_activate()
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            stack.callback(server.shutdown)
            return int(server.server_address[1]), server.seen

        yield start


def test_asked_with_a_certificate(serve: Serve, ca: Ca, tmp_path: Path) -> None:
    """The server sees who asks; a name in the certificate of the client is not needed."""
    (port, seen), admin = serve(), files(tmp_path, ca, "admin", ())
    assert four_letter_word("127.0.0.1", port, "srvr", admin) == SRVR.format("follower")
    assert seen == [("srvr", "admin")]
    assert state({"zk1": "127.0.0.1"}, port, admin) == {"zk1": "follower"}


@pytest.mark.usefixtures("strict")
def test_a_ca_that_leaves_out_identifiers_of_keys(serve: Serve, ca: Ca, tmp_path: Path) -> None:
    """Its certificates are taken by who asks, as Java takes them."""
    (port, _), admin = serve(), files(tmp_path, ca, "admin", ())
    assert four_letter_word("127.0.0.1", port, "srvr", admin) == SRVR.format("follower")


@pytest.mark.usefixtures("strict")
def test_a_brokers_host_takes_such_a_ca(serve: Serve, ca: Ca, tmp_path: Path) -> None:
    """It shows its certificate, and begins a session, which this server does not know."""
    (port, seen), own = serve(), files(tmp_path, ca, "broker", ())
    connect = {"zookeeper.connect": f"127.0.0.1:{port}/kafka", "zookeeper.ssl.client.enable": "true"}
    tls = {"zookeeper.ssl.truststore.location": own["ca"], "zookeeper.ssl.keystore.location": own["certificate"]}
    session = runpy.run_path(str(ROLES / "kafka/files/zookeeper_session.py"))
    with pytest.raises(session["RefusedError"]):
        session["ZooKeeper"](connect | tls)
    assert [who for _, who in seen] == ["broker"]


def test_asked_in_the_clear(serve: Serve) -> None:
    assert four_letter_word("127.0.0.1", serve()[0], "srvr", None, 1.0) == ""


@pytest.mark.parametrize("names", [("127.0.0.2",), ("localhost",), ()])
def test_a_server_whose_certificate_lacks_its_address(
    serve: Serve, ca: Ca, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """It is no answer, as it is none to Java."""
    assert four_letter_word("127.0.0.1", serve(names)[0], "srvr", files(tmp_path, ca, "admin", ())) == ""


def test_certificates_of_another_ca(serve: Serve, ca: Ca, tmp_path: Path) -> None:
    """On either side."""
    other = Ca("Infra CA", end=END)
    port, _ = serve()
    assert four_letter_word("127.0.0.1", port, "srvr", files(tmp_path, other, "stranger", (), trusted=ca)) == ""
    assert four_letter_word("127.0.0.1", port, "srvr", files(tmp_path, ca, "deceived", (), trusted=other)) == ""


def test_files_that_are_not_there(serve: Serve, ca: Ca, tmp_path: Path) -> None:
    """A file that is missing here, or is no PEM, is named; a healthy server is not called down for it."""
    admin, port = files(tmp_path, ca, "admin", ()), serve()[0]
    (tmp_path / "k.p12").write_bytes(b"\x30\x82")
    for key, name, why in (
        ("certificate", "absent.pem", "No such file"),
        ("certificate", "k.p12", "PEM"),
        ("ca", "absent-ca.pem", "No such file"),
    ):
        path = str(tmp_path / name)
        with pytest.raises(OwnFileError, match=rf"{path}: cannot be read here \(.*{why}"):
            state({"zk1": "127.0.0.1"}, port, {**admin, key: path})


def test_whole_ensemble_by_tls(serve: Serve, ca: Ca, tmp_path: Path) -> None:
    port, _ = serve(mode="leader")
    serve(("127.0.0.2",), address="127.0.0.2", port=port)
    servers, admin = {"zk1": "127.0.0.1", "zk2": "127.0.0.2"}, files(tmp_path, ca, "admin", ())
    assert problems(servers, port, admin) == ({"zk1": "leader", "zk2": "follower"}, [])
    assert wait(servers, port, 0, admin) == ({"zk1": "leader", "zk2": "follower"}, [])
    assert wait(servers, port, 0)[0] == {"zk1": "down", "zk2": "down"}


class Client:
    """Stands in for kazoo's: holds the ACL of the root znode, or fails."""

    acl: tuple[ACL, ...] = tuple(OPEN_ACL_UNSAFE)
    error: Exception | None = None
    calls: tuple[Any, ...] = ()

    def __init__(self, hosts: str, **options: Any) -> None:
        Client.calls = ((hosts, options),)

    def start(self, timeout: float) -> None:
        if isinstance(Client.error, KazooTimeoutError):
            raise Client.error

    def get_acls(self, path: str) -> tuple[list[ACL], None]:
        if Client.error:
            raise Client.error
        assert path == "/"
        return list(Client.acl), None

    def set_acls(self, path: str, acls: list[ACL]) -> None:
        assert path == "/"
        Client.acl = tuple(acls)
        Client.calls += ("set",)

    def stop(self) -> None:
        Client.calls += ("stop",)

    def close(self) -> None:
        Client.calls += ("close",)


SAID = ["ACL of the root znode: its owner may write, all clients may read"]
CLOSED = (make_acl("x509", "CN=kafka,OU=brokers,O=lab", all=True), *READ_ACL_UNSAFE)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[Client]:
    monkeypatch.setattr(kazoo.client, "KazooClient", Client)
    Client.acl, Client.error, Client.calls = tuple(OPEN_ACL_UNSAFE), None, ()
    return Client


@pytest.fixture
def tls(tmp_path: Path, ca: Ca) -> dict[str, str]:
    """Of the owner: CN=kafka,OU=brokers,O=lab."""
    return files(tmp_path, ca, "kafka", ())


def test_open_root_is_closed(client: type[Client], tls: dict[str, str]) -> None:
    """The server is held to its certificate, and the connection is ended."""
    assert keep_root_acl(["198.18.1.11", "fd00::1"], 2281, tls) == SAID
    assert client.acl == (*CREATOR_ALL_ACL, *READ_ACL_UNSAFE)
    hosts, options = client.calls[0]
    assert hosts == "198.18.1.11:2281,[fd00::1]:2281"
    assert {
        name: options[name] for name in ("use_ssl", "verify_certs", "check_hostname", "certfile", "keyfile", "ca")
    } == {
        "use_ssl": True,
        "verify_certs": True,
        "check_hostname": True,
        "certfile": tls["certificate"],
        "keyfile": tls["certificate"],
        "ca": tls["ca"],
    }
    assert client.calls[1:] == ("set", "stop", "close")


def test_closed_root_is_left(client: type[Client], tls: dict[str, str]) -> None:
    client.acl = CLOSED
    assert keep_root_acl(["198.18.1.11"], 2281, tls) == []
    assert client.calls[1:] == ("stop", "close")


def test_root_that_others_may_write_to_as_well(client: type[Client], tls: dict[str, str]) -> None:
    client.acl = (*CLOSED, make_acl("world", "anyone", create=True))
    assert keep_root_acl(["198.18.1.11"], 2281, tls) == SAID


def test_root_of_another_certificate(client: type[Client], tls: dict[str, str]) -> None:
    client.acl = (make_acl("x509", "CN=other,OU=brokers,O=lab", all=True), *READ_ACL_UNSAFE)
    assert keep_root_acl(["198.18.1.11"], 2281, tls) == SAID
    assert client.acl == (*CREATOR_ALL_ACL, *READ_ACL_UNSAFE)


def test_check_mode_only_says_so(client: type[Client], tls: dict[str, str]) -> None:
    assert keep_root_acl(["198.18.1.11"], 2281, tls, check_mode=True) == SAID
    assert client.acl == tuple(OPEN_ACL_UNSAFE)


@pytest.mark.parametrize("error", [NoAuthError(), KazooTimeoutError("Connection time-out")])
def test_somebody_elses_root(client: type[Client], tls: dict[str, str], error: Exception) -> None:
    """In our words, with the file to look at; the connection is ended."""
    client.error = error
    words = str(error) or "NoAuthError"
    with pytest.raises(
        EnsembleError, match=f"ACL of the root znode: {words}; check that .*/kafka.pem is the certificate of its owner"
    ):
        keep_root_acl(["198.18.1.11"], 2281, tls)
    assert client.calls[1:] == ("stop", "close")
