"""New certificates, another CA and a new password come into use under load: no send fails, no record is missing, nothing is restarted."""

import json
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from faults.inventory import Inventory
from faults.lab import Lab, until
from faults.ledger import Writer, load, read_all
from operations.conftest import Operator
from unit.certificate_maker import Ca, pem

from millrace.access import Access

PARTITIONS = 6
USER = "lab"
AUTHORITIES = [
    {"name": "infra", "subject": "CN=Infra CA,O=lab"},
    {"name": "clients", "subject": "CN=Client CA,O=lab"},
    {"name": "infra-2027", "subject": "CN=Infra CA 2027,O=lab"},
]
OLD, NEW, NEXT = "infra", "corporate", "infra-2027"


class Follower(threading.Thread):
    """A consumer that reads on and on; counts what it reads and remembers every error."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        """Begin at the first record of every partition."""
        super().__init__(daemon=True)
        self.read, self.errors, self.stop = 0, list[str](), threading.Event()
        own = {"group.id": f"{topic}-follower", "enable.auto.commit": False, "auto.offset.reset": "error", "log_level": 0}
        self.consumer = Consumer({**properties, **own, "error_cb": lambda error: self.errors.append(str(error))})
        self.consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def run(self) -> None:
        """Read until told to stop."""
        while not self.stop.is_set():
            for message in self.consumer.consume(500, 0.2):
                self.errors += [str(message.error())] if message.error() else []
                self.read += message.error() is None
        self.consumer.close()


class Load:
    """A producer with acks=all and a follower, from `start` to `end`, and what the ledger says of them."""

    def __init__(self, inventory: Inventory, topic: str, folder: Path, name: str) -> None:
        """Start both."""
        self.properties, self.topic, self.folder = inventory.kafka_properties, topic, folder / name
        self.follower = Follower(self.properties, topic)
        self.writer = Writer(self.properties, topic, self.folder, run=topic, name=name, limit=60_000, rate=200)
        self.writer.__enter__()
        self.follower.start()

    def end(self) -> str:
        """Stop; AssertionError where a send failed, a record is missing, or the follower met an error. Return what was acknowledged."""
        self.writer.__exit__(None, None, None)
        self.follower.stop.set()
        self.follower.join(30)
        ledger = load(self.folder)
        assert ledger.unknown == {}, "sends failed"
        keys = {ack.key for ack in ledger.acks}
        found = [record for record in read_all(self.properties, self.topic) if record.key in {*ledger.intents}]
        assert ledger.compare(found).ok, ledger.compare(found)
        assert len(keys) > 500
        assert self.follower.errors == []
        assert self.follower.read >= len(keys) * 0.9, "the follower stood still"
        return f"{len(keys)} acknowledged, none failed, none missing, {self.follower.read} read meanwhile"


@pytest.fixture
def topic(inventory: Inventory) -> Iterator[str]:
    """A topic of RF 3 and min ISR 2, deleted afterwards."""
    lab, name = Lab(inventory), f"rotation-{uuid.uuid4().hex[:8]}"
    lab.create_topic(name, partitions=PARTITIONS)
    yield name
    lab.delete_topic(name)


def served(inventory: Inventory) -> dict[str, str]:
    """Return the serial that each port of a broker or server presents, asked from the host of a peer, where every port is open."""
    asked = {f"{host} {port}": (host, inventory.client_address(host), port) for host in inventory.hosts("kafka") for port in (9092,)}
    asked |= {f"{host} {port}": (host, inventory.replication_address(host), port) for host in inventory.hosts("kafka") for port in (9093,)}
    asked |= {f"{host} {port}": (host, inventory.replication_address(host), port) for host in inventory.hosts("zookeeper") for port in (2281, 3888)}
    found = {}
    for name, (host, address, port) in asked.items():
        folder = "/etc/kafka/tls" if host in inventory.hosts("kafka") else "/etc/zookeeper/tls"
        command = (
            f"openssl s_client -connect {address}:{port} -cert {folder}/keystore.pem -key {folder}/keystore.pem "
            "</dev/null 2>/dev/null | openssl x509 -noout -serial"
        )
        found[name] = inventory.run(host, command).strip()
    return found


def on_disk(inventory: Inventory) -> dict[str, str]:
    """Return the serial of each host's certificate file, as openssl says it."""
    folders = {"kafka": "/etc/kafka/tls", "zookeeper": "/etc/zookeeper/tls"}
    return {
        host: inventory.run(host, f"openssl x509 -noout -serial -in {folder}/keystore.pem").strip()
        for group, folder in folders.items()
        for host in inventory.hosts(group)
    }


