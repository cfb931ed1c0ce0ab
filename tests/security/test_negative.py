"""The negative table: everybody who has to be refused, and the words that they see.

The last tests of each part show who is let in.
"""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from faults.inventory import Inventory
from faults.lab import Lab, until
from faults.zookeeper import session
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE

from .conftest import World
from .rights import RIGHTS, read, write
from .wire import QUIET, alias, kafka_says, openssl

CONNECTS = "connected"
# One fragment of each error, its name where it has one: the other words change with the versions of the libraries.
CLOSED, MECHANISM = ["_ALL_BROKERS_DOWN"], ["Unsupported SASL mechanism"]
UNVERIFIED, INVALID = ["certificate verify failed"], ["invalid credentials with SASL mechanism"]
REQUIRED, UNKNOWN = ["alert certificate required"], ["alert certificate unknown"]
ADMIN, APPLICATION, OWNER = "CN=admin,OU=admins,O=lab", "CN=app1,OU=clients,O=lab", "CN=kafka,OU=zkclients,O=lab"
# Who connects, and what librdkafka reports.
KAFKA: dict[str, tuple[Callable[[World], dict[str, str]], Sequence[str]]] = {
    "CLIENT without TLS": (lambda w: w.at_client(security_protocol="PLAINTEXT"), CLOSED),
    "CLIENT with a login in the clear": (lambda w: w.at_client(security_protocol="SASL_PLAINTEXT"), CLOSED),
    "CLIENT by who trusts another CA": (lambda w: w.at_client(ssl_ca_location=w.other.itself()), UNVERIFIED),
    "CLIENT without a login": (lambda w: w.at_client(security_protocol="SSL"), CLOSED),
    "CLIENT with a certificate of the cluster instead": (
        lambda w: w.at_replication(
            w.inventory.admin_tls["certificate"], bootstrap_servers=w.at_client()["bootstrap.servers"]
        ),
        CLOSED,
    ),
    "CLIENT with a wrong password": (lambda w: w.at_client(sasl_password="wrong"), INVALID),
    "CLIENT with no password": (lambda w: w.at_client(sasl_password=" "), INVALID),
    "CLIENT by an unknown user": (lambda w: w.at_client(sasl_username="nobody"), INVALID),
    "CLIENT by the brokers' principal, which is no user": (
        lambda w: w.at_client(sasl_username="kafka-broker"),
        INVALID,
    ),
    "CLIENT with PLAIN": (lambda w: w.at_client(sasl_mechanism="PLAIN"), MECHANISM),
    "CLIENT with the mechanism for which the user has no password": (
        lambda w: w.at_client(sasl_mechanism="SCRAM-SHA-256"),
        INVALID,
    ),
    "REPLICATION without TLS": (lambda w: w.at_replication(security_protocol="PLAINTEXT"), CLOSED),
    "REPLICATION without a certificate": (
        lambda w: w.at_replication(),
        REQUIRED,
    ),
    "REPLICATION with a login": (
        lambda w: w.login(bootstrap_servers=w.at_replication()["bootstrap.servers"]),
        REQUIRED,
    ),
    "REPLICATION by who trusts another CA": (
        lambda w: w.at_replication(w.inventory.admin_tls["certificate"], ssl_ca_location=w.other.itself()),
        UNVERIFIED,
    ),
    "REPLICATION as admin, of another CA of the same name": (
        lambda w: w.at_replication(w.other.issue(ADMIN)),
        UNKNOWN,
    ),
    "REPLICATION with one of the client CA": (
        lambda w: w.at_replication(w.clients.issue(APPLICATION)),
        REQUIRED,
    ),
    "REPLICATION with an expired one": (
        lambda w: w.at_replication(w.infra.expired(ADMIN)),
        UNKNOWN,
    ),
    "REPLICATION by neither broker nor admin": (lambda w: w.at_replication(w.infra.issue(APPLICATION)), CLOSED),
    "REPLICATION as admin of another organization": (
        lambda w: w.at_replication(w.infra.issue("CN=admin,OU=admins,O=other")),
        CLOSED,
    ),
    "REPLICATION as a broker of another organization": (
        lambda w: w.at_replication(w.infra.issue("CN=dc1-kafka1,OU=brokers,O=lab,C=DE")),
        CLOSED,
    ),
}


@pytest.mark.parametrize("row", KAFKA)
def test_a_broker_refuses(world: World, row: str) -> None:
    properties, fragments = KAFKA[row]
    said = kafka_says(properties(world), fragments)
    assert said != CONNECTS and [fragment for fragment in fragments if fragment not in said] == [], said[-2000:]


