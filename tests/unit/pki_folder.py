"""The folder of certificates of one host, made and read as the tests of test_pki*.py want it."""

import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from cryptography import x509
from unit.certificate_maker import Ca, key_pem, new_key, pem

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
BROKER: dict[str, Any] = {
    "name": "broker",
    "subject": "CN=dc1-kafka1,OU=brokers,O=lab",
    "authority": "infra",
    "path": "/etc/kafka/tls/keystore.pem",
    "group": "kafka",
    "names": ["dc1-kafka1", "198.18.1.21", "198.18.2.21"],
}
ZOOKEEPER: dict[str, Any] = {
    "name": "zookeeper",
    "subject": "CN=kafka,OU=zkclients,O=lab",
    "authority": "infra",
    "usage": ["client"],
    "path": "/etc/kafka/tls/zk.pem",
}
BROKER_PEM, CA_PEM, CA_KEY = "certificates/dc1-kafka1/broker.pem", "authorities/infra.pem", "authorities/infra.key"


def settings(folder: Path, **changed: Any) -> dict[str, Any]:
    """Return the role's inputs of one broker, defaults and all."""
    inputs = {
        "directory": str(folder),
        "passphrase": "correct horse",
        "certificates": [BROKER],
        "key": "ec-p256",
        "authority_key": "ec-p256",
        "authorities": [
            {"name": "infra", "subject": "CN=Infra CA,O=lab"},
            {"name": "new", "subject": "CN=New CA,O=lab"},
        ],
        **changed,
    }
    spec = {name.removeprefix("pki_"): option for name, option in argument_spec("pki").items() if name != "pki_users"}
    result = ArgumentSpecValidator(spec).validate(inputs)
    assert not result.error_messages
    found: dict[str, Any] = result.validated_parameters
    return found


def run(folder: Path, now: datetime = NOW, check_mode: bool = False, host: str = "dc1-kafka1", **changed: Any) -> Pki:
    """Converge once."""
    done = Pki(host, settings(folder, **changed), check_mode, now)
    done.converge()
    return done


def said(done: Pki, folder: Path = Path("/absent")) -> list[str]:
    """Return the lines that are printed, warnings marked."""
    return [
        ("warning " if problem.warning else "") + line(problem, {}).replace(f"{folder}/", "")
        for problem in done.problems
    ]


def snapshot(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Return mode and content of every file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {
        str(path.relative_to(folder)): (f"{stat.S_IMODE(path.stat().st_mode):04o}", path.read_bytes()) for path in files
    }


def leaf(folder: Path, name: str = BROKER_PEM) -> x509.Certificate:
    """Return the first certificate of a file."""
    return x509.load_pem_x509_certificates((folder / name).read_bytes())[0]


def key_bytes(path: Path) -> bytes:
    """Return the part of a file that is a key."""
    return path.read_bytes().split(b"-----BEGIN CERTIFICATE-----")[0]


def provided(folder: Path, ca: Ca, **certificate: Any) -> dict[str, Any]:
    """Return inputs of a host with a certificate that somebody else made."""
    key = new_key()
    folder.mkdir(exist_ok=True)
    (folder / "broker.crt").write_bytes(pem(ca.issue(key, **certificate)))
    (folder / "broker.key").write_bytes(key_pem(key, b"sesame"))
    (folder / "ca.crt").write_bytes(pem(ca.certificate))
    files = {"certificate": str(folder / "broker.crt"), "key": str(folder / "broker.key"), "key_passphrase": "sesame"}
    return {
        "certificates": [{**BROKER, **files}],
        "authorities": [{"name": "infra", "certificate": str(folder / "ca.crt")}],
        "source": "provided",
        "passphrase": None,
    }
