"""Keep PKCS #12 stores and bundles of CA certificates; no Ansible import."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    certificates_in,
    key_in,
    read,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import Authority, bundle, describe, pem
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import PLACEHOLDER, Work, there


def keystore(work: Work, name: str, path: Path) -> Path:
    """Keep a PKCS #12 store beside the PEM file; one that holds the same is left, for its bytes differ each time.

    Raises CertificateError, OSError.
    """
    password = work.settings["store_password"]
    if not password:
        wrong = "format is pkcs12, and pki_store_password is not set"
        raise CertificateError("PASSPHRASE", wrong, "set it from a vaulted file")
    store = path.with_suffix(".p12")
    if not there(path):
        if not there(store):
            work.act(f"store {name}", store, "", PLACEHOLDER)
        return store
    data = path.read_bytes()
    key, (leaf, *others) = key_in(data, path, ours=True), certificates_in(data, path)
    if not holds(store, password, key, [leaf, *others]) and work.act(f"store {name}", store, "", describe(leaf)):
        encryption = BestAvailableEncryption(password.encode())
        work.write(store, pkcs12.serialize_key_and_certificates(name.encode(), key, leaf, others, encryption))
    return store


def holds(store: Path, password: str, key: Any, certificates: Sequence[x509.Certificate]) -> bool:
    """Tell whether a PKCS #12 store can be opened and has just this key and these certificates."""
    try:
        found = pkcs12.load_pkcs12(store.read_bytes(), password.encode())
    except (OSError, ValueError):
        return False
    held = [entry.certificate for entry in (found.cert, *found.additional_certs) if entry]
    return held == [*certificates] and found.key is not None and pem(found.key) == pem(key)


def truststore(
    work: Work,
    store: Mapping[str, Any],
    authorities: Mapping[str, Authority],
) -> tuple[list[str], dict[str, Any]]:
    """Return the subjects in a bundle, and the file: the declared CAs, and more while one is being replaced.

    Raises CertificateError, OSError.
    """
    certificates = [certificate for name in store["authorities"] for certificate in authorities[name].certificates]
    for path in store["extra"]:
        certificates += certificates_in(read(path, "the CA certificate"), path)
    complete = all(authorities[name].certificates for name in store["authorities"])
    content = bundle(certificates).decode() if complete else PLACEHOLDER
    trusted = sorted(names.text(certificate.subject) for certificate in certificates)
    own = work.folder / "certificates" / work.host / os.path.basename(store["path"])
    if complete:
        nobody_left_behind(work, own.name, trusted)
    held = own.read_text() if there(own) else ""
    after = "".join(f"{name}\n" for name in trusted)
    if complete and held != content and work.act(f"bundle {own.name}", own, "another\n" if held else "", after):
        work.write(own, content.encode(), 0o644)  # for clients on the control node
    return trusted, {"path": store["path"], "content": content, "group": store["group"], "mode": "0640"}


def nobody_left_behind(work: Work, file: str, trusted: Sequence[str]) -> None:
    """Refuse to drop a CA from which somebody still has a certificate. Raises CertificateError."""
    for name in sorted(work.before.trusted(work.host, file) - {*trusted}):
        if left := work.before.issued_by(name):
            wrong = f"{name} is dropped, and {listed(left)} still have certificates from it: "
            advice = "first give everybody a certificate of the new CA, and run (docs/security.md)"
            raise CertificateError("STEP", f"{wrong}this host would refuse them", advice)