def test_a_broker_is_refused_under_an_address_that_its_certificate_lacks(world: World) -> None:
    """By librdkafka in the words for any certificate, by openssl in those for this one."""
    for place, properties in (
        (world.client, world.login()),
        (world.replication, world.at_replication(world.inventory.admin_tls["certificate"])),
    ):
        with alias(*place) as port:
            there = {"bootstrap.servers": f"127.0.0.1:{port}"}
            said = kafka_says({**properties, **there}, UNVERIFIED)
            assert [fragment for fragment in UNVERIFIED if fragment not in said] == [], said[-2000:]
            assert kafka_says({**properties, **there, "ssl.endpoint.identification.algorithm": "none"}, []) == CONNECTS
        assert "Verification error: IP address mismatch" in openssl(
            *place, "-CAfile", world.ca, "-verify_ip", "127.0.0.1"
        )


def test_a_broker_says_which_certificate_is_nobodys(world: World) -> None:
    """In its journal; the client does not learn the reason."""
    lab = Lab(world.inventory)
    mark = lab.mark(world.broker, "kafka")
    kafka_says(world.at_replication(world.infra.issue("CN=app2,OU=clients,O=lab")), CLOSED)
    refused = "NoMatchingRule: No rules apply to CN=app2,OU=clients,O=lab"
    until("the journal names the subject", lambda: refused in lab.said(world.broker, "kafka", mark), 60)


def test_a_broker_lets_in(world: World) -> None:
    """The user with the password on CLIENT; the admin on REPLICATION, by its certificate and by a new one like it."""
    assert kafka_says(world.at_client(), []) == CONNECTS
    assert kafka_says(world.at_replication(world.inventory.admin_tls["certificate"]), []) == CONNECTS
    assert kafka_says(world.at_replication(world.infra.issue(ADMIN)), []) == CONNECTS


@pytest.mark.parametrize("row", RIGHTS)
def test_a_user_may_not(world: World, row: str) -> None:
    act, error = RIGHTS[row]
    assert act(world) == error


