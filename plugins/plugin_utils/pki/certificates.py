"""What a certificate has to be, and what files of keys and certificates hold; no Ansible import, nothing is written."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

EXTENDED = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}
Extension = TypeVar("Extension", bound=x509.ExtensionType)
Holder = x509.Certificate | x509.CertificateSigningRequest


@dataclass(frozen=True)
class Wanted:
    """What one certificate of one host has to be.

    `subject` is written as RFC 4514 (and Java) do, `CN=kafka,OU=zkclients,O=lab`. `names` are DNS names and addresses,
    all of which the certificate must hold; `usage` is `server`, `client` or both; `place` is the variable that
    declares it.
    """

    host: str
    name: str
    subject: str
    names: tuple[str, ...] = ()
    usage: tuple[str, ...] = ("server", "client")
    place: str = "pki_certificates"

    def problem(self, code: str, wrong: str, advice: str, warning: bool = False, value: str | None = None) -> Problem:
        """Return a mistake of this certificate."""
        where = f"{self.place}[{self.name}]"
        return Problem((self.host,), where, f"CERTIFICATE_{code}", value or self.subject, wrong, advice, warning)


class CertificateError(Exception):
    """A file that cannot be used; `code` is the end of the Problem's code."""

    def __init__(self, code: str, wrong: str, advice: str) -> None:
        """Take the three parts of a Problem."""
        super().__init__(f"{wrong}; {advice}")
        self.code, self.wrong, self.advice = code, wrong, advice


def read(path: str | Path, what: str) -> bytes:
    """Return a file of the control node. Raises CertificateError where there is none."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        wrong = f"{what} {path}: {error.strerror}"
        raise CertificateError("MISSING", wrong, "put the file there, or correct the path") from error


def certificates_in(data: bytes, where: str | Path) -> list[x509.Certificate]:
    """Return the certificates of a PEM text, in its order.

    Raises CertificateError where there is none or one is broken.
    """
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError as error:
        if b"-----BEGIN CERTIFICATE-----" in data:
            wrong, advice = f"{where} holds a certificate that is broken", "export it anew, as PEM"
        else:
            wrong, advice = f"{where} holds no certificate in PEM", "export it as PEM (BEGIN CERTIFICATE)"
        raise CertificateError("UNREADABLE", wrong, advice) from error


def key_in(data: bytes, where: str | Path, passphrase: str | None = None, ours: bool = False) -> Any:
    """Return the private key of a PEM text. Raises CertificateError; its words never hold the passphrase.

    With `ours` an RSA key that was made here is not proven again to be one, which takes 40 ms.
    """
    secret = passphrase.encode() if passphrase else None
    try:
        return serialization.load_pem_private_key(data, secret, unsafe_skip_rsa_key_validation=ours)
    except TypeError as error:
        closed, opened = "is encrypted, and no passphrase is given", "is not encrypted, and a passphrase is given"
        wrong = opened if passphrase else closed
        raise CertificateError("KEY", f"the key {where} {wrong}", "set the passphrase that belongs to it") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        wrong = "cannot be opened with the passphrase" if passphrase else "is no private key in PEM"
        raise CertificateError("KEY", f"the key {where} {wrong}", "correct the passphrase or the path") from error


def subject_name(subject: str | None) -> x509.Name:
    """Return the name that a declared subject means. Raises CertificateError where it is none."""
    try:
        name = names.name(subject or "")
    except ValueError:
        name = x509.Name([])
    if not list(name):
        wrong = f"{subject or 'nothing'} is no subject"
        raise CertificateError("SUBJECT", wrong, "write it as CN=kafka,OU=zkclients,O=lab")
    return name


def public(key: Any) -> bytes:
    """Return a public key as bytes, to compare."""
    encoded: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded


def day(moment: datetime) -> str:
    """Return a date as people and openssl compare it."""
    return f"{moment:%Y-%m-%d}"


def issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Tell whether name and signature say so."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def extension(holder: Holder, kind: type[Extension]) -> Extension | None:
    """Return an extension of a certificate or request, None where it has none of this kind."""
    try:
        return holder.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def alternative_names(holder: Holder) -> tuple[set[str], set[Any]]:
    """Return the DNS names, in small letters, and the addresses of a certificate or request."""
    found = extension(holder, x509.SubjectAlternativeName)
    if found is None:
        return set(), set()
    dns = {name.lower() for name in found.get_values_for_type(x509.DNSName)}
    return dns, set(found.get_values_for_type(x509.IPAddress))


def address(name: str) -> Any:
    """Return an address, None for a DNS name."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
