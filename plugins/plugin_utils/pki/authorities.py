"""Reads or creates the CAs that pki_authorities declares for a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import first_three
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CERTIFICATE_KEY,
    CERTIFICATE_MISSING,
    CertificateError,
    CertificateSpec,
    certificates_in,
    key_in,
    public,
    read,
    subject_name,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.checks import check_dates
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import (
    Authority,
    bundle,
    describe,
    fingerprint,
    new_key,
    pem,
    sign_authority,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, exists
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import ProblemKind

CERTIFICATE_FINGERPRINT = ProblemKind(
    "CERTIFICATE_FINGERPRINT",
    "{path} is another CA, with the fingerprint {fingerprint}",
    "correct pki_directory or the path, or declare a new CA under another name",
)
CERTIFICATE_FINGERPRINT_MISSING = CERTIFICATE_FINGERPRINT.variant(
    message="{path} does not exist, but the CA is declared with a fingerprint, so the CA was created before",
    advice="correct pki_directory, or restore the folder from its backup",
)


def authority(work: Work, item: Mapping[str, Any]) -> Authority:
    """Return the CA that an entry of pki_authorities declares: read its certificate, or create a missing CA.

    Expired or soon expiring certificates of the CA become problems in `work.problems`. Raises CertificateError if a
    file is missing or invalid, and OSError if a folder cannot be read or written.
    """
    path = Path(item["certificate"] or work.folder / "authorities" / f"{item['name']}.pem")
    if not item["certificate"] and not exists(path):
        if item["fingerprint"]:
            raise CertificateError(CERTIFICATE_FINGERPRINT_MISSING, path=path)
        with work.folder_lock():
            if not exists(path):
                reject_lost_authority(work, item, path)
                create_authority(work, item, path)
    certificates = []
    if item["certificate"] or exists(path):
        certificates = certificates_in(read(path, "the CA certificate"), path)
    declared = (item["fingerprint"] or "").lower().replace(":", "")
    if item["fingerprint"] and certificates and fingerprint(certificates[0]) != declared:
        raise CertificateError(CERTIFICATE_FINGERPRINT, path=path, fingerprint=fingerprint(certificates[0]))
    spec = CertificateSpec(work.host, item["name"], item["subject"], place="pki_authorities")
    is_used = any(certificate["authority"] == item["name"] for certificate in work.settings["certificates"])
    for certificate in certificates:
        for problem in check_dates(spec, certificate, work.now, work.settings["renew_days"], "authority"):
            work.problems.append(problem if is_used else replace(problem, warning=True))
    return Authority(item["name"], certificates)


CERTIFICATE_MISSING_LINK = CERTIFICATE_MISSING.variant(
    message="{path} is a link to {target}, which does not exist",
    advice="mount the disk with this file, or remove the link to create a new CA",
)
CERTIFICATE_MISSING_AUTHORITY = CERTIFICATE_MISSING.variant(
    message="{path} does not exist, but {holders} have certificates from {subject}, so the CA was created before",
    advice="mount the disk with this file, or restore the file from its backup",
)


def reject_lost_authority(work: Work, item: Mapping[str, Any], path: Path) -> None:
    """Raise CertificateError if a missing CA was created before, for example on a disk that is not mounted now.

    Without this check, the run would create a second CA in its place. `item` is the CA's entry of pki_authorities,
    `path` is the file of its certificate.
    """
    secret = path.with_suffix(".key")
    for link in (path, secret):
        if link.is_symlink() and not exists(link):
            raise CertificateError(CERTIFICATE_MISSING_LINK, path=link, target=link.readlink())
    name = subject_name(item["subject"])
    subject = names.text(name)
    others = [
        other["subject"] for other in work.settings["authorities"] if other is not item and not other["certificate"]
    ]
    holders = work.previous.issued_by(subject)
    if holders and not exists(secret) and all(subject_name(other) != name for other in others):
        raise CertificateError(CERTIFICATE_MISSING_AUTHORITY, path=path, holders=first_three(holders), subject=subject)


CERTIFICATE_PASSPHRASE = ProblemKind(
    "CERTIFICATE_PASSPHRASE",
    "this CA has to be created, and pki_passphrase is not set",
    "set it in a vaulted file",
)
CERTIFICATE_PASSPHRASE_WRONG = CERTIFICATE_PASSPHRASE.variant(
    message="{path} cannot be opened with pki_passphrase",
    advice="use the passphrase with which the CA was created. If it is lost, create a new CA",
)


def create_authority(work: Work, item: Mapping[str, Any], path: Path) -> None:
    """Create a CA: write its encrypted private key, then its certificate to `path`; in check mode only record it.

    `item` is the CA's entry of pki_authorities. Raises CertificateError if pki_passphrase is not set or does not open
    an existing key, and OSError if a file cannot be written.
    """
    passphrase = work.settings["passphrase"]
    if not passphrase:
        raise CertificateError(CERTIFICATE_PASSPHRASE)
    subject = names.text(subject_name(item["subject"]))
    if not work.record(f"authority {item['name']}", path, "", f"subject: {subject}\ndays: {item['days']}\n"):
        return
    secret = path.with_suffix(".key")
    key = key_of(work, item["name"]) if exists(secret) else new_key(work.settings["authority_key"])
    if not exists(secret):
        work.write(secret, pem(key, passphrase))
    certificate = sign_authority(subject, key, work.now, item["days"])
    work.write(path, bundle([certificate]), 0o644)
    work.diffs[-1]["after"] = f"{describe(certificate)}fingerprint: {fingerprint(certificate)}\n"


def key_of(work: Work, name: str) -> Any:
    """Return the private key of the CA `name`, which was created on this control node.

    Raises CertificateError if the key file is missing, or if pki_passphrase does not open the key.
    """
    path = work.folder / "authorities" / f"{name}.key"
    try:
        return key_in(read(path, "the CA key"), path, work.settings["passphrase"], ours=True)
    except CertificateError as error:
        if error.kind.code == CERTIFICATE_MISSING.code:
            raise
        raise CertificateError(CERTIFICATE_PASSPHRASE_WRONG, path=path) from error


CERTIFICATE_KEY_AUTHORITY = CERTIFICATE_KEY.variant(
    message="the key of the CA {name} is not the key of its certificate", advice="restore the matching pair"
)


def with_key(work: Work, issuer: Authority) -> Authority:
    """Return a copy of the CA `issuer`, which was created on this control node, with its private key loaded.

    Raises CertificateError if the key cannot be read, or does not belong to the CA's certificate.
    """
    key = key_of(work, issuer.name)
    if public(key.public_key()) != public(issuer.certificates[0].public_key()):
        raise CertificateError(CERTIFICATE_KEY_AUTHORITY, name=issuer.name)
    return replace(issuer, key=key)
