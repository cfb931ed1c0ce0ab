"""Uses certificates from elsewhere: files that the site provides, or certificates that an outside CA signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CERTIFICATE_MISSING,
    CertificateError,
    CertificateSpec,
    certificates_in,
    key_in,
    public,
    read,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import chain, required_ca
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.checks import check
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import (
    Authority,
    bundle,
    describe,
    new_key,
    pem,
    request,
    same_request,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, exists
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import ProblemKind

Pair = tuple[Any, list[x509.Certificate]]
"""A key, and its certificate with intermediates."""

CERTIFICATE_MISSING_OPTION = CERTIFICATE_MISSING.variant(
    message="source is provided, but {option} is not set", advice="set {option} to the path of the file"
)
CERTIFICATE_UNSIGNED = ProblemKind(
    "CERTIFICATE_UNSIGNED",
    "the signed certificate {signed} is missing",
    "have {request} signed, put the certificate and its intermediates there, and run again",
)
CERTIFICATE_UNSIGNED_SEVERAL = CERTIFICATE_UNSIGNED.variant(
    message="{number} signed certificates are missing in {signed}, such as {example}",
    advice="have the requests in {requests} signed, put each certificate with its intermediates there, and run again",
)


def provided(item: Mapping[str, Any]) -> Pair:
    """Return (private key, certificates) from the files of an entry of pki_certificates with `source: provided`.

    `certificates` are the host's own and the intermediates. Raises CertificateError if a path is not set, or if a file
    cannot be read or is invalid.
    """
    for option in ("certificate", "key"):
        if not item[option]:
            raise CertificateError(CERTIFICATE_MISSING_OPTION, option=option)
    certificates = certificates_in(read(item["certificate"], "the certificate"), item["certificate"])
    return key_in(read(item["key"], "the key"), item["key"], item["key_passphrase"]), certificates


def requested(work: Work, spec: CertificateSpec) -> Pair:
    """Return (key, certificates that the outside CA signed) for a declared certificate.

    First writes a private key and a signing request for the CA, if they are missing or the declaration has changed.
    Raises CertificateError if the signed certificate is not there yet or a file is invalid, and OSError if a file
    cannot be read or written.
    """
    file, kind = f"{spec.host}.{spec.name}", work.settings["key"]
    secret = work.folder / "certificates" / spec.host / f"{spec.name}.key"
    csr = Path(work.settings["requests_directory"] or work.folder / "requests") / f"{file}.csr"
    signed = Path(work.settings["signed_directory"] or work.folder / "signed") / f"{file}.pem"
    key = key_in(secret.read_bytes(), secret, ours=True) if exists(secret) else None
    if key is None and work.record(f"key {spec.name}", secret, "", f"{kind}\n", request=True):
        key = new_key(kind)
        work.write(secret, pem(key))
    if key is None or not exists(csr) or not same_request(csr.read_bytes(), spec, key):
        after = f"subject: {spec.subject}\nnames: {', '.join(spec.names)}\n"
        if work.record(f"request {spec.name}", csr, "", after, request=True):
            work.write(csr, request(spec, key).public_bytes(Encoding.PEM), 0o644)
    if key is None or not exists(signed):
        raise CertificateError(CERTIFICATE_UNSIGNED, signed=signed, request=csr)
    return key, certificates_in(signed.read_bytes(), signed)


def use_certificate(
    work: Work,
    spec: CertificateSpec,
    key: Any,
    certificates: Sequence[x509.Certificate],
    authority: Authority,
    path: Path,
    known: Sequence[x509.Certificate],
) -> None:
    """Check a private key and its certificates, and write them to `path` if no check fails.

    Problems are added to `work.problems`. `authority` is the declared CA, `known` are certificates of the other CAs
    that the host trusts. Raises CertificateError if peers do not trust the CA yet, and OSError if a file cannot be read
    or written.
    """
    trusted, days = authority.certificates, work.settings["renew_days"]
    of_key = (found for found in certificates if public(found.public_key()) == public(key.public_key()))
    leaf = next(of_key, certificates[0])
    others = [certificate for certificate in certificates if certificate != leaf]
    problems = check(spec, key, [leaf, *others], trusted, work.now, days, known)
    work.problems += problems
    if any(not problem.warning for problem in problems):
        return
    in_order = [leaf, *chain(leaf, others, trusted, work.now, spec.usage)]
    data, before = pem(key) + bundle(in_order), path.read_bytes() if exists(path) else b""
    work.require_trust(required_ca(in_order), path)
    if before != data:
        old = describe(certificates_in(before, path)[0]) if before else ""
        if work.record(f"certificate {spec.name}", path, old, describe(leaf)):
            work.write(path, data)
