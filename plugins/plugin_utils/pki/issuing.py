"""Make keys, authorities, certificates and requests, in memory; no Ansible import, nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    EXTENDED,
    Wanted,
    address,
    alternative_names,
    day,
    public,
    subject_name,
)

# A host's clock may be behind the control node's.
SKEW = timedelta(hours=1)


@dataclass
class Authority:
    """A CA: its certificates, and the key where it is ours."""

    name: str
    certificates: list[x509.Certificate]
    key: Any = None


def new_key(kind: str) -> Any:
    """Return a private key: rsa-2048, rsa-3072, rsa-4096 or ec-p256."""
    if kind == "ec-p256":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.removeprefix("rsa-")))


def kind_of(key: Any) -> str:
    """Return what `new_key` calls a key; of others, as in a provided file, just a name that differs."""
    if isinstance(key, rsa.RSAPrivateKey):
        return f"rsa-{key.key_size}"
    return "ec-p256" if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size == 256 else type(key).__name__


def pem(key: Any, passphrase: str | None = None) -> bytes:
    """Return a key as PKCS #8, which is what Kafka and ZooKeeper read; encrypted where there is a passphrase."""
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    encoded: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return encoded


def bundle(certificates: Sequence[x509.Certificate]) -> bytes:
    """Return certificates as one PEM text, each once."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in dict.fromkeys(certificates))


def describe(certificate: x509.Certificate) -> str:
    """Return what a diff shows of a certificate."""
    dns, addresses = alternative_names(certificate)
    alternative = [*sorted(dns), *sorted(map(str, addresses))]
    return (
        f"subject: {names.text(certificate.subject)}\nissuer: {names.text(certificate.issuer)}\n"
        f"names: {', '.join(alternative)}\nuntil: {day(certificate.not_valid_after_utc)}\n"
        f"serial: {certificate.serial_number:x}\n"
    )


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate in hexadecimal, as openssl without its colons."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def extensions(wanted: Wanted, key: Any) -> Iterator[tuple[x509.ExtensionType, bool]]:
    """Yield what a request or a certificate says besides its subject, each with whether it is critical."""
    if wanted.names:
        each = dict.fromkeys(wanted.names)
        found = [x509.IPAddress(address(name)) if address(name) else x509.DNSName(name) for name in each]
        yield x509.SubjectAlternativeName(found), False
    yield x509.ExtendedKeyUsage([EXTENDED[use] for use in wanted.usage]), False
    yield usage(encipher=isinstance(key, rsa.RSAPrivateKey)), True


def usage(encipher: bool = False, authority: bool = False) -> x509.KeyUsage:
    """Return the key usage of a leaf or of a CA."""
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=encipher,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def builder(subject: x509.Name, issuer: x509.Name, key: Any, now: datetime, end: datetime) -> x509.CertificateBuilder:
    """Return what a CA's and a host's certificate have in common."""
    start = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    start = start.serial_number(x509.random_serial_number()).not_valid_before(now - SKEW).not_valid_after(end)
    return start.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def sign_authority(subject: str, key: Any, now: datetime, days: int) -> x509.Certificate:
    """Return the certificate of a CA that signs leaves alone."""
    name = subject_name(subject)
    start = builder(name, name, key, now, now + timedelta(days=days))
    start = start.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return start.add_extension(usage(authority=True), critical=True).sign(key, hashes.SHA256())


def sign(wanted: Wanted, key: Any, authority: Authority, now: datetime, days: int) -> x509.Certificate:
    """Return a host's certificate; it does not outlive its CA."""
    issuer = authority.certificates[0]
    end = min(now + timedelta(days=days), issuer.not_valid_after_utc)
    start = builder(subject_name(wanted.subject), issuer.subject, key, now, end)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    start = start.add_extension(signer, critical=False)
    start = start.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    for extension, critical in extensions(wanted, key):
        start = start.add_extension(extension, critical)
    return start.sign(authority.key, hashes.SHA256())


def request(wanted: Wanted, key: Any) -> x509.CertificateSigningRequest:
    """Return a request to an outside CA."""
    start = x509.CertificateSigningRequestBuilder().subject_name(subject_name(wanted.subject))
    for extension, critical in extensions(wanted, key):
        start = start.add_extension(extension, critical)
    return start.sign(key, hashes.SHA256())


def same_request(data: bytes, wanted: Wanted, key: Any) -> bool:
    """Tell whether a written request still asks for what is wanted."""
    try:
        found = x509.load_pem_x509_csr(data)
    except ValueError:
        return False
    asked = {extension.value for extension in found.extensions}
    subject = subject_name(wanted.subject)
    return (
        found.subject == subject
        and asked == {value for value, _ in extensions(wanted, key)}
        and public(found.public_key()) == public(key.public_key())
    )
