"""Judge certificates before they are put in use: key, dates, names, chain, usage; no Ansible import, nothing is written."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from .problems import Problem

EXTENDED = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}


@dataclass(frozen=True)
class Wanted:
    """What one certificate of one host has to be.

    `subject` is written as RFC 4514 (and Java) do, `CN=kafka,OU=zkclients,O=lab`. `names` are DNS names and addresses, all of which the
    certificate must hold; `usage` is `server`, `client` or both; `place` is the variable that declares it.
    """

    host: str
    name: str
    subject: str
    names: tuple[str, ...] = ()
    usage: tuple[str, ...] = ("server", "client")
    place: str = "pki_certificates"

    def problem(self, code: str, wrong: str, advice: str, warning: bool = False, value: str | None = None) -> Problem:
        """Return a mistake of this certificate."""
        return Problem((self.host,), f"{self.place}[{self.name}]", f"CERTIFICATE_{code}", value or self.subject, wrong, advice, warning)


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
        raise CertificateError("MISSING", f"{what} {path}: {error.strerror}", "put the file there, or correct the path") from error


def certificates_in(data: bytes, where: str | Path) -> list[x509.Certificate]:
    """Return the certificates of a PEM text, in its order. Raises CertificateError where there is none or one is broken."""
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError as error:
        if b"-----BEGIN CERTIFICATE-----" in data:
            raise CertificateError("UNREADABLE", f"{where} holds a certificate that is broken", "export it anew, as PEM") from error
        raise CertificateError("UNREADABLE", f"{where} holds no certificate in PEM", "export it as PEM (BEGIN CERTIFICATE)") from error


def key_in(data: bytes, where: str | Path, passphrase: str | None = None, ours: bool = False) -> Any:
    """Return the private key of a PEM text. Raises CertificateError; its words never hold the passphrase.

    With `ours` an RSA key that was made here is not proven again to be one, which takes 40 ms.
    """
    try:
        return serialization.load_pem_private_key(data, passphrase.encode() if passphrase else None, unsafe_skip_rsa_key_validation=ours)
    except TypeError as error:
        wrong = "is encrypted, and no passphrase is given" if not passphrase else "is not encrypted, and a passphrase is given"
        raise CertificateError("KEY", f"the key {where} {wrong}", "set the passphrase that belongs to it") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        wrong = "cannot be opened with the passphrase" if passphrase else "is no private key in PEM"
        raise CertificateError("KEY", f"the key {where} {wrong}", "correct the passphrase or the path") from error


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


def is_authority(certificate: x509.Certificate) -> bool:
    """Tell whether a certificate may sign others."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def anchor(way: Sequence[x509.Certificate]) -> str:
    """Return the subject of the CA that peers have to trust for a certificate and its intermediates, as they stand in a file."""
    return way[-1].issuer.rfc4514_string()


