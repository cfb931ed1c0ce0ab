"""One wrong certificate, or declaration of one, for each code that begins with CERTIFICATE_.

docs/errors.md shows what is said of it.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from unit.certificate_maker import Ca, new_key, pem
from unit.pki_folder import BROKER, NOW, ZOOKEEPER, provided, run

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import CertificateSpec
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.checks import check
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, line

KEY = new_key()
WANTED = CertificateSpec("dc1-kafka1", "broker", BROKER["subject"], tuple(BROKER["names"]))
STORE = "/etc/kafka/tls/ca.pem"
Said = tuple[str, bool]


def told(problems: Sequence[Problem], folder: Path = Path("/absent")) -> Said:
    """Return the only line, and whether it is a warning."""
    (problem,) = problems
    return line(problem, {}).replace(f"{folder}/", ""), problem.warning


def judged(issue: Callable[[Ca], x509.Certificate]) -> Callable[[Path], Said]:
    """Judge a certificate by the CA that its holder's peers trust."""

    def make(_: Path) -> Said:
        trusted = Ca("Infra CA")
        return told(check(WANTED, KEY, [issue(trusted)], [trusted.certificate], NOW, 30))

    return make


def declared(**changed: Any) -> Callable[[Path], Said]:
    """Converge with wrong inputs."""
    return lambda folder: told(run(folder / "pki", **changed).problems, folder)


def missing(folder: Path) -> Said:
    """A certificate that somebody else made, and that is not handed in."""
    inputs = provided(folder / "given", Ca("Infra CA"))
    nameless = [{**inputs["certificates"][0], "certificate": None}]
    return told(run(folder / "pki", **{**inputs, "certificates": nameless}).problems, folder)


def unreadable(folder: Path) -> Said:
    """A file that is no certificate."""
    inputs = provided(folder / "given", Ca("Infra CA"))
    (folder / "given/broker.crt").write_bytes(b"nothing")
    return told(run(folder / "pki", **inputs).problems, folder)


def outside(folder: Path, source: str = "own") -> Said:
    """A CA whose key is elsewhere."""
    (folder / "ca.crt").write_bytes(pem(Ca("Outside CA").certificate))
    authorities = [{"name": "infra", "certificate": str(folder / "ca.crt")}]
    paths: dict[str, Any] = {"requests_directory": str(folder / "out"), "signed_directory": str(folder / "in")}
    return told(run(folder / "pki", authorities=authorities, source=source, **paths).problems, folder)


def unmounted(folder: Path) -> Said:
    """A CA that was made before, in a folder that is not there."""
    authorities = [{"name": "infra", "subject": "CN=Infra CA,O=lab", "fingerprint": ":".join(["AB"] * 32)}]
    return told(run(folder / "unmounted", authorities=authorities).problems, folder)


def dropped(folder: Path) -> Said:
    """A CA that is dropped while two brokers still have certificates from it."""
    both = {"path": STORE, "authorities": ["infra", "new"]}
    for host in ("dc1-kafka1", "dc1-kafka2"):
        mine = {**BROKER, "subject": f"CN={host},OU=brokers,O=lab", "names": [host]}
        assert not run(folder, host=host, certificates=[mine], truststores=[both]).problems
    assert not run(folder, host="dc1-spark1", certificates=[], truststores=[both]).problems
    return told(
        run(folder, host="dc1-spark1", certificates=[], truststores=[{**both, "authorities": ["new"]}]).problems
    )


CERTIFICATES: dict[str, Callable[[Path], Said]] = {
    "CERTIFICATE_AUTHORITY": declared(certificates=[{**BROKER, "authority": "infar"}]),
    "CERTIFICATE_CHAIN": judged(lambda ca: Ca("Foreign CA").issue(KEY)),
    "CERTIFICATE_DAYS": declared(days=30),
    "CERTIFICATE_DUPLICATE": declared(certificates=[BROKER, {**ZOOKEEPER, "name": "broker"}]),
    "CERTIFICATE_EXPIRED": judged(lambda ca: ca.issue(KEY, end=datetime(2026, 5, 31, tzinfo=UTC))),
    "CERTIFICATE_EXPIRES": judged(lambda ca: ca.issue(KEY, end=datetime(2026, 7, 1, 11, tzinfo=UTC))),
    "CERTIFICATE_FINGERPRINT": unmounted,
    "CERTIFICATE_KEY": judged(lambda ca: ca.issue(new_key())),
    "CERTIFICATE_MISSING": missing,
    "CERTIFICATE_PATH": declared(certificates=[{**BROKER, "path": "tls/broker.pem"}]),
    "CERTIFICATE_NAME": declared(certificates=[{**BROKER, "name": "../broker"}]),
    "CERTIFICATE_NOT_YET": judged(lambda ca: ca.issue(KEY, begin=datetime(2026, 6, 2, tzinfo=UTC))),
    "CERTIFICATE_PASSPHRASE": declared(passphrase=None),
    "CERTIFICATE_SAN": judged(lambda ca: ca.issue(KEY, ["dc1-kafka1", "198.18.1.21", "198.18.2.22"])),
    "CERTIFICATE_SOURCE": outside,
    "CERTIFICATE_STEP": dropped,
    "CERTIFICATE_SUBJECT": judged(lambda ca: ca.issue(KEY, common="dc1-kafka2")),
    "CERTIFICATE_UNREADABLE": unreadable,
    "CERTIFICATE_UNSIGNED": lambda folder: outside(folder, source="csr"),
    "CERTIFICATE_UNTRUSTED": declared(
        certificates=[BROKER, {**ZOOKEEPER, "authority": "new"}],
        truststores=[{"path": "/t/ca.pem", "authorities": ["new"]}],
    ),
    "CERTIFICATE_USAGE": judged(lambda ca: ca.issue(KEY, uses=[ExtendedKeyUsageOID.SERVER_AUTH])),
}
