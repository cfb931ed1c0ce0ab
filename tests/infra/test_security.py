"""A secure cluster: what its ports show, and which keys lie on its hosts."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from faults.inventory import Inventory
from security import wire
from security.certificates import names_of
from security.wire import KAFKA_REQUEST, ZOOKEEPER_REQUEST, in_the_clear
from testinfra.host import Host

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions


class Door(NamedTuple):
    """A port of one host."""

    host: str
    name: str
    address: str
    port: int


# Debian's package ssl-cert, which PostgreSQL depends on, makes this key for its own self-signed certificate.
PACKAGED_KEY = "/etc/ssl/private/ssl-cert-snakeoil.key"
# Runs on a ZooKeeper server, with its certificate: the certificates that ports serve, their names and issuer checked,
# and what they say in the clear.
LOOK = f"""{Path(wire.__file__).read_text().partition("class Lines")[0].replace("from confluent_kafka", "#")}
import json, ssl, sys
context = ssl.create_default_context(cafile="/etc/zookeeper/tls/ca.pem")
context.load_cert_chain("/etc/zookeeper/tls/keystore.pem")
found = []
for address, port in json.loads(sys.argv[1]):
    with context.wrap_socket(socket.create_connection((address, port), 5), server_hostname=address) as connection:
        certificate = ssl.DER_cert_to_PEM_cert(connection.getpeercert(True))
    # One after the other: the server listens to one at a time.
    found.append([certificate, in_the_clear(address, port, ZOOKEEPER_REQUEST)])
print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def secure(inventory: Inventory) -> None:
    """Nothing here holds where everything is open."""
    if not inventory.secure:
        pytest.fail(f"{inventory.directory} is plaintext", pytrace=False)


def doors(inventory: Inventory) -> Iterator[Door]:
    """Yield the ports of the model that the control node may reach."""
    for host in inventory.hosts("zookeeper"):
        for address in inventory.addresses(host):
            yield Door(host, "zookeeper", address, inventory.zookeeper_port)
    for host in inventory.hosts("kafka"):
        yield Door(host, "CLIENT", inventory.client_address(host), inventory.port("CLIENT"))
        yield Door(host, "REPLICATION", inventory.replication_address(host), inventory.port("REPLICATION"))


def quorum_doors(inventory: Inventory) -> Iterator[Door]:
    """Yield the ports of the ensemble itself: elections on each server, and followers on the leader."""
    for host in inventory.hosts("zookeeper"):
        leads = "Mode: leader" in inventory.ask_zookeeper(host, "srvr")
        for address in inventory.addresses(host):
            for port in (3888, 2888) if leads else (3888,):
                yield Door(host, f"quorum {port}", address, port)


def declared_names(inventory: Inventory, host: str) -> Sequence[str]:
    """Return what a host's certificate has to be made for: its name and its addresses, and nothing else."""
    return sorted([host, *inventory.addresses(host)])


def kind_of(certificate: x509.Certificate) -> str:
    """Return the kind of its key, in the words of `pki_key`."""
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey)
    return f"{'rsa-' if isinstance(key, rsa.RSAPublicKey) else 'ec-p'}{key.key_size}"


def test_every_port_refuses_plaintext(inventory: Inventory) -> None:
    requests = {"zookeeper": ZOOKEEPER_REQUEST}
    said = {
        door: in_the_clear(door.address, door.port, requests.get(door.name, KAFKA_REQUEST)) for door in doors(inventory)
    }
    assert said and {door: answer for door, answer in said.items() if answer not in ("alert", "closed")} == {}


def test_every_port_serves_a_certificate_for_its_host(inventory: Inventory) -> None:
    """Verified against the CA that clients trust, and by the address; kind of the key and names are those declared."""
    for door in doors(inventory):
        tls = inventory.admin_tls
        options = ["-cert", tls["certificate"], "-key", tls["certificate"]] if door.name != "CLIENT" else []
        said = wire.openssl(door.address, door.port, "-CAfile", tls["ca"], "-verify_ip", door.address, *options)
        assert "Verification: OK" in said, f"{door}: {said[-2000:]}"
        served = x509.load_pem_x509_certificate(said[said.index("-----BEGIN") :].encode())
        assert names_of(served) == declared_names(inventory, door.host), door
        assert kind_of(served) == inventory.variables[door.host].get("pki_key", "rsa-2048"), door


