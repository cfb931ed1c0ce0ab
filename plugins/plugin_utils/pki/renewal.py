"""Issues and renews certificates with a CA that was created on this control node."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.authorities import with_key
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    EXTENDED,
    CertificateError,
    CertificateSpec,
    address,
    alternative_names,
    certificates_in,
    day,
    extension,
    issued_by,
    key_in,
    public,
    subject_name,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.checks import check
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import (
    Authority,
    bundle,
    describe,
    kind_of,
    new_key,
    pem,
    sign,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, exists


def issue_if_due(work: Work, spec: CertificateSpec, authority: Authority, path: Path) -> None:
    """Write a new key and certificate to `path` if the present certificate does not match `spec` or expires soon.

    `authority` is a CA that was created on this control node. Problems of the certificate are added to `work.problems`.
    Raises CertificateError if hosts do not trust the CA yet or its key cannot be used, and OSError if a file cannot be
    read or written.
    """
    before, reason = reason_to_issue(work, spec, authority, path)
    data = path.read_bytes() if exists(path) else b""
    if reason:
        work.require_trust(names.text(authority.certificates[0].subject) if authority.certificates else "", path)
        issuer = with_key(work, authority) if authority.certificates else None
        after = f"subject: {spec.subject}\nnames: {', '.join(spec.names)}\n"
        if not work.record(f"certificate {spec.name}: {reason}", path, before, after):
            return
        assert issuer
        key = new_key(work.settings["key"])
        certificate = sign(spec, key, issuer, work.now, work.settings["days"])
        data, work.diffs[-1]["after"] = pem(key) + bundle([certificate]), describe(certificate)
    key, certificates = key_in(data, path, ours=True), certificates_in(data, path)
    problems = check(spec, key, certificates, authority.certificates, work.now, 0)
    work.problems += problems
    if reason and not problems:
        work.write(path, data)


def reason_to_issue(work: Work, spec: CertificateSpec, authority: Authority, path: Path) -> tuple[str, str]:
    """Return (description of the present certificate at `path`, reason to issue a new certificate), as texts.

    The reason is '' if the present certificate can stay. Raises OSError if the file cannot be read.
    """
    if not exists(path):
        return "", "new"
    try:
        data = path.read_bytes()
        key, leaf = key_in(data, path, ours=True), certificates_in(data, path)[0]
    except CertificateError as error:
        return "", error.reason
    dns, addresses = alternative_names(leaf)
    issuer = authority.certificates[0] if authority.certificates else None
    uses = x509.ExtendedKeyUsage([EXTENDED[use] for use in spec.usage])
    end = leaf.not_valid_after_utc
    is_due = (end - work.now).days < work.settings["renew_days"]
    reasons = {
        "key of another certificate": public(key.public_key()) != public(leaf.public_key()),
        f"key is {kind_of(key)}": kind_of(key) != work.settings["key"],
        f"subject was {names.text(leaf.subject)}": leaf.subject != subject_name(spec.subject),
        "names changed": dns | addresses != {address(name) or name.lower() for name in spec.names},
        "usage changed": extension(leaf, x509.ExtendedKeyUsage) != uses,
        "CA changed": issuer is None or not issued_by(leaf, issuer),
        "renewal requested": bool(work.settings.get("renew")),
        f"expires on {day(end)}": is_due and (issuer is None or end < issuer.not_valid_after_utc),
    }
    return describe(leaf), ", ".join(reason for reason, holds in reasons.items() if holds)
