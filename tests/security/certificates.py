"""Certificates that a cluster has to refuse, some of them signed by its own CA."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from faults.inventory import Inventory

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Authority:
    """A CA with its key: signs whatever it is asked for."""

    def __init__(self, certificate: x509.Certificate, key: Key, folder: Path) -> None:
        """Make files in `folder`."""
        self.certificate, self.key, self.folder = certificate, key, folder
        self._made = 0

    def issue(self, subject: str, age: timedelta = timedelta(minutes=10), life: timedelta = timedelta(hours=1)) -> str:
        """Return the path of a PEM file with a new key and its client's certificate, from `age` ago for `life`."""
        key = ec.generate_private_key(ec.SECP256R1())
        start = builder(subject, self.certificate.subject, key, age, life)
        start = start.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        self._made += 1
        name = f"{self.certificate.subject.rfc4514_string().replace(' ', '')}-{self._made}.pem"
        return written(self.folder / name, key, start.sign(self.key, hashes.SHA256()))

    def expired(self, subject: str) -> str:
        """Return such a file; the certificate ended an hour ago."""
        return self.issue(subject, timedelta(hours=3), timedelta(hours=2))

    def itself(self) -> str:
        """Return the path of a PEM file with the CA's certificate."""
        path = self.folder / f"{self.certificate.subject.rfc4514_string().replace(' ', '')}.pem"
        path.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return str(path)


def builder(subject: str, issuer: x509.Name, key: Key, age: timedelta, life: timedelta) -> x509.CertificateBuilder:
    """Return what all certificates have in common."""
    begin = datetime.now(UTC) - age
    start = (
        x509.CertificateBuilder()
        .subject_name(x509.Name.from_rfc4514_string(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
    )
    return start.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(begin + life)


def written(path: Path, key: Key, *certificates: x509.Certificate) -> str:
    """Write a key and its certificates into one file."""
    encoded = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.touch(0o600)
    path.write_bytes(encoded + b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates))
    return str(path)


def of_the_lab(inventory: Inventory, folder: Path, name: str = "infra") -> Authority:
    """Return a CA of a lab, by itself that of servers, brokers and admins."""
    assert inventory.lab_directory is not None
    passphrase = (inventory.lab_directory / "secrets" / "pki_passphrase").read_text().strip().encode()
    key = load_pem_private_key((inventory.pki / "authorities" / f"{name}.key").read_bytes(), passphrase)
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    certificate = x509.load_pem_x509_certificate((inventory.pki / "authorities" / f"{name}.pem").read_bytes())
    return Authority(certificate, key, folder)


def stranger(subject: str, folder: Path) -> Authority:
    """Return a CA that nobody trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name.from_rfc4514_string(subject)
    start = builder(subject, name, key, timedelta(minutes=10), timedelta(hours=1))
    start = start.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return Authority(start.sign(key, hashes.SHA256()), key, folder)


def names_of(certificate: x509.Certificate) -> Sequence[str]:
    """Return DNS names and addresses for which a certificate was made, sorted."""
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return sorted([*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))])