def test_the_quorum_is_encrypted_between_servers_that_know_each_other(inventory: Inventory) -> None:
    """As seen from one of them, for nobody else may connect."""
    if not inventory.hosts("zookeeper"):
        pytest.skip("the inventory has no ZooKeeper server")
    found = list(quorum_doors(inventory))
    places = json.dumps([(door.address, door.port) for door in found])
    answers = json.loads(inventory.run(inventory.hosts("zookeeper")[-1], f"python3 - '{places}'", stdin=LOOK))
    assert len(found) >= sum(len(inventory.addresses(host)) for host in inventory.hosts("zookeeper"))
    for door, (certificate, in_clear) in zip(found, answers, strict=True):
        assert names_of(x509.load_pem_x509_certificate(certificate.encode())) == declared_names(inventory, door.host), (
            door
        )
        assert in_clear in ("alert", "closed"), f"{door}: {in_clear}"


def test_no_other_port_is_open(inventory: Inventory) -> None:
    """What listens on more than the loopback is in the model, or is SSH."""
    zookeeper = {inventory.zookeeper_port, 2888, 3888}
    ports: dict[str, set[int]] = {
        "zookeeper": zookeeper, "kafka": set(), "database": {5432}, "spark": set(), "mirror_maker": {8083},
        "metrics": {9990}, "monitoring": set(),
    }  # fmt: skip
    for group in ports:
        for host in inventory.hosts(group):
            named = set[int]().union(*(own for other, own in ports.items() if host in inventory.hosts(other)))
            listeners = inventory.listeners(host) if host in inventory.hosts("kafka") else []
            wanted = {22, *named, *(int(listener["port"]) for listener in listeners)}
            lines = inventory.run(host, "ss -Hltnp").splitlines()
            listening = {
                line.split()[3]
                for line in lines
                if "127.0.0." not in line.split()[3] and "[::1]" not in line.split()[3]
            }
            services = {int(place.rpartition(":")[2]) for place in listening}
            assert services and services <= wanted, f"{host}: {listening}"


def files(inventory: Inventory, host: Host, *kinds: str) -> dict[str, str]:
    """Return the files that the functions of a host install of these kinds, each with its group."""
    name = host.backend.get_pytest_id().rpartition("/")[2]
    held = [function for group, function in functions().items() if name in inventory.hosts(group)]
    declared = [getattr(function, kind) for function in held for kind in kinds]
    found = {file["path"]: file["group"] for files in declared if not isinstance(files, str) for file in files}
    if "certificates" in kinds and name in inventory.hosts("metrics"):  # an expression in functions/metrics.yml
        monitoring = ["prometheus.pem"] if name in inventory.hosts("monitoring") else []
        found |= {f"/etc/prometheus/tls/{file}": "prometheus" for file in ("metrics.pem", *monitoring)}
    return found


def test_keys_are_for_the_service_alone(any_host: Host, inventory: Inventory) -> None:
    found = files(inventory, any_host, "certificates", "truststores")
    folders = {str(Path(path).parent): group for path, group in found.items()}
    wanted = {path: f"640 root:{group}" for path, group in found.items()}
    wanted |= {folder: f"750 root:{group}" for folder, group in folders.items()}
    lines = any_host.check_output(f"find {' '.join(folders)} -printf '%p %m %u:%g\\n'").splitlines()
    assert folders and dict(line.split(" ", 1) for line in lines) == wanted


def test_no_key_is_on_a_host_but_its_own(any_host: Host, inventory: Inventory) -> None:
    """No CA's and no admin's, wherever it may have been left."""
    places = "/etc /opt /var /srv /root /home /tmp /run"
    pattern = "^-----BEGIN (RSA |EC |ENCRYPTED )?PRIVATE KEY"
    found = any_host.run(f"find {places} -xdev -type f -size -64k -exec grep -lE -e '{pattern}' {{}} +").stdout.split()
    assert {*found} - {PACKAGED_KEY} == files(inventory, any_host, "certificates").keys()
    authorities = {spki(path.read_bytes()) for path in (inventory.pki / "authorities").glob("*.pem")}
    admin = spki(Path(inventory.admin_tls["certificate"]).read_bytes())
    assert authorities
    for path in found:
        assert spki(any_host.file(path).content) not in {*authorities, admin}, path


def spki(data: bytes) -> str:
    """Return the fingerprint of the public key of a PEM file with a private key, or with a certificate alone."""
    public = (
        load_pem_private_key(data, None).public_key()
        if b"PRIVATE KEY" in data
        else x509.load_pem_x509_certificate(data).public_key()
    )
    return hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()