def services(operator: Operator) -> dict[str, str]:
    """Return the processes of servers and brokers."""
    return {
        host: text
        for host, text in operator.processes().items()
        if host in (*operator.inventory.hosts("kafka"), *operator.inventory.hosts("zookeeper"))
    }


class Corporate:
    """A CA outside of the site, which signs requests through an intermediate one."""

    def __init__(self, pki: Path, folder: Path) -> None:
        """Its certificate goes to `folder`; requests are found in the site's own folder, and answered there."""
        end = datetime.now(UTC) + timedelta(days=90)
        root = Ca("Corporate CA", end=end)
        self.issuing, self.end, self.pki, self.file = Ca("Issuing CA", root, end), end, pki, folder / "corporate.pem"
        self.file.write_bytes(pem(root.certificate))

    def sign(self) -> list[str]:
        """Answer every request; return the answers' names."""
        requests = sorted((self.pki / "requests").glob("*.csr"))
        (self.pki / "signed").mkdir(exist_ok=True)
        for request in requests:
            certificate = self.issuing.sign_request(request.read_bytes(), self.end)
            (self.pki / "signed" / f"{request.stem}.pem").write_bytes(pem(certificate, self.issuing.certificate))
        return [f"{request.stem}.pem" for request in requests]

    def clear(self) -> None:
        """Leave no request and no answer behind."""
        for folder in ("requests", "signed"):
            shutil.rmtree(self.pki / folder, ignore_errors=True)


@contextmanager
def interrupted(inventory: Inventory, more: bytes) -> Iterator[None]:
    """The bundles of the control node as a run leaves them that ended before any host got its own."""
    bundles = {path: path.read_bytes() for path in (inventory.pki / "certificates").glob("*/ca.pem")}
    try:
        for path, data in bundles.items():
            path.write_bytes(data + more)
        yield
    finally:
        for path, data in bundles.items():
            path.write_bytes(data)


@pytest.fixture
def corporate(inventory: Inventory, tmp_path: Path) -> Iterator[Corporate]:
    """The CA that replaces ours for a while."""
    found = Corporate(inventory.pki, tmp_path)
    found.clear()
    yield found
    found.clear()


