"""Keep the certificates that a CA of ours signs; no Ansible import."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.authorities import signer
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    EXTENDED,
    CertificateError,
    Wanted,
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
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, there


def keep(work: Work, wanted: Wanted, authority: Authority, path: Path) -> None:
    """Make a new key and certificate when it is no longer what is declared, or soon ends.

    Raises CertificateError, OSError.
    """
    before, why = why_new(work, wanted, authority, path)
    data = path.read_bytes() if there(path) else b""
    if why:
        work.trusted_by_all(names.text(authority.certificates[0].subject) if authority.certificates else "", path)
        signs = signer(work, authority) if authority.certificates else None
        after = f"subject: {wanted.subject}\nnames: {', '.join(wanted.names)}\n"
        if not work.act(f"certificate {wanted.name}: {why}", path, before, after):
            return
        assert signs
        key = new_key(work.settings["key"])
        made = sign(wanted, key, signs, work.now, work.settings["days"])
        data, work.diffs[-1]["after"] = pem(key) + bundle([made]), describe(made)
    key, found = key_in(data, path, ours=True), certificates_in(data, path)
    problems = check(wanted, key, found, authority.certificates, work.now, 0)
    work.problems += problems
    if why and not problems:
        work.write(path, data)


def why_new(work: Work, wanted: Wanted, authority: Authority, path: Path) -> tuple[str, str]:
    """Return what is there and why it is to be replaced; '' where it is not. Raises OSError."""
    if not there(path):
        return "", "new"
    try:
        data = path.read_bytes()
        key, leaf = key_in(data, path, ours=True), certificates_in(data, path)[0]
    except CertificateError as error:
        return "", error.wrong
    dns, addresses = alternative_names(leaf)
    issuer = authority.certificates[0] if authority.certificates else None
    uses = x509.ExtendedKeyUsage([EXTENDED[use] for use in wanted.usage])
    end = leaf.not_valid_after_utc
    soon = (end - work.now).days < work.settings["renew_days"]
    reasons = {
        "key of another certificate": public(key.public_key()) != public(leaf.public_key()),
        f"key is {kind_of(key)}": kind_of(key) != work.settings["key"],
        f"subject was {names.text(leaf.subject)}": leaf.subject != subject_name(wanted.subject),
        "names changed": dns | addresses != {address(name) or name.lower() for name in wanted.names},
        "usage changed": extension(leaf, x509.ExtendedKeyUsage) != uses,
        "CA changed": issuer is None or not issued_by(leaf, issuer),
        "renewal was asked for": bool(work.settings.get("renew")),
        f"ends on {day(end)}": soon and (issuer is None or end < issuer.not_valid_after_utc),
    }
    return describe(leaf), ", ".join(reason for reason, holds in reasons.items() if holds)
