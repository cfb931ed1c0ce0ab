"""Read or make the CAs of a host; no Ansible import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    Wanted,
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
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, there

SAVE = "take the passphrase that the CA was made with; a lost one means a new CA"
REPLACE = "declare a second CA, trust both, move the certificates over, then trust the new one alone"


def authority(work: Work, item: Mapping[str, Any]) -> Authority:
    """Read or make one CA, and judge its dates. Raises CertificateError, OSError."""
    path = Path(item["certificate"] or work.folder / "authorities" / f"{item['name']}.pem")
    if not item["certificate"] and not there(path):
        if item["fingerprint"]:
            wrong = f"there is no {path}, and the CA is declared with a fingerprint, so it was made before"
            advice = "correct pki_directory, or bring the folder back from its backup"
            raise CertificateError("FINGERPRINT", wrong, advice)
        with work.alone():
            if not there(path):
                never_made(work, item, path)
                make(work, item, path)
    found = []
    if item["certificate"] or there(path):
        found = certificates_in(read(path, "the CA certificate"), path)
    if item["fingerprint"] and found and fingerprint(found[0]) != item["fingerprint"].lower().replace(":", ""):
        wrong = f"{path} is another CA, with the fingerprint {fingerprint(found[0])}"
        advice = "correct pki_directory or the path; a new CA wants a name of its own"
        raise CertificateError("FINGERPRINT", wrong, advice)
    wanted = Wanted(work.host, item["name"], item["subject"], place="pki_authorities")
    needed = any(certificate["authority"] == item["name"] for certificate in work.settings["certificates"])
    for certificate in found:
        for problem in check_dates(wanted, certificate, work.now, work.settings["renew_days"], REPLACE):
            work.problems.append(problem if needed else replace(problem, warning=True))
    return Authority(item["name"], found)


def never_made(work: Work, item: Mapping[str, Any], path: Path) -> None:
    """Refuse to make a CA in the place of one whose disk is not mounted. Raises CertificateError."""
    secret = path.with_suffix(".key")
    for link in (path, secret):
        if link.is_symlink() and not there(link):
            wrong = f"{link} leads to {link.readlink()}, which is not there"
            raise CertificateError("MISSING", wrong, "mount the disk that holds it, or remove the link for a new CA")
    name = subject_name(item["subject"])
    written = names.text(name)
    others = [one["subject"] for one in work.settings["authorities"] if one is not item and not one["certificate"]]
    holders = work.before.issued_by(written)
    if holders and not there(secret) and all(subject_name(other) != name for other in others):
        wrong = f"there is no {path}, and {listed(holders)} have certificates from {written}, so it was made before"
        raise CertificateError("MISSING", wrong, "mount the disk that holds it, or bring it back from its backup")


def make(work: Work, item: Mapping[str, Any], path: Path) -> None:
    """Make a CA; its key is written first, and encrypted. Raises CertificateError, OSError."""
    passphrase = work.settings["passphrase"]
    if not passphrase:
        wrong = "this CA is to be made, and pki_passphrase is not set"
        raise CertificateError("PASSPHRASE", wrong, "set it from a vaulted file")
    subject = names.text(subject_name(item["subject"]))
    if not work.act(f"authority {item['name']}", path, "", f"subject: {subject}\ndays: {item['days']}\n"):
        return
    secret = path.with_suffix(".key")
    key = key_of(work, item["name"]) if there(secret) else new_key(work.settings["authority_key"])
    if not there(secret):
        work.write(secret, pem(key, passphrase))
    made = sign_authority(subject, key, work.now, item["days"])
    work.write(path, bundle([made]), 0o644)
    work.diffs[-1]["after"] = f"{describe(made)}fingerprint: {fingerprint(made)}\n"


def key_of(work: Work, name: str) -> Any:
    """Return the key of a CA of ours. Raises CertificateError."""
    path = work.folder / "authorities" / f"{name}.key"
    try:
        return key_in(read(path, "the CA key"), path, work.settings["passphrase"], ours=True)
    except CertificateError as error:
        if error.code == "MISSING":
            raise
        raise CertificateError("PASSPHRASE", f"{path} cannot be opened with pki_passphrase", SAVE) from error


def signer(work: Work, found: Authority) -> Authority:
    """Return a CA of ours with its key. Raises CertificateError."""
    key = key_of(work, found.name)
    if public(key.public_key()) != public(found.certificates[0].public_key()):
        wrong = f"the key of the CA {found.name} is not that of its certificate"
        raise CertificateError("KEY", wrong, "put the right pair back")
    return replace(found, key=key)
