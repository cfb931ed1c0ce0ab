"""Creates keys, CAs, certificates and signing requests in memory; writes no file."""

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
    CertificateSpec,
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
    """A CA: its certificates, and its private key if the CA was created on this control node (else None)."""

    name: str
    certificates: list[x509.Certificate]
    key: Any = None


def new_key(kind: str) -> Any:
    """Return a new private key; `kind` is rsa-2048, rsa-3072, rsa-4096 or ec-p256."""
    if kind == "ec-p256":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.removeprefix("rsa-")))


def kind_of(key: Any) -> str:
    """Return the kind of a private key as `new_key` names it, such as rsa-3072; else the name of the key's class."""
    if isinstance(key, rsa.RSAPrivateKey):
        return f"rsa-{key.key_size}"
    return "ec-p256" if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size == 256 else type(key).__name__


def pem(key: Any, passphrase: str | None = None) -> bytes:
    """Return a private key as PKCS #8 in PEM, which Kafka and ZooKeeper read; encrypted if a passphrase is given."""
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    encoded: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return encoded


def bundle(certificates: Sequence[x509.Certificate]) -> bytes:
    """Return certificates as one PEM text, each certificate once."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in dict.fromkeys(certificates))


def describe(certificate: x509.Certificate) -> str:
    """Return a certificate as lines of text for a diff: subject, issuer, names, end date, serial number."""
    dns, addresses = alternative_names(certificate)
    alternative = [*sorted(dns), *sorted(map(str, addresses))]
    return (
        f"subject: {names.text(certificate.subject)}\nissuer: {names.text(certificate.issuer)}\n"
        f"names: {', '.join(alternative)}\nuntil: {day(certificate.not_valid_after_utc)}\n"
        f"serial: {certificate.serial_number:x}\n"
    )


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 fingerprint of a certificate in hexadecimal, without colons."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def extensions(spec: CertificateSpec, key: Any) -> Iterator[tuple[x509.ExtensionType, bool]]:
    """Yield (extension, whether it is critical) for the certificate or signing request that `spec` declares.

    `key` is the host's private key.
    """
    if spec.names:
        unique = dict.fromkeys(spec.names)
        alternatives = [x509.IPAddress(address(name)) if address(name) else x509.DNSName(name) for name in unique]
        yield x509.SubjectAlternativeName(alternatives), False
    yield x509.ExtendedKeyUsage([EXTENDED[use] for use in spec.usage]), False
    yield usage(encipher=isinstance(key, rsa.RSAPrivateKey)), True


def usage(encipher: bool = False, authority: bool = False) -> x509.KeyUsage:
    """Return the key usage extension for the certificate of a CA if `authority` is true, else of a host.

    `encipher` also allows key encipherment, for RSA keys.
    """
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
    """Return a certificate builder with the fields that certificates of CAs and of hosts have in common.

    `key` is the private key of `subject`. The certificate is valid from one hour before `now`, since the clock of a
    host may be behind, until `end`.
    """
    start = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    start = start.serial_number(x509.random_serial_number()).not_valid_before(now - SKEW).not_valid_after(end)
    return start.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def sign_authority(subject: str, key: Any, now: datetime, days: int) -> x509.Certificate:
    """Return the self-signed certificate of a CA that may sign certificates of hosts, but no other CAs.

    `key` is the CA's private key. The certificate is valid for `days` days.
    """
    name = subject_name(subject)
    start = builder(name, name, key, now, now + timedelta(days=days))
    start = start.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return start.add_extension(usage(authority=True), critical=True).sign(key, hashes.SHA256())


def sign(spec: CertificateSpec, key: Any, authority: Authority, now: datetime, days: int) -> x509.Certificate:
    """Return the certificate that `spec` declares, signed by the CA `authority`.

    `key` is the host's private key. The certificate is valid for `days` days, but no longer than the CA.
    """
    issuer = authority.certificates[0]
    end = min(now + timedelta(days=days), issuer.not_valid_after_utc)
    start = builder(subject_name(spec.subject), issuer.subject, key, now, end)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    start = start.add_extension(signer, critical=False)
    start = start.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    for extension, critical in extensions(spec, key):
        start = start.add_extension(extension, critical)
    return start.sign(authority.key, hashes.SHA256())


def request(spec: CertificateSpec, key: Any) -> x509.CertificateSigningRequest:
    """Return a certificate signing request for an outside CA, by the declaration `spec`.

    `key` is the host's private key, which signs the request.
    """
    start = x509.CertificateSigningRequestBuilder().subject_name(subject_name(spec.subject))
    for extension, critical in extensions(spec, key):
        start = start.add_extension(extension, critical)
    return start.sign(key, hashes.SHA256())


def same_request(data: bytes, spec: CertificateSpec, key: Any) -> bool:
    """Tell whether the signing request in the PEM text `data` still matches the declaration `spec` and `key`."""
    try:
        written = x509.load_pem_x509_csr(data)
    except ValueError:
        return False
    return (
        written.subject == subject_name(spec.subject)
        and {extension.value for extension in written.extensions} == {value for value, _ in extensions(spec, key)}
        and public(written.public_key()) == public(key.public_key())
    )
