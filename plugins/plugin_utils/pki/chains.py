"""Finds the chain from a certificate to a CA that its peers trust; writes no file."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import ProblemKind

Certificates = Sequence[x509.Certificate]
# Extensions that openssl accepts where they are critical, and the library only if its policy allows them (man
# openssl-verification-options).
KNOWN = (x509.CertificatePolicies, x509.PolicyConstraints, x509.InhibitAnyPolicy, x509.CRLDistributionPoints)

CERTIFICATE_CHAIN = ProblemKind(
    "CERTIFICATE_CHAIN",
    "peers would reject its chain: {reason}",
    "have it issued by a CA that is allowed to (`openssl verify -purpose` names the certificate)",
)
CERTIFICATE_CHAIN_SAME_NAME = CERTIFICATE_CHAIN.variant(
    message="signed by another CA with the same name, {issuer}",
    advice="use a certificate of the CA that the peers trust",
)
CERTIFICATE_CHAIN_INCOMPLETE = CERTIFICATE_CHAIN.variant(
    message="issued by {issuer}, which is neither in the file nor a trusted CA ({trusted})",
    advice="append the intermediate certificates to the file, or trust that CA",
)


def required_ca(path: Certificates) -> str:
    """Return the subject of the CA that peers must trust to accept this chain.

    `path` is the host's certificate, followed by its intermediate certificates.
    """
    return names.text(path[-1].issuer)


def chain(
    leaf: x509.Certificate,
    others: Certificates,
    trusted: Certificates,
    now: datetime,
    usage: Sequence[str],
) -> list[x509.Certificate]:
    """Return the intermediate certificates between the certificate `leaf` and a trusted CA, in order.

    `others` are possible intermediates. `usage` is how peers use the certificate: `server`, `client` or both. Expired
    certificates cause no error here, since checks.check_dates reports them: if the chain is not valid `now`, it is
    verified at a moment when all its certificates were valid. Raises CertificateError if the chain is incomplete, or if
    peers would reject it.
    """
    with suppress(VerificationError):
        return verified(leaf, others, trusted, now, usage)
    path = path_to_trusted(leaf, others, trusted)
    begin = max(certificate.not_valid_before_utc for certificate in path)
    end = min(certificate.not_valid_after_utc for certificate in path)
    if begin > end:
        return path[1:-1]
    try:
        return verified(leaf, others, trusted, min(max(now, begin), end), usage)
    except VerificationError as error:
        raise CertificateError(CERTIFICATE_CHAIN, reason=reason(error)) from error


def verified(
    leaf: x509.Certificate,
    others: Certificates,
    trusted: Certificates,
    moment: datetime,
    usage: Sequence[str],
) -> list[x509.Certificate]:
    """Return the intermediates between `leaf` and a trusted CA, as the library cryptography finds them (RFC 5280, 6).

    The library's verifier of client certificates is used for servers too, since it does not compare names:
    checks.check_names reports missing names, checks.check_usage a wrong usage. Raises VerificationError if no chain is
    valid at `moment`.
    """
    if not trusted:
        raise VerificationError("no CA is trusted")
    of_leaf = ExtensionPolicy.permit_all()
    of_authorities = ExtensionPolicy.permit_all().require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
    for kind in KNOWN:
        of_leaf = of_leaf.may_be_present(kind, Criticality.AGNOSTIC, None)
        of_authorities = of_authorities.may_be_present(kind, Criticality.AGNOSTIC, None)

    def may_issue(_: Policy, __: x509.Certificate, found: x509.ExtendedKeyUsage | None) -> None:
        missing = [f"{use}Auth" for use in usage if found is not None and EXTENDED[use] not in found]
        if missing:
            raise ValueError(f"the extended key usage of a CA does not include {' and '.join(missing)}")

    of_authorities = of_authorities.may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, may_sign)
    of_authorities = of_authorities.may_be_present(x509.NameConstraints, Criticality.AGNOSTIC, may_name)
    of_authorities = of_authorities.may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, may_issue)
    policy = PolicyBuilder().store(Store([*trusted])).time(moment)
    policy = policy.extension_policies(ca_policy=of_authorities, ee_policy=of_leaf)
    return policy.build_client_verifier().verify(leaf, [*others]).chain[1:-1]


def may_sign(_: Policy, __: x509.Certificate, found: x509.KeyUsage | None) -> None:
    """Raise ValueError if the key usage of a CA does not allow it to sign certificates (RFC 5280, 4.2.1.3).

    The library cryptography calls this for each CA of a chain; `found` is the CA's key usage extension, or None.
    """
    if found is not None and not found.key_cert_sign:
        raise ValueError("the key usage of a CA does not include keyCertSign")


def may_name(_: Policy, __: x509.Certificate, found: x509.NameConstraints | None) -> None:
    """Raise ValueError if a CA has name constraints on subjects, which the library would ignore if not critical.

    The library cryptography calls this for each CA of a chain; `found` is the CA's name constraints extension, or None.
    """
    bases = [] if found is None else [*(found.permitted_subtrees or ()), *(found.excluded_subtrees or ())]
    if any(isinstance(base, x509.DirectoryName) for base in bases):
        raise ValueError("a CA has name constraints on subjects, which are not supported")


def path_to_trusted(leaf: x509.Certificate, others: Certificates, trusted: Certificates) -> list[x509.Certificate]:
    """Return [leaf, intermediates, trusted CA], found by names and signatures only.

    Raises CertificateError if `others` and `trusted` do not lead from `leaf` to a trusted CA. The error names the
    missing issuer, which the error of the library does not.
    """
    path = [leaf]
    while True:
        top = next((authority for authority in trusted if issued_by(path[-1], authority)), None)
        if top is not None:
            return [*path, top]
        issuer = next((other for other in others if other not in path and issued_by(path[-1], other)), None)
        if issuer is None:
            break
        path.append(issuer)
    if any(authority.subject == path[-1].issuer for authority in trusted):
        raise CertificateError(CERTIFICATE_CHAIN_SAME_NAME, issuer=required_ca(path))
    subjects = list(dict.fromkeys(names.text(authority.subject) for authority in trusted)) or "none"
    raise CertificateError(CERTIFICATE_CHAIN_INCOMPLETE, issuer=required_ca(path), trusted=subjects)


def untrusted_issuer(last: x509.Certificate, trusted: Certificates) -> str:
    """Return the subject of the CA that is missing in `trusted` between the certificate `last` and a root CA.

    Returns '' if CAs in `trusted` lead from `last` to a self-signed root.
    """
    reached = [last]
    for one in reached:
        above = [authority for authority in trusted if issued_by(one, authority)]
        if any(authority.issuer == authority.subject for authority in above):
            return ""
        reached += [authority for authority in above if authority not in reached]
    return names.text(reached[-1].issuer)


def reason(error: VerificationError) -> str:
    """Return the text of a VerificationError, without the internal names of the library."""
    before = r"^(validation failed: |candidates exhausted: |Python extension validator failed: \w+: )+"
    return re.sub(rf"{before}|: AlgorithmIdentifier .*| \(encountered processing .*", "", str(error))
