"""Subjects that can be written in more ways than one: the second run changes nothing, a port's CAs are known again."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID
from unit.certificate_maker import Ca, key_pem, new_key, pem
from unit.pki_folder import BROKER, BROKER_PEM, run, said

from ansible_collections.millrace.kafka.plugins.module_utils.tls.served import accepted, differs, observe

SUBJECTS = {
    "umlaut": ("CN=Käfer,OU=brokers,O=Müller", "CN=Käfer,OU=brokers,O=Müller"),
    "umlaut-in-hexadecimal": (r"CN=K\C3\A4fer,O=lab", "CN=Käfer,O=lab"),
    "e-mail-by-word": (
        "emailAddress=kafka@example.org,CN=kafka,O=lab",
        "emailAddress=kafka@example.org,CN=kafka,O=lab",
    ),
    "e-mail-by-number": ("1.2.840.113549.1.9.1=kafka@example.org,O=lab", "emailAddress=kafka@example.org,O=lab"),
    "serial-number-by-word": ("serialNumber=17,CN=kafka,O=lab", "serialNumber=17,CN=kafka,O=lab"),
    "serial-number-by-number": ("2.5.4.5=17,CN=kafka,O=lab", "serialNumber=17,CN=kafka,O=lab"),
    "two-in-one-part": ("CN=kafka+OU=brokers,O=lab", "CN=kafka+OU=brokers,O=lab"),
    "two-in-one-part-the-other-way": ("OU=brokers+CN=kafka,O=lab", "CN=kafka+OU=brokers,O=lab"),
    "comma": (r"CN=kafka\, the first,O=lab", r"CN=kafka\, the first,O=lab"),
    "country": ("CN=kafka,C=DE", "CN=kafka,C=DE"),
}


@pytest.mark.parametrize("kind", SUBJECTS)
def test_second_run(tmp_path: Path, kind: str) -> None:
    """Of a host's certificate and of its CA."""
    written, shown = SUBJECTS[kind]
    inputs: dict[str, Any] = {
        "certificates": [{**BROKER, "subject": written}],
        "authorities": [{"name": "infra", "subject": written}],
        "truststores": [{"path": "/etc/kafka/tls/ca.pem", "authorities": ["infra"]}],
    }
    first = run(tmp_path, **inputs)
    assert (said(first), first.held["broker"]["subject"], first.trusted) == (
        [],
        shown,
        {"/etc/kafka/tls/ca.pem": [shown]},
    )
    second = run(tmp_path, **inputs)
    assert (said(second), second.changes) == ([], [])


def signed(request: bytes, issuer: Ca, kind: _ASN1Type) -> x509.Certificate:
    """Return what a CA makes of a request that writes subjects in strings of its own kind."""
    asked = x509.load_pem_x509_csr(request)
    parts = [
        x509.RelativeDistinguishedName([x509.NameAttribute(one.oid, one.value, kind) for one in part])
        for part in asked.subject.rdns
    ]
    name = x509.Name(parts)
    start = x509.CertificateBuilder().subject_name(name).issuer_name(issuer.name).public_key(asked.public_key())
    start = start.serial_number(1).not_valid_before(issuer.certificate.not_valid_before_utc).not_valid_after(issuer.end)
    for extension in asked.extensions:
        start = start.add_extension(extension.value, extension.critical)
    return start.sign(issuer.key, hashes.SHA256())


