"""Find the way from a certificate to a CA that its peers trust; no Ansible import, nothing is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from cryptography import x509
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    EXTENDED,
    CertificateError,
    issued_by,
)

Certificates = Sequence[x509.Certificate]
# What openssl takes where it is critical, and the library only where it is told to (man openssl-verification-options).
KNOWN = (x509.CertificatePolicies, x509.PolicyConstraints, x509.InhibitAnyPolicy, x509.CRLDistributionPoints)


def anchor(way: Certificates) -> str:
    """Return the subject of the CA that peers have to trust for a file's certificate and intermediates."""
    return names.text(way[-1].issuer)


def chain(
    leaf: x509.Certificate,
    others: Certificates,
    trusted: Certificates,
    now: datetime,
    usage: Sequence[str],
) -> list[x509.Certificate]:
    """Return the intermediates between a certificate and a trusted one, in order.

    `usage`, `server`, `client` or both, is what peers take the certificate for. Dates have codes of their own
    (checks.check_dates): a chain that does not hold now is judged as of a moment when all of it did, and where there
    was none its dates are all that is said. Raises CertificateError where the way breaks off, or peers would refuse it.
    """
    with suppress(VerificationError):
        return verified(leaf, others, trusted, now, usage)
    way = walk(leaf, others, trusted)
    begin = max(certificate.not_valid_before_utc for certificate in way)
    end = min(certificate.not_valid_after_utc for certificate in way)
    if begin > end:
        return way[1:-1]
    try:
        return verified(leaf, others, trusted, min(max(now, begin), end), usage)
    except VerificationError as error:
        advice = "have it issued by a CA that may; `openssl verify -purpose` names the certificate"
        raise CertificateError("CHAIN", f"peers would refuse its chain: {reason(error)}", advice) from error


def verified(
    leaf: x509.Certificate,
    others: Certificates,
    trusted: Certificates,
    moment: datetime,
    usage: Sequence[str],
) -> list[x509.Certificate]:
    """Return the intermediates as the library finds them (RFC 5280, section 6). Raises VerificationError.

    Its verifier of clients compares no name, and so does for servers too: every missing name is said by check_names,
    and what a certificate's own usage lacks by check_usage, in words of ours.
    """
    if not trusted:
        raise VerificationError("nobody is trusted")
    of_leaf = ExtensionPolicy.permit_all()
    of_authorities = ExtensionPolicy.permit_all().require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
    for kind in KNOWN:
        of_leaf = of_leaf.may_be_present(kind, Criticality.AGNOSTIC, None)
        of_authorities = of_authorities.may_be_present(kind, Criticality.AGNOSTIC, None)

    def may_issue(_: Policy, __: x509.Certificate, found: x509.ExtendedKeyUsage | None) -> None:
        lacking = [f"{use}Auth" for use in usage if found is not None and EXTENDED[use] not in found]
        if lacking:
            raise ValueError(f"the extended key usage of a CA lacks {' and '.join(lacking)}")

    of_authorities = of_authorities.may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, may_sign)
    of_authorities = of_authorities.may_be_present(x509.NameConstraints, Criticality.AGNOSTIC, may_name)
    of_authorities = of_authorities.may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, may_issue)
    policy = PolicyBuilder().store(Store([*trusted])).time(moment)
    policy = policy.extension_policies(ca_policy=of_authorities, ee_policy=of_leaf)
    return policy.build_client_verifier().verify(leaf, [*others]).chain[1:-1]


def may_sign(_: Policy, __: x509.Certificate, found: x509.KeyUsage | None) -> None:
    """Refuse a CA whose key usage forbids it to sign certificates (RFC 5280, 4.2.1.3). Raises ValueError."""
    if found is not None and not found.key_cert_sign:
        raise ValueError("the key usage of a CA lacks keyCertSign")


def may_name(_: Policy, __: x509.Certificate, found: x509.NameConstraints | None) -> None:
    """Refuse constraints that the library would pass over where they are not critical. Raises ValueError."""
    bases = [] if found is None else [*(found.permitted_subtrees or ()), *(found.excluded_subtrees or ())]
    if any(isinstance(base, x509.DirectoryName) for base in bases):
        raise ValueError("a CA has name constraints on subjects, which cannot be judged here")


def walk(leaf: x509.Certificate, others: Certificates, trusted: Certificates) -> list[x509.Certificate]:
    """Return certificate, intermediates and trusted CA by name and signature alone. Raises CertificateError.

    It judges nothing: the library does not say at which certificate a way breaks off, and people want to be told.
    """
    way = [leaf]
    while True:
        top = next((authority for authority in trusted if issued_by(way[-1], authority)), None)
        if top is not None:
            return [*way, top]
        found = next((other for other in others if other not in way and issued_by(way[-1], other)), None)
        if found is None:
            break
        way.append(found)
    issuer = anchor(way)
    if any(authority.subject == way[-1].issuer for authority in trusted):
        advice = "take a certificate of the CA that the peers trust"
        raise CertificateError("CHAIN", f"signed by another CA that is named {issuer} too", advice)
    known = ", ".join(dict.fromkeys(names.text(authority.subject) for authority in trusted)) or "none"
    advice = "append the intermediate certificates to the file, or trust that CA"
    wrong = f"issued by {issuer}, which is not in the file and is no trusted CA ({known})"
    raise CertificateError("CHAIN", wrong, advice)


def lacking_root(last: x509.Certificate, trusted: Certificates) -> str:
    """Return the issuer that nobody trusts above the CAs that issued `last`, '' where one of these leads to a root."""
    reached = [last]
    for one in reached:
        above = [authority for authority in trusted if issued_by(one, authority)]
        if any(authority.issuer == authority.subject for authority in above):
            return ""
        reached += [authority for authority in above if authority not in reached]
    return names.text(reached[-1].issuer)


def reason(error: VerificationError) -> str:
    """Return the library's reason without what it says of its own inside."""
    before = r"^(validation failed: |candidates exhausted: |Python extension validator failed: \w+: )+"
    return re.sub(rf"{before}|: AlgorithmIdentifier .*| \(encountered processing .*", "", str(error))
