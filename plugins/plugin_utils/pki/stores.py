"""Writes PKCS #12 stores, and truststores (files of CA certificates)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.authorities import CERTIFICATE_PASSPHRASE
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import first_three
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    certificates_in,
    key_in,
    read,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import Authority, bundle, describe, pem
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import (
    CERTIFICATE_STEP,
    PLACEHOLDER,
    Work,
    exists,
)

CERTIFICATE_PASSPHRASE_STORE = CERTIFICATE_PASSPHRASE.variant(
    message="format is pkcs12, but pki_store_password is not set"
)
CERTIFICATE_STEP_DROPPED = CERTIFICATE_STEP.variant(
    message="{subject} is removed, but {holders} still have certificates from it: this host would reject them",
    advice="first give every host a certificate of the new CA, and run (docs/security.md)",
)


def keystore(work: Work, name: str, path: Path) -> Path:
    """Write the key and certificates of the PEM file `path` into a PKCS #12 store; return the path of the store.

    The store is next to the PEM file. A store that already has this content is left as it is: each write of PKCS #12
    gives other bytes (a random salt), and the file would look changed.
    Raises CertificateError if pki_store_password is not set or the PEM file is invalid, and OSError if a file cannot be
    read or written.
    """
    password = work.settings["store_password"]
    if not password:
        raise CertificateError(CERTIFICATE_PASSPHRASE_STORE)
    store = path.with_suffix(".p12")
    if not exists(path):
        if not exists(store):
            work.record(f"store {name}", store, "", PLACEHOLDER)
        return store
    data = path.read_bytes()
    key, (leaf, *others) = key_in(data, path, ours=True), certificates_in(data, path)
    if not holds(store, password, key, [leaf, *others]) and work.record(f"store {name}", store, "", describe(leaf)):
        encryption = BestAvailableEncryption(password.encode())
        work.write(store, pkcs12.serialize_key_and_certificates(name.encode(), key, leaf, others, encryption))
    return store


def holds(store: Path, password: str, key: Any, certificates: Sequence[x509.Certificate]) -> bool:
    """Tell whether the password opens the PKCS #12 file `store`, and it has exactly this key and these certificates."""
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
    """Write a truststore with its declared and extra CAs; return (subjects of its CAs, its file for the host).

    `store` is the entry of pki_truststores, `authorities` is {name: CA}. The file for the host is a dict {path,
    content, group, mode}. Raises CertificateError if a file is invalid, or if hosts still have certificates of a
    removed CA, and OSError if a file cannot be read or written.
    """
    certificates = [certificate for name in store["authorities"] for certificate in authorities[name].certificates]
    for path in store["extra"]:
        certificates += certificates_in(read(path, "the CA certificate"), path)
    complete = all(authorities[name].certificates for name in store["authorities"])
    content = bundle(certificates).decode() if complete else PLACEHOLDER
    trusted = sorted(names.text(certificate.subject) for certificate in certificates)
    own = work.folder / "certificates" / work.host / os.path.basename(store["path"])
    if complete:
        reject_dropped_authority(work, own.name, trusted)
    held = own.read_text() if exists(own) else ""
    after = "".join(f"{name}\n" for name in trusted)
    if complete and held != content and work.record(f"bundle {own.name}", own, "another\n" if held else "", after):
        work.write(own, content.encode(), 0o644)  # for clients on the control node
    return trusted, {"path": store["path"], "content": content, "group": store["group"], "mode": "0640"}


def reject_dropped_authority(work: Work, file: str, trusted: Sequence[str]) -> None:
    """Raise CertificateError if a truststore loses a CA while some hosts still have certificates from this CA.

    `file` is the truststore's file name, `trusted` are the subjects of the CAs that it will contain.
    """
    for subject in sorted(work.previous.trusted(work.host, file) - {*trusted}):
        if hosts := work.previous.issued_by(subject):
            raise CertificateError(CERTIFICATE_STEP_DROPPED, subject=subject, holders=first_three(hosts))