@pytest.mark.parametrize("kind", [_ASN1Type.PrintableString, _ASN1Type.BMPString])
def test_a_ca_that_writes_other_strings(tmp_path: Path, kind: _ASN1Type) -> None:
    ca = Ca("Outside CA")
    (tmp_path / "ca.crt").write_bytes(pem(ca.certificate))
    broker = {**BROKER, "subject": "OU=brokers+CN=kafka,O=lab"}
    inputs: dict[str, Any] = {
        "certificates": [broker],
        "authorities": [{"name": "infra", "certificate": str(tmp_path / "ca.crt")}],
        "source": "csr",
    }
    run(tmp_path / "pki", **inputs)
    (tmp_path / "pki/signed").mkdir()
    request = (tmp_path / "pki/requests/dc1-kafka1.broker.csr").read_bytes()
    (tmp_path / "pki/signed/dc1-kafka1.broker.pem").write_bytes(pem(signed(request, ca, kind)))
    done = run(tmp_path / "pki", **inputs)
    assert (said(done), done.changes) == ([], ["certificate broker"])
    assert run(tmp_path / "pki", **inputs).changes == []


def test_another_subject_is_another(tmp_path: Path) -> None:
    """Attributes in another order are another name, as principal rules see it."""
    run(tmp_path, certificates=[{**BROKER, "subject": "CN=kafka,OU=brokers,O=lab"}])
    done = run(tmp_path, certificates=[{**BROKER, "subject": "OU=brokers,CN=kafka,O=lab"}])
    assert done.changes == ["certificate broker: subject was CN=kafka,OU=brokers,O=lab"]


@contextmanager
def server(folder: Path, certificate: Path, trusted: Path) -> Iterator[int]:
    """Run a port that asks for certificates of these CAs."""
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-Verify", "1", "-CAfile", str(trusted)]
    command += ["-cert", str(certificate), "-key", str(certificate)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder
    )
    try:
        assert process.stdout
        yield next(int(line.rpartition(":")[2]) for line in process.stdout if line.startswith("ACCEPT"))
    finally:
        process.kill()
        process.wait()


def test_port(tmp_path: Path) -> None:
    """What a port says of the CAs that it accepts is what the folder says of its bundle, whatever is in their names."""
    subjects = [written for written, _ in SUBJECTS.values()]
    authorities = [{"name": f"ca{number}", "subject": subject} for number, subject in enumerate(subjects)]
    store = {"path": "/etc/kafka/tls/ca.pem", "authorities": [item["name"] for item in authorities]}
    broker = {**BROKER, "authority": "ca0", "names": ["127.0.0.1"]}
    done = run(tmp_path, datetime.now(UTC), authorities=authorities, certificates=[broker], truststores=[store])
    assert said(done) == []
    bundle = tmp_path / "certificates/dc1-kafka1/ca.pem"
    tls = {"certificate": str(tmp_path / BROKER_PEM), "ca": str(bundle)}
    trusted = done.trusted["/etc/kafka/tls/ca.pem"]
    with server(tmp_path, tmp_path / BROKER_PEM, bundle) as port:
        assert accepted("127.0.0.1", port, tls) == sorted({shown for _, shown in SUBJECTS.values()})
        endpoint = {
            "address": "127.0.0.1",
            "port": port,
            "serial": done.held["broker"]["serial"],
            "trusted": sorted(set(trusted)),
        }
        (answer,) = observe([endpoint], tls)
    assert differs(endpoint, answer) == ""


@pytest.mark.filterwarnings("ignore:Attribute's length")
def test_port_with_a_name_that_nobody_may_have(tmp_path: Path) -> None:
    """It is shown as it came, and the others are known."""
    long = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, 70 * "x", _validate=False)])
    key = new_key()
    start = x509.CertificateBuilder().subject_name(long).issuer_name(long).public_key(key.public_key()).serial_number(1)
    odd = start.not_valid_before(datetime(2026, 1, 1)).not_valid_after(datetime(2036, 1, 1)).sign(key, hashes.SHA256())
    files = {"certificate": key_pem(key) + pem(odd), "ca": pem(odd, Ca("Infra CA").certificate)}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with server(tmp_path, tmp_path / "certificate", tmp_path / "ca") as port:
        found = accepted("127.0.0.1", port, {name: str(tmp_path / name) for name in files})
    assert found == [f"2.5.4.3={70 * 'x'}", "CN=Infra CA,O=lab"]