def test_certificates_and_a_new_ca_come_into_use_under_load(
    operator: Operator, inventory: Inventory, topic: str, corporate: Corporate, tmp_path: Path, note: Callable[[str], None]
) -> None:
    processes, before = services(operator), served(inventory)
    load_ = Load(inventory, topic, tmp_path, "leaves")
    done = operator.play("rotate_certificates")
    assert done.code == 0, done.output
    after = served(inventory)
    assert {port: serial for port, serial in after.items() if serial == before[port]} == {}, "a port presents the old certificate"
    assert {port: serial for port, serial in after.items() if serial != on_disk(inventory)[port.split()[0]]} == {}
    assert services(operator) == processes, "something was restarted"
    note(f"leaf certificates: {load_.end()}")

    # A CA of somebody else, who gets requests. A step that is taken before the one it needs is refused, and changes nothing.
    settings = tmp_path / "settings.json"
    authorities = [*AUTHORITIES, {"name": NEW, "certificate": str(corporate.file)}]

    def rotate(trusted: list[str], signs: str, renew: bool) -> tuple[int, str]:
        values = {"pki_authorities": authorities, "infra_trusted": trusted, "infra_authority": signs, "rotate_renew": renew}
        settings.write_text(json.dumps({**values, "pki_source": "csr" if signs == NEW else "own"}))
        done = operator.play("rotate_certificates", "-e", f"@{settings}")
        return done.code, done.output

    load_ = Load(inventory, topic, tmp_path, "both")
    code, output = rotate([OLD, NEW], NEW, True)
    answers = corporate.sign()
    assert code != 0 and len(answers) > 10 and [name for name in answers if f"/signed/{name} is missing" not in output] == [], output
    code, output = rotate([OLD, NEW], NEW, True)
    assert code != 0 and "CERTIFICATE_STEP" in output and "do not trust that yet" in output, output
    with interrupted(inventory, corporate.file.read_bytes()):
        code, output = rotate([OLD, NEW], NEW, True)
        assert code != 0 and "CERTIFICATE_STEP" in output and "dc1-kafka1, dc1-kafka2, dc1-kafka3 and 3 more" in output, output
    assert served(inventory) == after
    code, output = rotate([OLD, NEW], OLD, False)
    assert code == 0, output
    code, output = rotate([NEW], OLD, False)
    assert code != 0 and "CERTIFICATE_STEP" in output and "is dropped" in output, output
    note(f"both CAs trusted: {load_.end()}")

    load_ = Load(inventory, topic, tmp_path, "new")  # a client that has read the new bundle
    code, output = rotate([OLD, NEW], NEW, True)
    assert code == 0, output
    assert {port for port, serial in served(inventory).items() if serial == after[port]} == set()
    code, output = rotate([NEW], NEW, False)
    assert code == 0, output
    assert services(operator) == processes, "something was restarted"
    note(f"new CA: {load_.end()}")
    address = f"{inventory.client_address(inventory.hosts('kafka')[0])}:9092"
    assert inventory.lab_directory
    refused = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-verify_return_error", "-CAfile", str(inventory.lab_directory / "pki/authorities/infra.pem")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert "verify error" in refused.stderr, "the old CA still vouches for the broker"

    checked = operator.play("check", "-e", f"@{settings}")
    assert checked.code == 0, checked.output
    too_few = operator.play("check", "-e", f"@{settings}", "-e", "check_certificate_days=500")
    assert too_few.code != 0 and "days are left, fewer than 500" in too_few.output

    # From there to a new CA of our own, and on to the one that the inventory names, in the same steps.
    steps = [([NEXT, NEW], NEW, False), ([NEXT, NEW], NEXT, True), ([OLD, NEXT], NEXT, False), ([OLD, NEXT], OLD, True), ([OLD], OLD, False)]
    for trusted, signs, renew in steps:
        code, output = rotate(trusted, signs, renew)
        assert code == 0, output
    assert operator.play("check").code == 0
    assert services(operator) == processes, "something was restarted"


def test_a_password_is_replaced_while_the_old_one_works(
    operator: Operator, inventory: Inventory, topic: str, tmp_path: Path, note: Callable[[str], None]
) -> None:
    assert inventory.lab_directory
    old, new = inventory.kafka_properties["sasl.password"], 'a new one, = " and all'
    secrets = {path.name: path.read_text().split()[0] for path in (inventory.lab_directory / "secrets").iterdir()}
    passwords = {name: secret for name, secret in secrets.items() if name != "pki_passphrase"}
    access = Access(inventory.admin_properties, {**inventory.kafka_properties, "sasl.mechanism": "SCRAM-SHA-512"})

    def logins() -> tuple[bool, bool]:
        return access.logs_in(USER, old, "SCRAM-SHA-512"), access.logs_in(USER, new, "SCRAM-SHA-256")

    def rotate(step: str, declared: dict[str, str]) -> tuple[int, str]:
        vault = {"pki_passphrase": secrets["pki_passphrase"], "passwords": passwords, "new_passwords": {USER: new}}
        others = [{"name": name, "password": password} for name, password in passwords.items() if name != USER]
        settings = tmp_path / "settings.json"
        settings.touch(0o600)
        settings.write_text(json.dumps({"vault": vault, "kafka_users": [{"name": USER, **declared}, *others], "user": USER, "step": step}))
        done = operator.play("rotate_password", "-e", f"@{settings}")
        return done.code, done.output

    def let_in(expected: tuple[bool, bool]) -> None:
        # A password reaches the brokers that did not write it a moment later.
        until(f"logins with the old and the new password are {expected}", lambda: logins() == expected, 15)

    load_ = Load(inventory, topic, tmp_path, "password")
    try:
        let_in((True, False))
        assert rotate("begin", {"password": old})[0] == 0
        let_in((True, True))
        code, output = rotate("finish", {"password": old})
        assert code != 0 and "finishing would end the new one" in output, output
        let_in((True, True))
        assert rotate("finish", {"password": new, "mechanism": "SCRAM-SHA-256"})[0] == 0
        let_in((False, True))
    finally:
        access.users([{"name": USER, "password": old}])
        access.users([{"name": USER, "mechanism": "SCRAM-SHA-256", "state": "absent"}])
    let_in((True, False))
    note(load_.end())
