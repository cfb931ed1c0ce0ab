"""Makes chains of certificates with the library alone and none of the code under test."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from unit.certificate_maker import BEGIN, BOTH, END, new_key, subject

Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
PAST, LATER = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
LEAF_KEY = new_key()
LEAF = subject("dc1-kafka1", "brokers")
NAMES = x509.SubjectAlternativeName([x509.DNSName("dc1-kafka1")])
SIGNS = x509.BasicConstraints(ca=True, path_length=None)
SIGNS_NOT = x509.BasicConstraints(ca=False, path_length=None)
POLICY = x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.2.3.4"), None)])
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4.5"), b"\x05\x00")
Extension = tuple[x509.ExtensionType, bool]


def usage(*said: str) -> Extension:
    """Return a key usage of these words, critical as it is written by most."""
    words = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
    )
    return x509.KeyUsage(**{word: word in said for word in words}, encipher_only=False, decipher_only=False), True


def uses(*found: x509.ObjectIdentifier) -> Extension:
    """Return an extended key usage."""
    return x509.ExtendedKeyUsage(found), False


def constrained(
    permitted: Sequence[x509.GeneralName] = (), excluded: Sequence[x509.GeneralName] = (), critical: bool = True
) -> Extension:
    """Return name constraints."""
    return x509.NameConstraints(permitted or None, excluded or None), critical


@dataclass
class Holder:
    """A CA under construction: the same name and key can have several certificates."""

    name: x509.Name
    key: Key = field(default_factory=new_key)

    def by(
        self,
        issuer: "Holder",
        *extensions: Extension,
        begin: datetime = BEGIN,
        end: datetime = END,
        named: x509.Name | None = None,
    ) -> x509.Certificate:
        """Return this holder's certificate from an issuer, itself where it is a root."""
        start = (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(named or issuer.name)
            .public_key(self.key.public_key())
        )
        start = start.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
        for extension, critical in extensions:
            start = start.add_extension(extension, critical)
        return start.sign(issuer.key, None if isinstance(issuer.key, ed25519.Ed25519PrivateKey) else hashes.SHA256())


def ca(common: str, key: Key | None = None) -> Holder:
    return Holder(subject(common), key or new_key())


def leaf(
    issuer: Holder, *extensions: Extension, begin: datetime = BEGIN, end: datetime = END, **more: x509.Name
) -> x509.Certificate:
    """Return the broker's certificate; with both usages where none is said."""
    said = {type(extension) for extension, _ in extensions}
    usual: Iterable[Extension] = [(NAMES, False)] if x509.SubjectAlternativeName not in said else []
    usual = [*usual, *([uses(*BOTH)] if x509.ExtendedKeyUsage not in said else [])]
    return Holder(LEAF, LEAF_KEY).by(issuer, *usual, *extensions, begin=begin, end=end, **more)


@dataclass(frozen=True)
class Chain:
    """What a host is given, and which CA its peers trust."""

    given: Sequence[x509.Certificate]
    trusted: Sequence[x509.Certificate]


ROOT, OTHER, SAME_NAME = ca("Root CA"), ca("Other CA"), ca("Root CA")
MIDDLE, LOWER = ca("Middle CA"), ca("Lower CA")
PLAIN: Extension = (SIGNS, True)
TOP = ROOT.by(ROOT, PLAIN)
BETWEEN, BELOW = MIDDLE.by(ROOT, PLAIN), LOWER.by(MIDDLE, PLAIN)


def pathlen(length: int) -> Extension:
    return x509.BasicConstraints(ca=True, path_length=length), True


def through(*extensions: Extension, end: datetime = END) -> Chain:
    """A chain whose intermediate CA says this of itself."""
    return Chain([leaf(MIDDLE), MIDDLE.by(ROOT, *extensions, end=end)], [TOP])


def below(*extensions: Extension) -> Chain:
    """A chain whose root says this of itself."""
    return Chain([leaf(ROOT)], [ROOT.by(ROOT, *extensions)])


def three(top: Extension = PLAIN, middle: Extension = PLAIN, lower: Extension = PLAIN) -> Chain:
    """A chain of two intermediate CAs."""
    return Chain([leaf(LOWER), LOWER.by(MIDDLE, lower), MIDDLE.by(ROOT, middle)], [ROOT.by(ROOT, top)])


def directory(unit: str) -> x509.DirectoryName:
    return x509.DirectoryName(
        x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "lab"),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
            ]
        )
    )


def own_id(holder: Holder) -> Extension:
    return x509.SubjectKeyIdentifier.from_public_key(holder.key.public_key()), False


def id_of(issuer: Holder) -> Extension:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), False


def self_issued(top: Extension) -> Chain:
    """A new key of the root that the old one vouches for, under the same name."""
    new = Holder(ROOT.name, new_key())
    return Chain(
        [leaf(new, id_of(new)), new.by(ROOT, PLAIN, own_id(new), id_of(ROOT))], [ROOT.by(ROOT, top, own_id(ROOT))]
    )


def two_of_one_name(*identifiers: Extension) -> Chain:
    """Two trusted CAs have one name; key identifiers tell which of them signed."""
    with_ids = bool(identifiers)
    other = SAME_NAME.by(SAME_NAME, PLAIN, *([own_id(SAME_NAME)] if with_ids else []))
    return Chain([leaf(ROOT, *identifiers)], [other, ROOT.by(ROOT, PLAIN, *([own_id(ROOT)] if with_ids else []))])


def rooted(key: Key) -> Chain:
    """A chain whose root has this key."""
    root = ca("Root CA", key)
    return Chain([leaf(root)], [root.by(root, PLAIN)])


def der(tag: int, content: bytes) -> bytes:
    """Return a value of DER (X.690, section 8.1)."""
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8 or 1, "big")
    return bytes([tag]) + (size if len(content) < 128 else bytes([128 + len(size)]) + size) + content


def first_version() -> Chain:
    """A root of X.509 version 1, which the library cannot make: one of version 3 loses its mark, and is signed anew."""
    inside = ROOT.by(ROOT).tbs_certificate_bytes.partition(b"\xa0\x03\x02\x01\x02")[2]
    signed = der(0x30, inside)
    assert isinstance(ROOT.key, ec.EllipticCurvePrivateKey)
    signature = der(3, b"\0" + ROOT.key.sign(signed, ec.ECDSA(hashes.SHA256())))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")
    return Chain([leaf(ROOT)], [x509.load_der_x509_certificate(der(0x30, signed + algorithm + signature))])


def other_strings() -> Chain:
    """The leaf names its issuer with another type of string."""
    printable = x509.Name(
        [x509.NameAttribute(part.oid, part.value, x509.name._ASN1Type.PrintableString) for part in ROOT.name]
    )
    return Chain([leaf(ROOT, named=printable)], [TOP])