def test_a_user_may_what_the_acls_say_and_sees_nothing_else(world: World) -> None:
    until("the right to write", lambda: write(world, world.writable) == "", 60)
    lab = Producer({**QUIET, **world.inventory.kafka_properties})
    lab.produce(world.readable, b"x")
    assert lab.flush(10) == 0
    until("the right to read", lambda: read(world, world.readable) == "", 60)
    client = AdminClient({**QUIET, **world.login()})
    until("the two topics", lambda: set(client.list_topics(timeout=10).topics) == {world.readable, world.writable}, 60)
    everything: Any = (
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    assert (
        client.describe_acls(AclBindingFilter(*everything), request_timeout=10).result(15) == []
    )  # refused, and the library keeps that to itself


OPENSSL: dict[str, tuple[Callable[[World], list[str]], str]] = {
    "no certificate": (lambda w: [], "alert handshake failure"),
    "one of another CA of the same name": (lambda w: shown(w.other.issue(OWNER)), "alert certificate unknown"),
    "one of the client CA": (lambda w: shown(w.clients.issue(OWNER)), "alert certificate unknown"),
    "an expired one": (lambda w: shown(w.infra.expired(OWNER)), "alert certificate unknown"),
}


def shown(file: str) -> list[str]:
    """Return openssl's options for a certificate."""
    return ["-cert", file, "-key", file]


@pytest.mark.parametrize("row", OPENSSL)
def test_zookeeper_refuses(world: World, row: str) -> None:
    options, alert = OPENSSL[row]
    said = openssl(*world.zookeeper, "-CAfile", world.ca, *options(world))
    assert alert in said and "Verification: OK" in said, said[-2000:]


def test_zookeeper_is_refused_by_who_compares_names_and_trusts_another_ca(world: World) -> None:
    admin = shown(world.inventory.admin_tls["certificate"])
    assert "alert" not in openssl(*world.zookeeper, "-CAfile", world.ca, "-verify_ip", world.zookeeper[0], *admin)
    assert "Verification error: hostname mismatch" in openssl(
        *world.zookeeper, "-CAfile", world.ca, "-verify_hostname", "elsewhere", *admin
    )
    assert "Verification error: IP address mismatch" in openssl(
        *world.zookeeper, "-CAfile", world.ca, "-verify_ip", "127.0.0.1", *admin
    )
    assert "Verification error: unable to get local issuer certificate" in openssl(
        *world.zookeeper, "-CAfile", world.clients.itself(), *admin
    )


def forbidden(client: KazooClient, inventory: Inventory) -> dict[str, bool]:
    """Try what only the brokers may; return what was refused with NoAuth."""
    root = str(inventory.variables[inventory.hosts("kafka")[0]]["kafka_zookeeper_chroot"])
    tries: dict[str, Callable[[], object]] = {
        "see the users": lambda: client.get_children(f"{root}/config/users"),
        "write a topic's settings": lambda: client.set(f"{root}/config/topics", b""),
        "become the controller": lambda: client.delete(f"{root}/controller"),
        "add an ACL": lambda: client.create(f"{root}/kafka-acl/Topic/anything", b"{}"),
        "create in the chroot": lambda: client.create(f"{root}/negative"),
        "create in the root": lambda: client.create("/negative"),
        "open the root": lambda: client.set_acls("/", OPEN_ACL_UNSAFE),
    }
    found = {}
    for what, act in tries.items():
        found[what] = False
        try:
            act()
        except NoAuthError:
            found[what] = True
    return found


STRANGERS: dict[str, Callable[[World], str]] = {
    "an application": lambda w: w.infra.issue(APPLICATION),
    "the admin": lambda w: w.inventory.admin_tls["certificate"],
    "a ZooKeeper server": lambda w: w.inventory.tls(w.inventory.hosts("zookeeper")[0], "zookeeper")["certificate"],
    "a broker by its listener's certificate": lambda w: w.inventory.tls(w.broker, "broker")["certificate"],
    "a like of the owner": lambda w: w.infra.issue("CN=kafka,OU=zkclients,O=other"),
}


@pytest.mark.parametrize("row", STRANGERS)
def test_zookeeper_lets_another_trusted_certificate_read_little_and_write_nothing(world: World, row: str) -> None:
    with session(world.inventory, {"certificate": STRANGERS[row](world), "ca": world.ca}) as client:
        assert len(client.get_children("/kafka/brokers/ids")) == len(world.inventory.hosts("kafka"))
        assert set(forbidden(client, world.inventory).values()) == {True}, forbidden(client, world.inventory)


def test_zookeeper_lets_the_owner_of_the_znodes_read_all(world: World) -> None:
    """By a certificate of the brokers' subject, with whatever key."""
    with session(world.inventory, {"certificate": world.infra.issue(OWNER), "ca": world.ca}) as client:
        assert world.user in client.get_children("/kafka/config/users")
        client.create("/negative")
        client.delete("/negative")


PROMETHEUS = "CN=prometheus,OU=monitoring,O=lab"
METRICS: dict[str, Callable[[World], str]] = {
    "no certificate": lambda w: "",
    "one of another CA of the same name": lambda w: w.other.issue(PROMETHEUS),
    "an expired one": lambda w: w.infra.expired(PROMETHEUS),
    "the admin's": lambda w: w.inventory.admin_tls["certificate"],
    "one of a similar name": lambda w: w.infra.issue("CN=prometheus2,OU=monitoring,O=lab"),
}


def metrics_answer(world: World, file: str) -> str:
    """Return what the proxy of metrics answers to a client with this certificate or with none.

    The firewall allows only monitoring hosts, so the request is made there.
    """
    if not world.inventory.hosts("metrics"):
        pytest.skip("no host of this inventory serves metrics")
    (monitoring,) = world.inventory.hosts("monitoring")
    address = world.inventory.client_address(world.inventory.hosts("metrics")[0])
    place = world.inventory.run(monitoring, "mktemp --directory").strip()
    text = Path(file).read_text(encoding="utf-8") if file else ""
    world.inventory.run(monitoring, f"cat >{place}/client.pem", stdin=text)
    shown_there = f"-cert {place}/client.pem -key {place}/client.pem" if file else ""
    request = "GET /proxy?module=node HTTP/1.0\\r\\n\\r\\n"
    return world.inventory.run(
        monitoring,
        f"printf '{request}' | timeout 10 openssl s_client -quiet -CAfile /etc/prometheus/tls/ca.pem {shown_there} "
        f"-connect {address}:9990 2>&1; rm -r {place}",
        check=False,
    )


@pytest.mark.parametrize("row", METRICS)
def test_the_proxy_of_metrics_refuses(world: World, row: str) -> None:
    said = metrics_answer(world, METRICS[row](world))
    assert "alert" in said and "node_" not in said, said[-2000:]


def test_the_proxy_of_metrics_serves_prometheus(world: World) -> None:
    """With a certificate of its common name, with whatever key."""
    said = metrics_answer(world, world.infra.issue(PROMETHEUS))
    assert "node_filesystem_avail_bytes" in said, said[-2000:]


def test_the_firewall_hides_metrics(world: World) -> None:
    """The control node is no monitoring host."""
    if not world.inventory.hosts("metrics"):
        pytest.skip("no host of this inventory serves metrics")
    address = world.inventory.client_address(world.inventory.hosts("metrics")[0])
    with pytest.raises(TimeoutError), socket.create_connection((address, 9990), timeout=3):
        pass
