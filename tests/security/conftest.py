"""A user with few rights, three topics, and certificates that nobody should accept."""

import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from faults.access import Access
from faults.inventory import Inventory
from faults.lab import Lab

from .certificates import Authority, of_the_lab, stranger


@dataclass(frozen=True)
class World:
    """What the rows of the table are made from."""

    inventory: Inventory
    user: str
    password: str
    infra: Authority
    """The cluster's own CA."""
    clients: Authority
    """A CA of the name that the one for clients has."""
    other: Authority
    """Anybody's CA."""

    @property
    def broker(self) -> str:
        """The broker that is asked."""
        return self.inventory.hosts("kafka")[0]

    @property
    def client(self) -> tuple[str, int]:
        """Its listener CLIENT."""
        return self.inventory.client_address(self.broker), self.inventory.port("CLIENT")

    @property
    def replication(self) -> tuple[str, int]:
        """Its listener REPLICATION."""
        return self.inventory.replication_address(self.broker), self.inventory.port("REPLICATION")

    @property
    def zookeeper(self) -> tuple[str, int]:
        """A server of the ensemble."""
        return self.inventory.client_address(self.inventory.hosts("zookeeper")[0]), self.inventory.zookeeper_port

    @property
    def ca(self) -> str:
        """The file of the CA that clients trust."""
        return self.inventory.kafka_properties["ssl.ca.location"]

    @property
    def closed(self) -> str:
        """A topic to which the user has no right."""
        return f"{self.user}-closed"

    @property
    def readable(self) -> str:
        """One that the user may read."""
        return f"{self.user}-readable"

    @property
    def writable(self) -> str:
        """One that the user may write to."""
        return f"{self.user}-writable"

    def login(self, **changes: str) -> dict[str, str]:
        """Return the user's properties for CLIENT, with `sasl_password` for `sasl.password` and so on."""
        own = {"sasl.username": self.user, "sasl.password": self.password}
        return {**self.inventory.kafka_properties, **own} | {
            name.replace("_", "."): value for name, value in changes.items()
        }

    def at_client(self, **changes: str) -> dict[str, str]:
        """Return the user's properties for the one broker."""
        return self.login(bootstrap_servers=f"{self.client[0]}:{self.client[1]}", **changes)

    def at_replication(self, certificate: str = "", **changes: str) -> dict[str, str]:
        """Return what it takes to connect to REPLICATION of the one broker, by a certificate or by none."""
        files = {"ssl.certificate.location": certificate, "ssl.key.location": certificate} if certificate else {}
        found = {
            "bootstrap.servers": f"{self.replication[0]}:{self.replication[1]}",
            "security.protocol": "SSL",
            "ssl.ca.location": self.ca,
        }
        return found | files | {name.replace("_", "."): value for name, value in changes.items()}


@pytest.fixture(scope="session")
def world(inventory: Inventory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A secure lab with a user and topics of its own, which are gone afterwards."""
    if inventory.lab_directory is None or not inventory.lab_directory.exists() or not inventory.secure:
        pytest.fail(
            f"{inventory.directory}: no running secure lab; its CA signs certificates for these tests (make lab)",
            pytrace=False,
        )
    folder = tmp_path_factory.mktemp("certificates")
    found = World(
        inventory,
        f"negative-{uuid.uuid4().hex[:8]}",
        secrets.token_urlsafe(),
        of_the_lab(inventory, folder),
        stranger("CN=Client CA,O=lab", folder),
        stranger("CN=Infra CA,O=lab", folder),
    )
    login = {
        name: value
        for name, value in inventory.kafka_properties.items()
        if name not in ("sasl.username", "sasl.password")
    }
    access = Access(inventory.admin_properties, login)
    lab = Lab(inventory)
    topics = [found.closed, found.readable, found.writable]
    rights = [
        {"principal": f"User:{found.user}", "operations": ["READ"], "resource": "topic", "name": found.readable},
        {"principal": f"User:{found.user}", "operations": ["WRITE"], "resource": "topic", "name": found.writable},
    ]
    try:
        for topic in topics:
            lab.create_topic(topic, partitions=1)
        access.converge([{"name": found.user, "password": found.password}], rights)
        yield found
    finally:
        access.converge([{"name": found.user, "state": "absent"}], [{**right, "state": "absent"} for right in rights])
        for topic in topics:
            lab.delete_topic(topic)
