"""No broker answers: the rung that fails is named, within 10 s."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from unit.certificate_maker import Ca, key_pem, new_key, pem
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import admin, kafka_python, ladder
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError

LIMIT = admin.FIRST + 3 * ladder.RUNG
"""Seconds until a name, a port and a handshake without an answer are reported."""


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the limits, where no answer comes however long a test waits."""
    monkeypatch.setattr(admin, "FIRST", 0.5)
    monkeypatch.setattr(ladder, "RUNG", 1.0)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server take its time for a handshake."""
    monkeypatch.setattr(ladder, "RUNG", 60.0)


@pytest.fixture
def closed() -> Iterator[int]:
    """A port at which nobody listens, and that no other process gets."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield int(kept.getsockname()[1])


@contextmanager
def silent() -> Iterator[str]:
    """Accept connections and say nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def with_tls(folder: Path, clients: ssl.VerifyMode = ssl.CERT_NONE, authority: Ca | None = None) -> Iterator[str]:
    """Answer handshakes with a certificate of a CA whose file is folder/ca.pem, for 127.0.0.1; then a question."""
    authority, key = authority or Ca("Infra CA"), new_key()
    (folder / "ca.pem").write_bytes(pem(authority.certificate))
    (folder / "other.pem").write_bytes(pem(Ca("Infra CA").certificate))
    (folder / "server.pem").write_bytes(pem(authority.issue(key, names=["127.0.0.1"])) + key_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = clients
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    plain, _ = listening.accept()
                    with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                        if connection.recv(4):
                            connection.sendall(b"\0\0\0\4")
                            connection.recv(100)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_the_limits_add_up_to_ten_seconds() -> None:
    assert LIMIT <= 10


def said(**properties: Any) -> str:
    """Return the message about a cluster that does not answer."""
    with pytest.raises(AdminError) as caught:
        Admin({name.replace("_", "."): value for name, value in properties.items()}).metadata()
    return str(caught.value)


def test_a_name_without_an_address() -> None:
    assert said(bootstrap_servers="nowhere.invalid:9093").startswith("DNS: nowhere.invalid: ")


def test_a_port_at_which_nobody_listens(closed: int) -> None:
    assert said(bootstrap_servers=f"127.0.0.1:{closed}") == f"TCP: 127.0.0.1:{closed}: refused"


def test_each_server_has_its_own_rung(closed: int) -> None:
    text = said(bootstrap_servers=f"127.0.0.1:{closed},nowhere.invalid:1")
    assert text.startswith(f"TCP: 127.0.0.1:{closed}: refused; DNS: nowhere.invalid: ")


@pytest.mark.usefixtures("unhurried")
def test_a_ca_that_is_not_trusted(tmp_path: Path) -> None:
    with with_tls(tmp_path) as servers:
        text = said(bootstrap_servers=servers, security_protocol="SSL", ssl_ca_location=str(tmp_path / "other.pem"))
    assert text.startswith(f"TLS: {servers}: the server's certificate is rejected: ")


@pytest.mark.usefixtures("strict", "unhurried")
def test_whom_librdkafka_trusts(tmp_path: Path) -> None:
    """A CA that leaves out identifiers of keys, and no intermediate one without its root."""
    with with_tls(tmp_path) as servers:
        port, tls = int(servers.rpartition(":")[2]), {"security.protocol": "SSL"}
        assert ladder.of_one("127.0.0.1", port, {**tls, "ssl.ca.location": str(tmp_path / "ca.pem")}) == ("", "")
    root = Ca("Root CA")
    with with_tls(tmp_path, authority=Ca("Infra CA", root)) as servers:
        port = int(servers.rpartition(":")[2])
        rung, text = ladder.of_one("127.0.0.1", port, {**tls, "ssl.ca.location": str(tmp_path / "ca.pem")})
        assert rung == "TLS" and "unable to get issuer certificate" in text
        (tmp_path / "ca.pem").write_bytes((tmp_path / "ca.pem").read_bytes() + pem(root.certificate))
        assert ladder.of_one("127.0.0.1", port, {**tls, "ssl.ca.location": str(tmp_path / "ca.pem")}) == ("", "")


@pytest.mark.usefixtures("unhurried")
def test_a_server_that_takes_no_client_without_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With TLS 1.3 it says so after the handshake."""
    monkeypatch.setattr(ladder, "REFUSES", 60.0)
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca.pem")}
    with with_tls(tmp_path, ssl.CERT_REQUIRED) as servers:
        rung, text = ladder.of_one("127.0.0.1", int(servers.rpartition(":")[2]), tls)
    assert rung == "TLS" and "certificate required" in text.lower()


@pytest.mark.usefixtures("unhurried")
def test_who_answers_after_a_handshake_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each client of a roll's gate asks first; so many rests of 0.3 s were seconds. Here such a rest takes 90 s."""
    monkeypatch.setattr(ladder, "REFUSES", 90.0)
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca.pem")}
    with with_tls(tmp_path) as servers:
        before = time.monotonic()
        assert ladder.of_one("127.0.0.1", int(servers.rpartition(":")[2]), tls) == ("", "")
        assert time.monotonic() - before < 60


def test_a_peer_that_says_nothing_to_a_handshake(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(pem(Ca("Infra CA").certificate))
    with silent() as servers:
        text = said(bootstrap_servers=servers, security_protocol="SSL", ssl_ca_location=str(tmp_path / "ca.pem"))
    assert text == f"TLS: {servers}: no answer to the handshake within 1 s"


def test_a_peer_that_is_no_broker() -> None:
    with silent() as servers:
        assert said(bootstrap_servers=servers).startswith(f"Kafka: {servers} can be reached but did not answer")


def test_quotas_of_a_peer_that_says_nothing(tmp_path: Path) -> None:
    """The library of quotas would wait for it without end."""
    (tmp_path / "ca.pem").write_bytes(pem(Ca("Infra CA").certificate))
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca.pem")}
    with silent() as servers, pytest.raises(AdminError, match="no answer to the handshake within 1 s"):
        kafka_python.KafkaPython({"bootstrap.servers": servers, **tls})


def test_a_broker_that_says_it_is_elsewhere(closed: int, patient: None) -> None:
    """The first answers; what it says of the second leads nowhere."""
    cluster = FakeCluster(brokers=2)
    with brokers(cluster):
        servers = f"127.0.0.1:{cluster.ports[1]}"
        cluster.ports[2] = closed
        text = str(Admin({"bootstrap.servers": servers}).explain(AdminError("no answer in time")))
    assert text == (
        f"advertised listener: broker 2 is advertised as 127.0.0.1:{cluster.ports[2]}, which is not reachable "
        "(refused) (no answer in time)"
    )


def test_a_controller_that_is_gone(closed: int, patient: None) -> None:
    cluster = FakeCluster(brokers=2)
    with brokers(cluster):
        servers = f"127.0.0.1:{cluster.ports[2]}"
        cluster.ports[1] = closed
        text = str(Admin({"bootstrap.servers": servers}).explain(AdminError("no answer in time")))
    assert text.startswith(
        f"no controller: the last one, broker 1, is not reachable at 127.0.0.1:{cluster.ports[1]} (refused)"
    )
