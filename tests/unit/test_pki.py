"""The class behind the action certificates: what is made, kept, renewed and refused on the control node."""

import fcntl
import hashlib
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from unit.pki_folder import BROKER, BROKER_PEM, CA_KEY, CA_PEM, NOW, ZOOKEEPER, key_bytes, leaf, run, said, snapshot


def test_first_run(tmp_path: Path) -> None:
    done = run(tmp_path, certificates=[BROKER, ZOOKEEPER])
    assert done.problems == []
    assert done.changes == ["authority infra", "certificate broker: new", "certificate zookeeper: new"]
    assert {name: mode for name, (mode, _) in snapshot(tmp_path).items()} == {
        "authorities/infra.key": "0600",
        "authorities/infra.pem": "0644",
        "certificates/dc1-kafka1/broker.pem": "0600",
        "certificates/dc1-kafka1/zookeeper.pem": "0600",
    }
    assert done.files == [
        {"path": "/etc/kafka/tls/keystore.pem", "source": str(tmp_path / BROKER_PEM), "group": "kafka", "mode": "0640"},
        {
            "path": "/etc/kafka/tls/zk.pem",
            "source": str(tmp_path / "certificates/dc1-kafka1/zookeeper.pem"),
            "group": "root",
            "mode": "0640",
        },
    ]
    assert done.directories == [{"path": "/etc/kafka/tls", "group": "kafka", "mode": "0750"}]
    assert done.held["broker"] == {
        "subject": "CN=dc1-kafka1,OU=brokers,O=lab",
        "issuer": "CN=Infra CA,O=lab",
        "serial": f"{leaf(tmp_path).serial_number:x}",
        "until": "2027-07-03",
        "path": "/etc/kafka/tls/keystore.pem",
    }


def test_second_run_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path, certificates=[BROKER, ZOOKEEPER])
    before = snapshot(tmp_path)
    again = run(tmp_path, certificates=[BROKER, ZOOKEEPER], passphrase=None)
    assert (again.changes, again.problems, snapshot(tmp_path)) == ([], [], before)


def test_check_mode_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    done = run(tmp_path / "pki", check_mode=True)
    assert done.changes == ["authority infra", "certificate broker: new"]
    assert list(tmp_path.iterdir()) == []
    assert [file["path"] for file in done.files] == ["/etc/kafka/tls/keystore.pem"]


def test_ca_key_is_encrypted(tmp_path: Path) -> None:
    run(tmp_path)
    key = (tmp_path / CA_KEY).read_bytes()
    assert key.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
    with pytest.raises(ValueError):
        load_pem_private_key(key, b"wrong")
    load_pem_private_key(key, b"correct horse")


