"""What is made of certificates for hosts and clients: PKCS#12 stores, bundles, copies of the CAs."""

import stat
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key, pkcs12
from unit.certificate_maker import Ca, pem
from unit.pki_folder import BROKER, CA_PEM, leaf, provided, run


def test_pkcs12(tmp_path: Path) -> None:
    """The store is left while it holds the same, and made anew with another certificate or another password."""
    inputs: dict[str, Any] = {"certificates": [{**BROKER, "format": "pkcs12"}], "store_password": "sesame"}
    done = run(tmp_path, **inputs)
    store = tmp_path / "certificates/dc1-kafka1/broker.p12"
    assert done.files[0]["source"] == str(store)
    found = pkcs12.load_pkcs12(store.read_bytes(), b"sesame")
    assert found.cert is not None
    assert found.cert.certificate == leaf(tmp_path)
    assert run(tmp_path, **inputs).changes == []
    assert run(tmp_path, **{**inputs, "store_password": "open"}).changes == ["store broker"]
    pkcs12.load_pkcs12(store.read_bytes(), b"open")
    run(tmp_path, key="rsa-2048")
    assert run(tmp_path, key="rsa-2048", **{**inputs, "store_password": "open"}).changes == ["store broker"]


def test_pkcs12_of_a_renewed_certificate(tmp_path: Path) -> None:
    """A new certificate for the same key is a new store too."""
    ca = Ca("Infra CA")
    inputs = provided(tmp_path / "given", ca)
    inputs["certificates"] = [{**inputs["certificates"][0], "format": "pkcs12"}]
    run(tmp_path / "pki", store_password="sesame", **inputs)
    key = load_pem_private_key((tmp_path / "given/broker.key").read_bytes(), b"sesame")
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    (tmp_path / "given/broker.crt").write_bytes(pem(ca.issue(key)))
    assert run(tmp_path / "pki", store_password="sesame", **inputs).changes == ["certificate broker", "store broker"]


def test_bundle_of_two(tmp_path: Path) -> None:
    """Two CAs of ours and a foreign one, each once."""
    foreign = Ca("Foreign CA").certificate
    (tmp_path / "foreign.crt").write_bytes(pem(foreign, foreign))
    store = {
        "path": "/etc/kafka/tls/ca.pem",
        "authorities": ["infra", "new"],
        "extra": [str(tmp_path / "foreign.crt")],
        "group": "kafka",
    }
    done = run(tmp_path / "pki", truststores=[store])
    (file,) = (file for file in done.files if file["path"] == "/etc/kafka/tls/ca.pem")
    found = x509.load_pem_x509_certificates(file["content"].encode())
    assert [certificate.subject.rfc4514_string() for certificate in found] == [
        "CN=Infra CA,O=lab",
        "CN=New CA,O=lab",
        "CN=Foreign CA,O=lab",
    ]
    assert (file["group"], file["mode"]) == ("kafka", "0640")


def test_trusted_authorities_are_kept_for_clients_of_the_control_node(tmp_path: Path) -> None:
    """certificates/<host>/<name of the file>: both CAs, as the host has them; rewritten only when they change."""
    stores: list[dict[str, Any]] = [{"path": "/etc/kafka/tls/ca.pem", "authorities": ["infra"], "group": "kafka"}]
    done = run(tmp_path, truststores=stores)
    copy = tmp_path / "certificates/dc1-kafka1/ca.pem"
    assert copy.read_bytes() == (tmp_path / CA_PEM).read_bytes()
    assert done.files[-1] == {
        "path": "/etc/kafka/tls/ca.pem",
        "content": copy.read_text(),
        "group": "kafka",
        "mode": "0640",
    }
    assert stat.S_IMODE(copy.stat().st_mode) == 0o644
    before = copy.stat().st_mtime_ns
    assert run(tmp_path, truststores=stores).changes == []
    assert copy.stat().st_mtime_ns == before
    both = [{**stores[0], "authorities": ["infra", "new"]}]
    copy.unlink()
    run(tmp_path, truststores=stores, check_mode=True)
    assert not copy.exists()
    run(tmp_path, truststores=both)
    assert copy.read_bytes() == (tmp_path / CA_PEM).read_bytes() + (tmp_path / "authorities/new.pem").read_bytes()


def test_no_copy_of_authorities_that_are_not_there_yet(tmp_path: Path) -> None:
    run(tmp_path / "pki", truststores=[{"path": "/etc/kafka/tls/ca.pem", "authorities": ["infra"]}], check_mode=True)
    assert list(tmp_path.iterdir()) == []