def chain(leaf: x509.Certificate, others: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """Return the intermediates between a certificate and a trusted one, in order. Raises CertificateError where the way breaks off.

    This is the walk of a TLS peer by name, signature and CA flag; dates are judged apart. The library's own verifier (x509.verification)
    holds certificates to the rules of public web sites, and refuses private ones that Java and OpenSSL take.
    """
    way: list[x509.Certificate] = []
    current = leaf
    while not any(issued_by(current, authority) for authority in trusted):
        found = next((other for other in others if other not in (leaf, *way) and is_authority(other) and issued_by(current, other)), None)
        if found is None:
            issuer = current.issuer.rfc4514_string()
            if any(authority.subject == current.issuer for authority in trusted):
                advice = "take a certificate of the CA that the peers trust"
                raise CertificateError("CHAIN", f"signed by another CA that is named {issuer} too", advice)
            names = ", ".join(dict.fromkeys(authority.subject.rfc4514_string() for authority in trusted)) or "none"
            advice = "append the intermediate certificates to the file, or trust that CA"
            raise CertificateError("CHAIN", f"issued by {issuer}, which is not in the file and is no trusted CA ({names})", advice)
        way.append(found)
        current = found
    return way


def alternative_names(holder: x509.Certificate | x509.CertificateSigningRequest) -> tuple[set[str], set[Any]]:
    """Return the DNS names and the addresses of a certificate or request."""
    try:
        names = holder.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set(), set()
    return {name.lower() for name in names.get_values_for_type(x509.DNSName)}, set(names.get_values_for_type(x509.IPAddress))


def address(name: str) -> Any:
    """Return an address, None for a DNS name."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def missing_names(wanted: Iterable[str], holder: x509.Certificate | x509.CertificateSigningRequest) -> list[str]:
    """Return the names that a certificate lacks; `*.example.org` holds what has one label in its place."""
    dns, addresses = alternative_names(holder)
    missing = []
    for name in wanted:
        found = address(name)
        known = found in addresses if found else name.lower() in dns or f"*.{name.lower().partition('.')[2]}" in dns
        if not known:
            missing.append(name)
    return missing


def check_dates(wanted: Wanted, certificate: x509.Certificate, now: datetime, days: int, renewal: str) -> Iterator[Problem]:
    """Yield a mistake where a certificate does not hold now, and a warning where it ends in fewer than `days` days."""
    begin, end, subject = certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.subject.rfc4514_string()
    if end <= now:
        yield wanted.problem("EXPIRED", f"ended on {day(end)}", renewal, value=subject)
    elif begin > now:
        yield wanted.problem("NOT_YET", f"begins only on {day(begin)}", "wait, or correct the clock of the control node or the CA", value=subject)
    elif (end - now).days < days:
        left = (end - now).days
        yield wanted.problem("EXPIRES", f"ends on {day(end)}, in {left} day{'' if left == 1 else 's'}", renewal, warning=True, value=subject)


def check_usage(wanted: Wanted, certificate: x509.Certificate) -> Iterator[Problem]:
    """Yield a mistake where the certificate's own words forbid what it is for: brokers are servers and clients of one another."""
    try:
        allowed = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    lacking = [use for use in wanted.usage if EXTENDED[use] not in allowed and ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE not in allowed]
    if lacking:
        needed = " and ".join(f"{use}Auth" for use in lacking)
        yield wanted.problem("USAGE", f"its extended key usage lacks {needed}, so peers refuse it", "have it issued with serverAuth and clientAuth")


def check(
    wanted: Wanted, key: Any, certificates: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate], now: datetime, days: int
) -> list[Problem]:
    """Return everything that is wrong with a key, its certificate and the intermediates after it.

    `trusted` are the CA certificates that the peers have; `days` the limit of the warning CERTIFICATE_EXPIRES.
    """
    leaf, problems = certificates[0], []
    subject = leaf.subject.rfc4514_string()
    if public(key.public_key()) != public(leaf.public_key()):
        problems.append(wanted.problem("KEY", "the private key is that of another certificate", "name the key that the certificate was made for"))
    if subject != x509.Name.from_rfc4514_string(wanted.subject).rfc4514_string():
        advice = "have it issued for this subject, which principal rules and ACLs name, or correct the inventory"
        problems.append(wanted.problem("SUBJECT", f"the certificate is of {subject}", advice))
    problems += check_dates(wanted, leaf, now, days, "have a new one issued")
    missing = missing_names(wanted.names, leaf)
    if missing:
        wrong = f"lacks {', '.join(missing)}, so peers refuse the host there"
        problems.append(wanted.problem("SAN", wrong, "have it issued with every name and address of the host"))
    if "server" in wanted.usage and not wanted.names:
        problems.append(wanted.problem("SAN", "a server's certificate and no name is declared", "declare names, or usage: [client]"))
    problems += check_usage(wanted, leaf)
    try:
        for between in chain(leaf, certificates[1:], trusted):
            problems += check_dates(wanted, between, now, days, "have the intermediate certificate issued anew")
    except CertificateError as error:
        problems.append(wanted.problem(error.code, error.wrong, error.advice))
    return problems