def test_every_host_has_a_key_of_its_own(tmp_path: Path) -> None:
    """All brokers are one ZooKeeper client by name, and no two share a key."""
    for host in ("dc1-kafka1", "dc1-kafka2"):
        run(tmp_path, host=host, certificates=[ZOOKEEPER])
    one, two = (leaf(tmp_path, f"certificates/{host}/zookeeper.pem") for host in ("dc1-kafka1", "dc1-kafka2"))
    assert one.subject.rfc4514_string() == two.subject.rfc4514_string() == "CN=kafka,OU=zkclients,O=lab"
    assert one.public_key() != two.public_key()


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "names": ({"certificates": [{**BROKER, "names": ["dc1-kafka1", "198.18.1.21"]}]}, "names changed"),
    "subject": (
        {"certificates": [{**BROKER, "subject": "CN=x,OU=brokers,O=lab"}]},
        "subject was CN=dc1-kafka1,OU=brokers,O=lab",
    ),
    "usage": ({"certificates": [{**BROKER, "usage": ["server"]}]}, "usage changed"),
    "key": ({"key": "rsa-2048"}, "key is ec-p256"),
    "authority": ({"certificates": [{**BROKER, "authority": "new"}]}, "CA changed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_is_issued_anew(tmp_path: Path, name: str) -> None:
    """With a new key, after which nothing is left to do; the other certificate stays."""
    changed, why = CHANGES[name]
    run(tmp_path, certificates=[BROKER])
    before, key = snapshot(tmp_path), key_bytes(tmp_path / BROKER_PEM)
    done = run(tmp_path, **changed)
    assert (done.problems, done.changes[-1]) == ([], f"certificate broker: {why}")
    assert key_bytes(tmp_path / BROKER_PEM) != key
    assert run(tmp_path, **changed).changes == []
    assert {name: text for name, text in snapshot(tmp_path).items() if name in before and name != BROKER_PEM} == {
        name: text for name, text in before.items() if name != BROKER_PEM
    }


@pytest.mark.parametrize(("days", "renewed"), [(366, []), (368, ["certificate broker: expires on 2027-07-03"])])
def test_renewal(tmp_path: Path, days: int, renewed: list[str]) -> None:
    """397 days of life, renewed when fewer than 30 are left."""
    run(tmp_path)
    assert run(tmp_path, now=NOW + timedelta(days=days)).changes == renewed


def test_expired_certificate_is_renewed(tmp_path: Path) -> None:
    run(tmp_path)
    later = NOW + timedelta(days=500)
    assert run(tmp_path, now=later).problems == []
    assert leaf(tmp_path).not_valid_after_utc == later + timedelta(days=397)


def test_certificate_does_not_outlive_its_ca(tmp_path: Path) -> None:
    """It is not renewed on every run when both end together; the warning is about the CA."""
    authorities = [{"name": "infra", "subject": "CN=Infra CA,O=lab", "days": 20}]
    run(tmp_path, authorities=authorities)
    again = run(tmp_path, authorities=authorities)
    assert again.changes == []
    assert said(again) == [
        "warning CERTIFICATE_EXPIRES dc1-kafka1/pki_authorities[infra] = CN=Infra CA,O=lab: expires on 2026-06-21, "
        "in 20 days; declare a second CA, trust both, replace the certificates, then trust the new CA only"
    ]
    later = run(tmp_path, authorities=authorities, now=NOW + timedelta(days=21))
    assert [text.split()[0] for text in said(later)] == ["CERTIFICATE_EXPIRED", "CERTIFICATE_EXPIRED"]


def test_expired_ca_that_is_only_trusted(tmp_path: Path) -> None:
    """What is left of a CA that was replaced is no reason to stop."""
    authorities = [
        {"name": "infra", "subject": "CN=Infra CA,O=lab", "days": 20},
        {"name": "new", "subject": "CN=New CA,O=lab"},
    ]
    run(tmp_path, authorities=authorities)
    stores = [{"path": "/etc/kafka/tls/ca.pem", "authorities": ["infra", "new"]}]
    later = run(
        tmp_path,
        NOW + timedelta(days=21),
        authorities=authorities,
        certificates=[{**BROKER, "authority": "new"}],
        truststores=stores,
    )
    assert [text.split()[:2] for text in said(later)] == [["warning", "CERTIFICATE_EXPIRED"]]


def test_ca_is_never_replaced(tmp_path: Path) -> None:
    """Another subject, another kind of key, another life: what is there stays, and so does everything signed by it."""
    run(tmp_path)
    before = snapshot(tmp_path)
    run(tmp_path, authorities=[{"name": "infra", "subject": "CN=Other,O=lab", "days": 1}], authority_key="rsa-2048")
    assert snapshot(tmp_path) == before


def test_fingerprint(tmp_path: Path) -> None:
    """With it a folder that is not there, or is another one, makes no new CA and no certificate."""
    done = run(tmp_path / "pki")
    shown = done.diffs[0]["after"].split("fingerprint: ")[1].strip()
    assert shown == hashlib.sha256(leaf(tmp_path / "pki", CA_PEM).public_bytes(Encoding.DER)).hexdigest()
    written = ":".join(re.findall("..", shown.upper()))  # as openssl prints it
    inputs: dict[str, Any] = {
        "authorities": [{"name": "infra", "subject": "CN=Infra CA,O=lab", "fingerprint": written}]
    }
    again = run(tmp_path / "pki", **inputs)
    assert (again.changes, again.problems) == ([], [])
    assert said(run(tmp_path / "unmounted", **inputs), tmp_path) == [
        "CERTIFICATE_FINGERPRINT dc1-kafka1/pki_authorities[infra]: unmounted/authorities/infra.pem does not "
        "exist, but the CA is declared with a fingerprint, so the CA was created before; correct pki_directory, "
        "or restore the folder from its backup"
    ]
    assert not (tmp_path / "unmounted").exists()
    run(tmp_path / "other")
    before = snapshot(tmp_path / "other")
    other = run(tmp_path / "other", key="rsa-2048", **inputs)
    assert [text.split(" is another CA")[0] for text in said(other, tmp_path)] == [
        "CERTIFICATE_FINGERPRINT dc1-kafka1/pki_authorities[infra]: other/authorities/infra.pem"
    ]
    assert (other.changes, snapshot(tmp_path / "other")) == ([], before)


def test_interrupted_first_run(tmp_path: Path) -> None:
    """A CA key without its certificate is used, not replaced."""
    run(tmp_path)
    key = (tmp_path / CA_KEY).read_bytes()
    (tmp_path / CA_PEM).unlink()
    assert run(tmp_path).problems == []
    assert (tmp_path / CA_KEY).read_bytes() == key


def test_two_hosts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host that has to wait for the lock takes the CA that the other has made meanwhile."""
    lock = fcntl.flock

    def another_host_first(handle: IO[str], operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        assert "authority infra" in run(tmp_path, host="dc1-kafka2").changes
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", another_host_first)
    assert "authority infra" not in run(tmp_path).changes
    issuer = leaf(tmp_path, CA_PEM)
    for host in ("dc1-kafka1", "dc1-kafka2"):
        leaf(tmp_path, f"certificates/{host}/broker.pem").verify_directly_issued_by(issuer)


def test_a_file_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path)
    before = snapshot(tmp_path)

    def fail(handle: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        run(tmp_path, key="rsa-2048")
    assert snapshot(tmp_path) == before


def test_wrong_passphrase(tmp_path: Path) -> None:
    """Nothing is replaced, and in check mode, which is what preflight uses, it is known beforehand."""
    run(tmp_path)
    before = snapshot(tmp_path)
    for check_mode in (True, False):
        done = run(tmp_path, check_mode=check_mode, passphrase="wrong horse", key="rsa-2048")
        assert said(done, tmp_path) == [
            "CERTIFICATE_PASSPHRASE dc1-kafka1/pki_certificates[broker]: "
            "authorities/infra.key cannot be opened with pki_passphrase; "
            "use the passphrase with which the CA was created. If it is lost, create a new CA"
        ]
    assert snapshot(tmp_path) == before


def test_no_passphrase(tmp_path: Path) -> None:
    assert said(run(tmp_path, passphrase=None), tmp_path) == [
        "CERTIFICATE_PASSPHRASE dc1-kafka1/pki_authorities[infra]: this CA has to be created, "
        "and pki_passphrase is not set; set it in a vaulted file"
    ]


def test_ca_key_of_another_ca(tmp_path: Path) -> None:
    run(tmp_path, certificates=[BROKER, {**ZOOKEEPER, "authority": "new"}])
    (tmp_path / "authorities/new.key").rename(tmp_path / CA_KEY)
    assert said(run(tmp_path, key="rsa-2048", certificates=[BROKER])) == [
        "CERTIFICATE_KEY dc1-kafka1/pki_certificates[broker]: "
        "the key of the CA infra is not the key of its certificate; "
        "restore the matching pair"
    ]


def test_damaged_certificate_is_made_anew(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / BROKER_PEM).write_bytes(b"")
    done = run(tmp_path)
    assert (done.problems, done.changes[0].split(":")[0]) == ([], "certificate broker")


def test_nothing_secret_is_said(tmp_path: Path) -> None:
    """Neither in changes nor in diffs, problems or what the host gets."""
    done = run(tmp_path, certificates=[{**BROKER, "format": "pkcs12"}], store_password="sesame")
    text = repr((done.changes, done.diffs, done.problems, done.files, done.held, done.directories))
    assert not [word for word in ("PRIVATE", "correct horse", "sesame") if word in text]
