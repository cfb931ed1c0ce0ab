"""A client with a certificate of the clients' CA, and one with a token: who is let in, as whom, and who is not."""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.access import Access
from faults.inventory import Inventory
from faults.lab import Lab, until
from security.certificates import Authority, of_the_lab, stranger
from security.wire import kafka_says, openssl, produced

from .tokens import Issuer, issuer_in

APPLICATION = "CN=app,OU=clients,O=lab"
TOO_LATE = -120  # brokers' clocks may be 30 s behind (sasl.oauthbearer.clock.skew.seconds)


class World:
    """The doors of one broker, and what opens them."""

    def __init__(self, inventory: Inventory, folder: Path) -> None:
        """Make certificates in `folder`."""
        assert inventory.lab_directory is not None
        self.inventory, self.topic = inventory, f"listeners-{uuid.uuid4().hex[:8]}"
        self.infra, self.clients = of_the_lab(inventory, folder), of_the_lab(inventory, folder, "clients")
        self.other = stranger("CN=Client CA,O=lab", folder)
        self.issuer = issuer_in(inventory.lab_directory / "oauth")
        self.ca = inventory.admin_tls["ca"]

    def servers(self, listener: str) -> str:
        """Return bootstrap.servers of the first broker's listener."""
        return f"{self.inventory.client_address(self.inventory.hosts('kafka')[0])}:{self.inventory.port(listener)}"

    def by_certificate(self, authority: Authority, subject: str = APPLICATION) -> dict[str, Any]:
        """Return the properties of a client with a new certificate of one CA."""
        file = authority.issue(subject)
        own = {"ssl.certificate.location": file, "ssl.key.location": file}
        return {
            "bootstrap.servers": self.servers("MTLS"),
            "security.protocol": "SSL",
            "ssl.ca.location": self.ca,
            **own,
        }

    def by_token(self, issuer: Issuer, life: int = 600) -> dict[str, Any]:
        """Return the properties of a client with a token for User:robot; to the client it is always fresh."""
        token = issuer.token("robot", life)
        common = {
            "bootstrap.servers": self.servers("OAUTH"),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self.ca,
        }
        return {**common, "sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: (token, time.time() + 600)}


@pytest.fixture(scope="module")
def world(inventory: Inventory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A topic to which the two may write, gone afterwards."""
    found = World(inventory, tmp_path_factory.mktemp("certificates"))
    rights = [
        {"principal": principal, "operations": ["WRITE"], "resource": "topic", "name": found.topic}
        for principal in ("User:app", "User:robot")
    ]
    lab, access = Lab(inventory), Access(inventory.admin_properties, {})
    try:
        lab.create_topic(found.topic)
        access.converge([], rights)
        yield found
    finally:
        access.converge([], [{**right, "state": "absent"} for right in rights])
        lab.delete_topic(found.topic)


IN: dict[str, Callable[[World], dict[str, Any]]] = {
    "a certificate of the clients' CA": lambda w: w.by_certificate(w.clients),
    "a token": lambda w: w.by_token(w.issuer),
}
OUT: dict[str, tuple[Callable[[World], dict[str, Any]], str]] = {
    "a certificate of the brokers' CA": (
        lambda w: w.by_certificate(w.infra),
        "alert certificate required",
    ),
    "one of another CA of the same name": (
        lambda w: w.by_certificate(w.other),
        "alert certificate unknown",
    ),
    "one of the clients' CA, of another organization": (
        lambda w: w.by_certificate(w.clients, "CN=app,OU=clients,O=other"),
        "SSL connection closed by peer",
    ),
    "a broker's subject from the clients' CA": (
        lambda w: w.by_certificate(w.clients, "CN=x,OU=brokers,O=lab"),
        "SSL connection closed by peer",
    ),
    "a token of another issuer": (lambda w: w.by_token(Issuer()), "invalid_token"),
    "a token that has ended": (lambda w: w.by_token(w.issuer, TOO_LATE), "invalid_token"),
}


@pytest.mark.parametrize("who", IN)
def test_let_in_with(world: World, who: str) -> None:
    """The principal has the rights of its name, and no others."""
    properties = IN[who](world)
    # An ACL reaches the brokers that did not write it a moment later.
    until("the right to write", lambda: produced(properties, world.topic) == "", 15)
    assert produced(properties, f"{world.topic}-closed") == "TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("who", OUT)
def test_refused_with(world: World, who: str) -> None:
    make, fragment = OUT[who]
    said = kafka_says(make(world), [fragment])
    assert fragment in said, said[-2000:]


def test_the_listener_serves_what_is_in_its_store(world: World) -> None:
    """A PKCS #12 store of its own: the certificate is for a server alone, and names no address of the other network."""
    host = world.inventory.hosts("kafka")[0]
    address, port = world.inventory.client_address(host), world.inventory.port("MTLS")
    file = world.clients.issue(APPLICATION)
    said = openssl(address, port, "-CAfile", world.ca, "-verify_ip", address, "-cert", file, "-key", file)
    assert "Verification: OK" in said, said[-2000:]
    replication = world.inventory.replication_address(host)
    assert "IP address mismatch" in openssl(
        address, port, "-CAfile", world.ca, "-verify_ip", replication, "-cert", file, "-key", file
    )
