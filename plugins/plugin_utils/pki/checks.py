"""Checks certificates before they are used: key, dates, names, usage, chain; writes no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from cryptography import x509

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CERTIFICATE_KEY,
    CERTIFICATE_SUBJECT,
    EXTENDED,
    CertificateError,
    CertificateSpec,
    Holder,
    address,
    alternative_names,
    day,
    extension,
    public,
    subject_name,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import (
    CERTIFICATE_CHAIN,
    chain,
    untrusted_issuer,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

CERTIFICATE_SUBJECT_OTHER = CERTIFICATE_SUBJECT.variant(
    message="the certificate has the subject {found}",
    advice="have it issued for the declared subject, which principal rules and ACLs use, or correct the inventory",
)
CERTIFICATE_CHAIN_NO_ROOT = CERTIFICATE_CHAIN.variant(
    message="its CA is an intermediate CA, and {issuer} is not trusted: librdkafka and Python would reject it",
    advice="append the CAs up to the root to the file of the trusted CA (pki_authorities)",
)


def check(
    spec: CertificateSpec,
    key: Any,
    certificates: Sequence[x509.Certificate],
    trusted: Sequence[x509.Certificate],
    now: datetime,
    days: int,
    known: Sequence[x509.Certificate] = (),
) -> list[Problem]:
    """Return the problems of a host's private key and its `certificates`: the host's own first, then intermediates.

    `trusted` are the certificates of the CA that peers trust, `known` are certificates of other CAs. A certificate that
    is valid for fewer than `days` days gets a warning. The dates of a trusted CA are checked where the CA is declared.
    The chain of a server must end in a root CA: Java trusts every certificate in a truststore, but librdkafka and
    Python require a root.
    """
    leaf, problems = certificates[0], []
    if public(key.public_key()) != public(leaf.public_key()):
        problems.append(spec.problem(CERTIFICATE_KEY))
    if leaf.subject != subject_name(spec.subject):
        problems.append(spec.problem(CERTIFICATE_SUBJECT_OTHER, found=names.text(leaf.subject)))
    problems += check_dates(spec, leaf, now, days)
    problems += check_names(spec, leaf)
    problems += check_usage(spec, leaf)
    try:
        path = [leaf, *chain(leaf, certificates[1:], trusted, now, spec.usage)]
        for intermediate in path[1:]:
            problems += check_dates(spec, intermediate, now, days, "intermediate")
        if "server" in spec.usage and (issuer := untrusted_issuer(path[-1], [*trusted, *known])):
            problems.append(spec.problem(CERTIFICATE_CHAIN_NO_ROOT, issuer=issuer))
    except CertificateError as error:
        problems.append(spec.problem(error.kind, **error.details))
    return problems


# How to renew a certificate, by its role in a chain.
RENEWAL = {
    "leaf": "have a new certificate issued",
    "intermediate": "have a new intermediate certificate issued",
    "authority": "declare a second CA, trust both, replace the certificates, then trust the new CA only",
}
CERTIFICATE_EXPIRED = ProblemKind("CERTIFICATE_EXPIRED", "expired on {day}", RENEWAL["leaf"])
CERTIFICATE_EXPIRES = ProblemKind("CERTIFICATE_EXPIRES", "expires on {day}, in {left}", RENEWAL["leaf"], warning=True)
EXPIRED = {role: CERTIFICATE_EXPIRED.variant(advice=advice) for role, advice in RENEWAL.items()}
EXPIRES = {role: CERTIFICATE_EXPIRES.variant(advice=advice) for role, advice in RENEWAL.items()}
CERTIFICATE_NOT_YET = ProblemKind(
    "CERTIFICATE_NOT_YET",
    "not valid before {day}",
    "wait, or correct the clock of the control node or of the CA",
)


def check_dates(
    spec: CertificateSpec,
    certificate: x509.Certificate,
    now: datetime,
    days: int,
    role: str = "leaf",
) -> Iterator[Problem]:
    """Yield a problem if `certificate` is not valid at `now`, or a warning if it expires in fewer than `days` days.

    `role` is the role of `certificate` in the chain of `spec`: leaf, intermediate or authority. The value of the
    problem is the certificate's subject.
    """
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    subject, left = names.text(certificate.subject), (end - now).days
    if end <= now:
        yield spec.problem(EXPIRED[role], subject, day=day(end))
    elif begin > now:
        yield spec.problem(CERTIFICATE_NOT_YET, subject, day=day(begin))
    elif left < days:
        remaining = f"{left} day{'' if left == 1 else 's'}"
        yield spec.problem(EXPIRES[role], subject, day=day(end), left=remaining)


CERTIFICATE_SAN = ProblemKind(
    "CERTIFICATE_SAN",
    "the certificate does not contain {names}: peers that connect there reject the host",
    "have it issued with every name and address of the host",
)
CERTIFICATE_SAN_NONE = CERTIFICATE_SAN.variant(
    message="the certificate of a server, without names", advice="set names, or set usage: [client]"
)


def check_names(spec: CertificateSpec, certificate: x509.Certificate) -> Iterator[Problem]:
    """Yield a problem if declared names are missing in a certificate, or if `spec` of a server declares no names."""
    missing = missing_names(spec.names, certificate)
    if missing:
        yield spec.problem(CERTIFICATE_SAN, names=missing)
    if "server" in spec.usage and not spec.names:
        yield spec.problem(CERTIFICATE_SAN_NONE)


def missing_names(declared: Iterable[str], holder: Holder) -> list[str]:
    """Return the names in `declared` that a certificate or signing request does not contain.

    `*.example.org` in the certificate matches names with one label in place of the star.
    """
    dns, addresses = alternative_names(holder)
    missing = []
    for name in declared:
        found = address(name)
        known = found in addresses if found else name.lower() in dns or f"*.{name.lower().partition('.')[2]}" in dns
        if not known:
            missing.append(name)
    return missing


CERTIFICATE_USAGE = ProblemKind(
    "CERTIFICATE_USAGE",
    "its extended key usage does not include {missing}: peers reject it",
    "have it issued with serverAuth and clientAuth",
)
CERTIFICATE_USAGE_SIGNATURE = CERTIFICATE_USAGE.variant(
    message="its key usage does not include digitalSignature: peers reject it",
    advice="have it issued with digitalSignature",
)


def check_usage(spec: CertificateSpec, certificate: x509.Certificate) -> Iterator[Problem]:
    """Yield a problem if the key usage extensions of a certificate do not allow its declared usage.

    Each broker is a server and a client of other brokers. anyExtendedKeyUsage is not enough: Java accepts it, but
    openssl, and so librdkafka, does not. TLS 1.3 requires digitalSignature (RFC 8446, section 4.4.2.2).
    """
    allowed, signs = extension(certificate, x509.ExtendedKeyUsage), extension(certificate, x509.KeyUsage)
    missing = [f"{use}Auth" for use in spec.usage if allowed is not None and EXTENDED[use] not in allowed]
    if missing:
        yield spec.problem(CERTIFICATE_USAGE, missing=missing)
    if signs is not None and not signs.digital_signature:
        yield spec.problem(CERTIFICATE_USAGE_SIGNATURE)
