"""Take certificates that somebody else made, and ask an outside CA for them; no Ansible import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    Wanted,
    certificates_in,
    key_in,
    public,
    read,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import anchor, chain
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
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, there

Pair = tuple[Any, list[x509.Certificate]]


def provided(item: Mapping[str, Any]) -> Pair:
    """Return a key and a certificate that somebody else made. Raises CertificateError."""
    for option in ("certificate", "key"):
        if not item[option]:
            wrong = f"source is provided, and {option} is not declared"
            raise CertificateError("MISSING", wrong, f"name the file as {option}: PATH")
    given = certificates_in(read(item["certificate"], "the certificate"), item["certificate"])
    return key_in(read(item["key"], "the key"), item["key"], item["key_passphrase"]), given


def requested(work: Work, wanted: Wanted) -> Pair:
    """Write a request to an outside CA, and return the key and what that CA signed.

    Raises CertificateError, OSError.
    """
    file, kind = f"{wanted.host}.{wanted.name}", work.settings["key"]
    secret = work.folder / "certificates" / wanted.host / f"{wanted.name}.key"
    asked = Path(work.settings["requests_directory"] or work.folder / "requests") / f"{file}.csr"
    signed = Path(work.settings["signed_directory"] or work.folder / "signed") / f"{file}.pem"
    key = key_in(secret.read_bytes(), secret, ours=True) if there(secret) else None
    if key is None and work.act(f"key {wanted.name}", secret, "", f"{kind}\n", request=True):
        key = new_key(kind)
        work.write(secret, pem(key))
    if key is None or not there(asked) or not same_request(asked.read_bytes(), wanted, key):
        after = f"subject: {wanted.subject}\nnames: {', '.join(wanted.names)}\n"
        if work.act(f"request {wanted.name}", asked, "", after, request=True):
            work.write(asked, request(wanted, key).public_bytes(Encoding.PEM), 0o644)
    if key is None or not there(signed):
        advice = f"have {asked} signed, put the certificate and its intermediates there, and run again"
        raise CertificateError("UNSIGNED", f"the signed certificate {signed} is missing", advice)
    return key, certificates_in(signed.read_bytes(), signed)


def take(
    work: Work,
    wanted: Wanted,
    key: Any,
    given: Sequence[x509.Certificate],
    authority: Authority,
    path: Path,
    known: Sequence[x509.Certificate],
) -> None:
    """Put a key, its certificate and the intermediates into use, if nothing is wrong with them.

    Raises CertificateError, OSError.
    """
    trusted, days = authority.certificates, work.settings["renew_days"]
    leaf = next((found for found in given if public(found.public_key()) == public(key.public_key())), given[0])
    others = [certificate for certificate in given if certificate != leaf]
    problems = check(wanted, key, [leaf, *others], trusted, work.now, days, known)
    work.problems += problems
    if any(not problem.warning for problem in problems):
        return
    way = [leaf, *chain(leaf, others, trusted, work.now, wanted.usage)]
    data, before = pem(key) + bundle(way), path.read_bytes() if there(path) else b""
    work.trusted_by_all(anchor(way), path)
    if before != data:
        old = describe(certificates_in(before, path)[0]) if before else ""
        if work.act(f"certificate {wanted.name}", path, old, describe(leaf)):
            work.write(path, data)
