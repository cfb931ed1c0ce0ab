"""Judge certificates before they are put in use: key, dates, names, usage, chain; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from cryptography import x509

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    EXTENDED,
    CertificateError,
    Holder,
    Wanted,
    address,
    alternative_names,
    day,
    extension,
    public,
    subject_name,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import chain, lacking_root
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


def check(
    wanted: Wanted,
    key: Any,
    certificates: Sequence[x509.Certificate],
    trusted: Sequence[x509.Certificate],
    now: datetime,
    days: int,
    known: Sequence[x509.Certificate] = (),
) -> list[Problem]:
    """Return everything that is wrong with a key, its certificate and the intermediates after it.

    `trusted` are the CA certificates that the peers have, `known` those of other CAs; `days` is the limit of the
    warning CERTIFICATE_EXPIRES. The dates of a trusted CA are not judged here, but once, where it is declared. Java
    trusts whatever is in a truststore; what asks servers besides, and the jobs, trust no more than roots do.
    """
    leaf, problems = certificates[0], []
    if public(key.public_key()) != public(leaf.public_key()):
        advice = "name the key that the certificate was made for"
        problems.append(wanted.problem("KEY", "the private key is that of another certificate", advice))
    if leaf.subject != subject_name(wanted.subject):
        advice = "have it issued for this subject, which principal rules and ACLs name, or correct the inventory"
        problems.append(wanted.problem("SUBJECT", f"the certificate is of {names.text(leaf.subject)}", advice))
    problems += check_dates(wanted, leaf, now, days, "have a new one issued")
    problems += check_names(wanted, leaf)
    problems += check_usage(wanted, leaf)
    try:
        way = [leaf, *chain(leaf, certificates[1:], trusted, now, wanted.usage)]
        for between in way[1:]:
            problems += check_dates(wanted, between, now, days, "have the intermediate certificate issued anew")
        if "server" in wanted.usage and (issuer := lacking_root(way[-1], [*trusted, *known])):
            wrong = f"its CA is an intermediate one, and nobody trusts {issuer}: librdkafka and Python would refuse it"
            advice = "append the CAs up to the root to the file of the one that is trusted (pki_authorities)"
            problems.append(wanted.problem("CHAIN", wrong, advice))
    except CertificateError as error:
        problems.append(wanted.problem(error.code, error.wrong, error.advice))
    return problems


def check_dates(
    wanted: Wanted,
    certificate: x509.Certificate,
    now: datetime,
    days: int,
    renewal: str,
) -> Iterator[Problem]:
    """Yield a mistake where a certificate does not hold now, and a warning where it ends in fewer than `days` days."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    subject, left = names.text(certificate.subject), (end - now).days
    if end <= now:
        yield wanted.problem("EXPIRED", f"ended on {day(end)}", renewal, value=subject)
    elif begin > now:
        advice = "wait, or correct the clock of the control node or the CA"
        yield wanted.problem("NOT_YET", f"begins only on {day(begin)}", advice, value=subject)
    elif left < days:
        wrong = f"ends on {day(end)}, in {left} day{'' if left == 1 else 's'}"
        yield wanted.problem("EXPIRES", wrong, renewal, warning=True, value=subject)


def check_names(wanted: Wanted, certificate: x509.Certificate) -> Iterator[Problem]:
    """Yield a mistake where a certificate lacks names, or none is declared for a server."""
    missing = missing_names(wanted.names, certificate)
    if missing:
        wrong = f"lacks {', '.join(missing)}, so peers refuse the host there"
        yield wanted.problem("SAN", wrong, "have it issued with every name and address of the host")
    if "server" in wanted.usage and not wanted.names:
        advice = "declare names, or usage: [client]"
        yield wanted.problem("SAN", "a server's certificate and no name is declared", advice)


def missing_names(wanted: Iterable[str], holder: Holder) -> list[str]:
    """Return the names that a certificate lacks; `*.example.org` holds what has one label in its place."""
    dns, addresses = alternative_names(holder)
    missing = []
    for name in wanted:
        found = address(name)
        known = found in addresses if found else name.lower() in dns or f"*.{name.lower().partition('.')[2]}" in dns
        if not known:
            missing.append(name)
    return missing


def check_usage(wanted: Wanted, certificate: x509.Certificate) -> Iterator[Problem]:
    """Yield a mistake where the certificate's own words forbid what it is for.

    Brokers are servers and clients of one another. Java takes anyExtendedKeyUsage for all; openssl, and so librdkafka,
    does not. Without digitalSignature there is no TLS 1.3 (RFC 8446, section 4.4.2.2).
    """
    allowed, signs = extension(certificate, x509.ExtendedKeyUsage), extension(certificate, x509.KeyUsage)
    lacking = [f"{use}Auth" for use in wanted.usage if allowed is not None and EXTENDED[use] not in allowed]
    if lacking:
        wrong = f"its extended key usage lacks {' and '.join(lacking)}, so peers refuse it"
        yield wanted.problem("USAGE", wrong, "have it issued with serverAuth and clientAuth")
    if signs is not None and not signs.digital_signature:
        wrong = "its key usage lacks digitalSignature, so peers refuse it"
        yield wanted.problem("USAGE", wrong, "have it issued with digitalSignature")
