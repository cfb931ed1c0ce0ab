"""Makes right and wrong certificates for tests, with the library alone and none of the code under test."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BEGIN, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
BOTH = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey, passphrase: bytes = b"") -> bytes:
    encryption = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, encryption)


def pem(*certificates: x509.Certificate) -> bytes:
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates)


def subject(common: str, unit: str = "") -> x509.Name:
    parts = [
        (NameOID.ORGANIZATION_NAME, "lab"),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
        (NameOID.COMMON_NAME, common),
    ]
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in parts if value])


def builder(
    of: x509.Name, issuer: x509.Name, key: PublicKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    start = x509.CertificateBuilder().subject_name(of).issuer_name(issuer).public_key(key)
    return start.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)


@dataclass
class Ca:
    """A CA; with `parent` an intermediate one."""

    common: str
    parent: "Ca | None" = None
    end: datetime = END
    unit: str = ""
    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)

    def __post_init__(self) -> None:
        above = self.parent or self
        start = builder(self.name, above.name, self.key.public_key(), BEGIN, self.end)
        start = start.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = start.sign(above.key, hashes.SHA256())

    @property
    def name(self) -> x509.Name:
        return subject(self.common, self.unit)

    def issue(
        self,
        key: ec.EllipticCurvePrivateKey,
        names: Sequence[str] = ("dc1-kafka1", "198.18.1.21", "198.18.2.21"),
        *,
        common: str = "dc1-kafka1",
        begin: datetime = BEGIN,
        end: datetime = END,
        uses: Sequence[x509.ObjectIdentifier] = BOTH,
    ) -> x509.Certificate:
        """Return a host's certificate."""
        start = builder(subject(common, "brokers"), self.name, key.public_key(), begin, end)
        if names:
            found = [
                x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
                for name in names
            ]
            start = start.add_extension(x509.SubjectAlternativeName(found), critical=False)
        if uses:
            start = start.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        return start.sign(self.key, hashes.SHA256())

    def sign_request(self, data: bytes, end: datetime = END) -> x509.Certificate:
        """Return what this CA makes of a request."""
        asked = x509.load_pem_x509_csr(data)
        assert asked.is_signature_valid
        public = asked.public_key()
        assert isinstance(public, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey))
        start = builder(asked.subject, self.name, public, BEGIN, end)
        for extension in asked.extensions:
            start = start.add_extension(extension.value, extension.critical)
        return start.sign(self.key, hashes.SHA256())
