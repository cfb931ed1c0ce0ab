"""Certificates that somebody else made: handed in as files, or signed by an outside CA on request."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from unit.certificate_maker import Ca, pem
from unit.pki_folder import BROKER, BROKER_PEM, provided, run, said, snapshot


def test_provided(tmp_path: Path) -> None:
    """The host gets key and chain in one file, the key as PKCS #8 without its passphrase."""
    between = Ca("Issuing CA", root := Ca("Infra CA"))
    inputs = provided(tmp_path / "given", between)
    given = (tmp_path / "given/broker.crt").read_bytes()
    (tmp_path / "given/broker.crt").write_bytes(pem(root.certificate, between.certificate) + given)
    (tmp_path / "given/ca.crt").write_bytes(pem(root.certificate))
    done = run(tmp_path / "pki", **inputs)
    assert (done.problems, done.changes) == ([], ["certificate broker"])
    text = (tmp_path / "pki" / BROKER_PEM).read_bytes()
    assert text.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert text.endswith(given + pem(between.certificate))
    assert run(tmp_path / "pki", **inputs).changes == []


def test_provided_and_wrong(tmp_path: Path) -> None:
    """What is in use stays until the files are right."""
    ca = Ca("Infra CA")
    run(tmp_path / "pki", **provided(tmp_path / "given", ca))
    before = snapshot(tmp_path / "pki")
    done = run(tmp_path / "pki", **provided(tmp_path / "given", ca, end=datetime(2026, 5, 1, tzinfo=UTC)))
    assert said(done) == [
        "CERTIFICATE_EXPIRED dc1-kafka1/pki_certificates[broker] = CN=dc1-kafka1,OU=brokers,O=lab: "
        "expired on 2026-05-01; have a new certificate issued"
    ]
    assert snapshot(tmp_path / "pki") == before


def test_provided_and_soon_to_end(tmp_path: Path) -> None:
    """It is used, with a warning: we cannot renew it."""
    done = run(
        tmp_path / "pki", **provided(tmp_path / "given", Ca("Infra CA"), end=datetime(2026, 6, 11, 12, tzinfo=UTC))
    )
    assert done.changes == ["certificate broker"]
    assert said(done) == [
        "warning CERTIFICATE_EXPIRES dc1-kafka1/pki_certificates[broker] = CN=dc1-kafka1,OU=brokers,O=lab: "
        "expires on 2026-06-11, in 10 days; have a new certificate issued"
    ]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"certificate": None},
            "CERTIFICATE_MISSING dc1-kafka1/pki_certificates[broker]: source is provided, "
            "but certificate is not set; set certificate to the path of the file",
        ),
        (
            {"key": None},
            "CERTIFICATE_MISSING dc1-kafka1/pki_certificates[broker]: source is provided, but key is not set; "
            "set key to the path of the file",
        ),
        (
            {"key": "/absent.key"},
            "CERTIFICATE_MISSING dc1-kafka1/pki_certificates[broker]: the key /absent.key: No such file or directory; "
            "put the file there, or correct the path",
        ),
        (
            {"key_passphrase": "wrong"},
            "CERTIFICATE_KEY dc1-kafka1/pki_certificates[broker]: "
            "the key given/broker.key cannot be opened with the passphrase; correct the passphrase or the path",
        ),
    ],
)
def test_provided_and_missing(tmp_path: Path, changed: dict[str, Any], text: str) -> None:
    inputs = provided(tmp_path / "given", Ca("Infra CA"))
    inputs["certificates"] = [{**inputs["certificates"][0], **changed}]
    assert said(run(tmp_path / "pki", **inputs), tmp_path) == [text]


def test_provided_and_no_certificate(tmp_path: Path) -> None:
    inputs = provided(tmp_path / "given", Ca("Infra CA"))
    (tmp_path / "given/broker.crt").write_bytes(b"nothing")
    assert said(run(tmp_path / "pki", **inputs), tmp_path) == [
        "CERTIFICATE_UNREADABLE dc1-kafka1/pki_certificates[broker]: given/broker.crt contains no certificate in PEM; "
        "export it as PEM (BEGIN CERTIFICATE)"
    ]


def test_request(tmp_path: Path) -> None:
    """A request is written once; until its certificate is there, it is said where it belongs."""
    ca = Ca("Outside CA")
    (tmp_path / "ca.crt").write_bytes(pem(ca.certificate))
    inputs: dict[str, Any] = {
        "authorities": [{"name": "infra", "certificate": str(tmp_path / "ca.crt")}],
        "source": "csr",
        "requests_directory": str(tmp_path / "out"),
        "signed_directory": str(tmp_path / "in"),
    }
    missing = [
        "CERTIFICATE_UNSIGNED dc1-kafka1/pki_certificates[broker]: "
        "the signed certificate in/dc1-kafka1.broker.pem is missing; "
        "have out/dc1-kafka1.broker.csr signed, put the certificate and its intermediates there, and run again"
    ]
    first = run(tmp_path / "pki", **inputs)
    assert (said(first, tmp_path), first.changes) == (missing, ["key broker", "request broker"])
    asked = (tmp_path / "out/dc1-kafka1.broker.csr").read_bytes()
    second = run(tmp_path / "pki", **inputs)
    assert (said(second, tmp_path), second.changes) == (missing, [])

    (tmp_path / "in").mkdir()
    (tmp_path / "in/dc1-kafka1.broker.pem").write_bytes(pem(ca.sign_request(asked)))
    third = run(tmp_path / "pki", **inputs)
    assert (third.problems, third.changes) == ([], ["certificate broker"])
    assert run(tmp_path / "pki", **inputs).changes == []

    moved = {**inputs, "certificates": [{**BROKER, "names": [*BROKER["names"], "198.18.3.21"]}]}
    fourth = run(tmp_path / "pki", **moved)
    assert fourth.changes == ["request broker"]
    assert [text.partition(":")[2].partition(";")[0] for text in said(fourth)] == [
        " the certificate does not contain 198.18.3.21: peers that connect there reject the host"
    ]
    assert (tmp_path / "out/dc1-kafka1.broker.csr").read_bytes() != asked


def test_outside_ca_signs_nothing_of_ours(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(pem(Ca("Outside CA").certificate))
    done = run(tmp_path / "pki", authorities=[{"name": "infra", "certificate": str(tmp_path / "ca.crt")}])
    assert said(done, tmp_path) == [
        "CERTIFICATE_SOURCE dc1-kafka1/pki_certificates[broker]: source is own, but infra is an outside CA, "
        "whose key is not here; set source: provided or csr, or remove `certificate` from the CA"
    ]
