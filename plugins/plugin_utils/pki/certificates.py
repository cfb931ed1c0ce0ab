"""Describes a declared certificate, and reads files of keys and certificates; writes no file."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

EXTENDED = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}
Extension = TypeVar("Extension", bound=x509.ExtensionType)
Holder = x509.Certificate | x509.CertificateSigningRequest


CERTIFICATE_MISSING = ProblemKind(
    "CERTIFICATE_MISSING", "{what} {path}: {error}", "put the file there, or correct the path"
)
CERTIFICATE_UNREADABLE = ProblemKind(
    "CERTIFICATE_UNREADABLE", "{path} contains no certificate in PEM", "export it as PEM (BEGIN CERTIFICATE)"
)
CERTIFICATE_UNREADABLE_BROKEN = CERTIFICATE_UNREADABLE.variant(
    message="{path} contains a broken certificate", advice="export it again, as PEM"
)
CERTIFICATE_KEY = ProblemKind(
    "CERTIFICATE_KEY",
    "the private key is the key of another certificate",
    "set `key` to the key that the certificate was issued for",
)
CERTIFICATE_KEY_FILE = CERTIFICATE_KEY.variant(
    message="the key {path} is no private key in PEM", advice="correct the passphrase or the path"
)
CERTIFICATE_KEY_PASSPHRASE = CERTIFICATE_KEY.variant(
    message="the key {path} cannot be opened with the passphrase", advice="correct the passphrase or the path"
)
CERTIFICATE_KEY_ENCRYPTED = CERTIFICATE_KEY.variant(
    message="the key {path} is encrypted, and no passphrase is set", advice="set the passphrase of this key"
)
CERTIFICATE_KEY_PLAIN = CERTIFICATE_KEY.variant(
    message="the key {path} is not encrypted, and a passphrase is set",
    advice="remove the passphrase, or set the path of the encrypted key",
)
CERTIFICATE_SUBJECT = ProblemKind(
    "CERTIFICATE_SUBJECT", "{subject} is not a valid subject", "write it as CN=kafka,OU=zkclients,O=lab"
)


@dataclass(frozen=True)
class CertificateSpec:
    """One certificate of one host, as the inventory declares it.

    `subject` is in the form of RFC 4514 (and Java), such as `CN=kafka,OU=zkclients,O=lab`. `names` are the DNS names
    and addresses that the certificate must contain. `usage` contains `server`, `client` or both. `place` is the
    inventory variable that declares the certificate.
    """

    host: str
    name: str
    subject: str
    names: tuple[str, ...] = ()
    usage: tuple[str, ...] = ("server", "client")
    place: str = "pki_certificates"

    def problem(self, kind: ProblemKind, value: str | None = None, **details: Any) -> Problem:
        """Return a problem of this certificate; `details` fill the texts of `kind`.

        The problem shows `value`, by default the subject of the certificate.
        """
        return kind.problem((self.host,), f"{self.place}[{self.name}]", value or self.subject, **details)


class CertificateError(Exception):
    """Raised for a file or declaration that cannot be used; `kind` and `details` describe the problem to report."""

    def __init__(self, kind: ProblemKind, **details: Any) -> None:
        """`details` fill the placeholders in the message and advice of `kind`."""
        problem = kind.problem((), "", **details)
        super().__init__(f"{problem.message}; {problem.advice}")
        self.kind, self.details, self.reason = kind, details, problem.message


def read(path: str | Path, what: str) -> bytes:
    """Return the content of a file on the control node; `what` names the file in errors, such as "the CA key".

    Raises CertificateError if the file cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CertificateError(CERTIFICATE_MISSING, what=what, path=path, error=error.strerror) from error


def certificates_in(data: bytes, where: str | Path) -> list[x509.Certificate]:
    """Return the certificates in the PEM text `data`, in the order of the text; `where` is its path for errors.

    Raises CertificateError if the text contains no certificate, or a broken certificate.
    """
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError as error:
        is_broken = b"-----BEGIN CERTIFICATE-----" in data
        kind = CERTIFICATE_UNREADABLE_BROKEN if is_broken else CERTIFICATE_UNREADABLE
        raise CertificateError(kind, path=where) from error


def key_in(data: bytes, where: str | Path, passphrase: str | None = None, ours: bool = False) -> Any:
    """Return the private key in the PEM text `data`; `where` is its path for errors.

    `ours` skips the validation of an RSA key (40 ms), for keys that were created on this control node. Raises
    CertificateError if the text is no key or the passphrase does not open it; the error never contains the passphrase.
    """
    secret = passphrase.encode() if passphrase else None
    try:
        return serialization.load_pem_private_key(data, secret, unsafe_skip_rsa_key_validation=ours)
    except TypeError as error:
        kind = CERTIFICATE_KEY_PLAIN if passphrase else CERTIFICATE_KEY_ENCRYPTED
        raise CertificateError(kind, path=where) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        kind = CERTIFICATE_KEY_PASSPHRASE if passphrase else CERTIFICATE_KEY_FILE
        raise CertificateError(kind, path=where) from error


def subject_name(subject: str | None) -> x509.Name:
    """Return a declared subject, such as CN=kafka,O=lab, as an X.509 name.

    Raises CertificateError if the text is empty or is not in this form.
    """
    try:
        name = names.name(subject or "")
    except ValueError:
        name = x509.Name([])
    if not list(name):
        raise CertificateError(CERTIFICATE_SUBJECT, subject=subject or "nothing")
    return name


def public(key: Any) -> bytes:
    """Return a public key in DER, to compare keys."""
    encoded: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded


def day(moment: datetime) -> str:
    """Return the date of a moment as YYYY-MM-DD."""
    return f"{moment:%Y-%m-%d}"


def issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Tell whether the CA certificate `issuer` issued `certificate`: its name and its signature match."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def extension(holder: Holder, kind: type[Extension]) -> Extension | None:
    """Return the extension of type `kind` of a certificate or signing request; None if there is none."""
    try:
        return holder.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def alternative_names(holder: Holder) -> tuple[set[str], set[Any]]:
    """Return (DNS names in lower case, IP addresses) from the subjectAltName of a certificate or signing request."""
    found = extension(holder, x509.SubjectAlternativeName)
    if found is None:
        return set(), set()
    dns = {name.lower() for name in found.get_values_for_type(x509.DNSName)}
    return dns, set(found.get_values_for_type(x509.IPAddress))


def address(name: str) -> Any:
    """Return a text as an IP address; None if it is no IP address, but a DNS name."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
