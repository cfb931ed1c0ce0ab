"""Keep the certificates of one host on the control node, and say which files the host gets; no Ansible import."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12

from .certificates import (
    EXTENDED,
    CertificateError,
    Wanted,
    address,
    alternative_names,
    anchor,
    certificates_in,
    chain,
    check,
    check_dates,
    day,
    issued_by,
    key_in,
    public,
    read,
)
from .issuing import Authority, bundle, describe, fingerprint, kind_of, new_key, parsed, pem, request, same_request, sign, sign_authority
from .pki_inputs import mistakes
from .problems import Problem
from .rotation import Before, listed

PLACEHOLDER = "(made by a real run)\n"
SAVE = "take the passphrase that the CA was made with; a lost one means a new CA"


class Pki:
    """What one call makes on the control node for one host.

    `settings` are the inputs of the role pki without their prefix. `changes` holds one line per change, `diffs` Ansible's before/after
    pairs without any secret, `problems` what is wrong, `held` {subject, issuer, serial, until, path} of each certificate by its name, `trusted` the
    subjects of the CAs in each truststore by its path, `files` what the host gets: {path, group, mode} and `content`, or `source` where the
    content is secret. With `check_mode` nothing is written and no
    key is made, so that preflight can ask for `problems` alone.
    """

    def __init__(
        self,
        host: str,
        settings: Mapping[str, Any],
        check_mode: bool,
        now: datetime | None = None,
        before: Before | None = None,
        requests: bool = False,
    ) -> None:
        """`now` is given by tests; `before`, what the folder held before the run, by who converges several hosts.

        With `requests`, keys and requests to an outside CA are written and nothing else, for no host gets anything before they are answered.
        """
        self.host, self.settings, self.check_mode, self.requests = host, settings, check_mode, requests
        self.before = before or Before(Path(settings["directory"]))
        self.now = now or datetime.now(UTC)
        self.folder = Path(settings["directory"])
        self.authorities: dict[str, Authority] = {}
        self.changes: list[str] = []
        self.diffs: list[dict[str, str]] = []
        self.problems: list[Problem] = []
        self.files: list[dict[str, Any]] = []
        self.held: dict[str, dict[str, str]] = {}
        self.trusted: dict[str, list[str]] = {}

    def converge(self) -> None:
        """Make what is missing, check everything, and say what the host gets. Raises OSError."""
        self.problems += mistakes(self.host, self.settings)
        if self.problems:
            return
        declared, stores = self.settings["certificates"], self.settings["truststores"]
        used = {item["authority"] for item in declared} | {name for store in stores for name in store["authorities"]}
        for item in self.settings["authorities"]:
            if item["name"] in used:
                with self.step(f"pki_authorities[{item['name']}]"):
                    self.authority(item)
        for item in declared:
            if item["authority"] in self.authorities:
                with self.step(f"pki_certificates[{item['name']}]"):
                    self.certificate(item)
        for store in stores:
            if all(name in self.authorities for name in store["authorities"]):
                with self.step(f"pki_truststores[{store['path']}]"):
                    self.truststore(store)

    @property
    def directories(self) -> list[dict[str, str]]:
        """Return the folders of the files, closed to all but the service."""
        groups = {os.path.dirname(file["path"]): file["group"] for file in reversed(self.files)}
        return [{"path": path, "group": group, "mode": "0750"} for path, group in sorted(groups.items())]

    @contextmanager
    def step(self, variable: str) -> Iterator[None]:
        """Take one step; a file that cannot be used is a problem and not the end."""
        try:
            yield
        except CertificateError as error:
            self.problems.append(Problem((self.host,), variable, f"CERTIFICATE_{error.code}", None, error.wrong, error.advice))

    def act(self, change: str, where: Path, before: str, after: str, request: bool = False) -> bool:
        """Note a change; false when it must not be made: in check mode, and before requests are answered all but these."""
        if self.requests and not request:
            return False
        self.changes.append(change)
        self.diffs.append({"before_header": str(where), "after_header": str(where), "before": before, "after": after})
        return not self.check_mode

    def write(self, path: Path, data: bytes, mode: int = 0o600) -> None:
        """Put a file in its place, whole or not at all; nobody else can read it at any moment."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, new = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(new, mode)
            os.rename(new, path)
        except BaseException:
            os.unlink(new)
            raise

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of the folder: the hosts' calls run side by side, and one of them makes the CA."""
        if self.check_mode:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.folder / ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # Authorities

    def authority(self, item: Mapping[str, Any]) -> None:
        """Read or make one CA, and judge its dates."""
        path = Path(item["certificate"] or self.folder / "authorities" / f"{item['name']}.pem")
        if not item["certificate"] and not path.exists():
            if item["fingerprint"]:
                wrong = f"there is no {path}, and the CA is declared with a fingerprint, so it was made before"
                raise CertificateError("FINGERPRINT", wrong, "correct pki_directory, or bring the folder back from its backup")
            with self.alone():
                if not path.exists():
                    self.new_authority(item, path)
        found = certificates_in(read(path, "the CA certificate"), path) if path.exists() or item["certificate"] else []
        if item["fingerprint"] and found and fingerprint(found[0]) != item["fingerprint"].lower().replace(":", ""):
            wrong = f"{path} is another CA, with the fingerprint {fingerprint(found[0])}"
            raise CertificateError("FINGERPRINT", wrong, "correct pki_directory or the path; a new CA wants a name of its own")
        self.authorities[item["name"]] = Authority(item["name"], found)
        wanted = Wanted(self.host, item["name"], item["subject"], place="pki_authorities")
        advice = "declare a second CA, trust both, move the certificates over, then trust the new one alone"
        needed = any(certificate["authority"] == item["name"] for certificate in self.settings["certificates"])
        for certificate in found:
            for problem in check_dates(wanted, certificate, self.now, self.settings["renew_days"], advice):
                self.problems.append(problem if needed else replace(problem, warning=True))

    def new_authority(self, item: Mapping[str, Any], path: Path) -> None:
        """Make a CA; its key is written first, and encrypted."""
        passphrase = self.settings["passphrase"]
        if not passphrase:
            raise CertificateError("PASSPHRASE", "this CA is to be made, and pki_passphrase is not set", "set it from a vaulted file")
        subject = parsed(item["subject"])
        if not self.act(f"authority {item['name']}", path, "", f"subject: {subject.rfc4514_string()}\ndays: {item['days']}\n"):
            return
        secret = path.with_suffix(".key")
        key = self.authority_key(item["name"]) if secret.exists() else new_key(self.settings["authority_key"])
        if not secret.exists():
            self.write(secret, pem(key, passphrase))
        made = sign_authority(subject.rfc4514_string(), key, self.now, item["days"])
        self.write(path, bundle([made]), 0o644)
        self.diffs[-1]["after"] = f"{describe(made)}fingerprint: {fingerprint(made)}\n"

    def authority_key(self, name: str) -> Any:
        """Return the key of a CA of ours."""
        path = self.folder / "authorities" / f"{name}.key"
        try:
            return key_in(read(path, "the CA key"), path, self.settings["passphrase"], ours=True)
        except CertificateError as error:
            if error.code == "MISSING":
                raise
            raise CertificateError("PASSPHRASE", f"{path} cannot be opened with pki_passphrase", SAVE) from error

    # Certificates

    def certificate(self, item: Mapping[str, Any]) -> None:
        """Bring one certificate to what is declared, by its source, and make it known to the host."""
        subject = parsed(item["subject"]).rfc4514_string()
        wanted = Wanted(self.host, item["name"], subject, tuple(item["names"]), tuple(item["usage"]))
        authority = self.authorities[item["authority"]]
        path = self.folder / "certificates" / self.host / f"{item['name']}.pem"
        source = item["source"] or self.settings["source"]
        outside = any(authority["name"] == item["authority"] and authority["certificate"] for authority in self.settings["authorities"])
        if source == "own" and outside:
            wrong = f"source is own, and {item['authority']} is an outside CA, whose key is not here"
            raise CertificateError("SOURCE", wrong, "set source: provided or csr, or take certificate away from the CA")
        if source == "own":
            self.own(wanted, authority, path)
        else:
            key, given = self.provided(item) if source == "provided" else self.requested(wanted)
            self.take(wanted, key, given, authority, path)
        if path.exists():
            leaf, *between = certificates_in(path.read_bytes(), path)
            until, serial = day(leaf.not_valid_after_utc), f"{leaf.serial_number:x}"
            names = {"subject": leaf.subject.rfc4514_string(), "issuer": anchor([leaf, *between])}
            self.held[item["name"]] = {**names, "serial": serial, "until": until, "path": item["path"] or ""}
        if item["path"]:
            pkcs12_path = self.pkcs12(item["name"], path) if item["format"] == "pkcs12" else path
            self.files.append({"path": item["path"], "source": str(pkcs12_path), "group": item["group"], "mode": "0640"})

    def own(self, wanted: Wanted, authority: Authority, path: Path) -> None:
        """Keep a certificate of a CA of ours: a new key and certificate when it is no longer what is declared, or soon ends."""
        before, why = self.why_new(wanted, authority, path)
        data = path.read_bytes() if path.exists() else b""
        if why:
            self.trusted_by_all(authority.certificates[0].subject.rfc4514_string() if authority.certificates else "", path)
            signer = self.signer(authority) if authority.certificates else None
            if not self.act(f"certificate {wanted.name}: {why}", path, before, f"subject: {wanted.subject}\nnames: {', '.join(wanted.names)}\n"):
                return
            assert signer
            key = new_key(self.settings["key"])
            made = sign(wanted, key, signer, self.now, self.settings["days"])
            data, self.diffs[-1]["after"] = pem(key) + bundle([made]), describe(made)
        found = check(wanted, key_in(data, path, ours=True), certificates_in(data, path), authority.certificates, self.now, 0)
        self.problems += found
        if why and not found:
            self.write(path, data)

    def trusted_by_all(self, new: str, path: Path) -> None:
        """Refuse a certificate from another CA (its subject) than before while somebody trusts only the old one. Raises CertificateError."""
        old = self.before.issuer(path)
        lacking = self.before.trusting(old, but_not=new) if old and new and old != new else []
        if lacking:
            wrong = f"it is to be from {new}, and {listed(lacking)}, who trust {old}, do not trust that yet: they would refuse this host"
            raise CertificateError("STEP", wrong, "first let every truststore hold both CAs, and run (docs/security.md)")

    def signer(self, authority: Authority) -> Authority:
        """Return a CA of ours with its key."""
        key = self.authority_key(authority.name)
        if public(key.public_key()) != public(authority.certificates[0].public_key()):
            raise CertificateError("KEY", f"the key of the CA {authority.name} is not that of its certificate", "put the right pair back")
        return replace(authority, key=key)

    def why_new(self, wanted: Wanted, authority: Authority, path: Path) -> tuple[str, str]:
        """Return what is there and why it is to be replaced; '' where it is not."""
        if not path.exists():
            return "", "new"
        try:
            data = path.read_bytes()
            key, leaf = key_in(data, path, ours=True), certificates_in(data, path)[0]
        except CertificateError as error:
            return "", error.wrong
        dns, addresses = alternative_names(leaf)
        names = {address(name) or name.lower() for name in wanted.names}
        issuer = authority.certificates[0] if authority.certificates else None
        uses = {extension.value for extension in leaf.extensions if isinstance(extension.value, x509.ExtendedKeyUsage)}
        left = (leaf.not_valid_after_utc - self.now).days
        reasons = {
            "key of another certificate": public(key.public_key()) != public(leaf.public_key()),
            f"key is {kind_of(key)}": kind_of(key) != self.settings["key"],
            f"subject was {leaf.subject.rfc4514_string()}": leaf.subject.rfc4514_string() != wanted.subject,
            "names changed": dns | addresses != names,
            "usage changed": uses != {x509.ExtendedKeyUsage([EXTENDED[use] for use in wanted.usage])},
            "CA changed": issuer is None or not issued_by(leaf, issuer),
            "renewal was asked for": bool(self.settings.get("renew")),
            f"ends on {day(leaf.not_valid_after_utc)}": left < self.settings["renew_days"]
            and (issuer is None or leaf.not_valid_after_utc < issuer.not_valid_after_utc),
        }
        return describe(leaf), ", ".join(reason for reason, holds in reasons.items() if holds)

    def provided(self, item: Mapping[str, Any]) -> tuple[Any, list[x509.Certificate]]:
        """Return a key and a certificate that somebody else made."""
        for option in ("certificate", "key"):
            if not item[option]:
                raise CertificateError("MISSING", f"source is provided, and {option} is not declared", f"name the file as {option}: PATH")
        given = certificates_in(read(item["certificate"], "the certificate"), item["certificate"])
        return key_in(read(item["key"], "the key"), item["key"], item["key_passphrase"]), given

    def requested(self, wanted: Wanted) -> tuple[Any, list[x509.Certificate]]:
        """Write a request to an outside CA, and return the key and what that CA signed."""
        file = f"{wanted.host}.{wanted.name}"
        secret = self.folder / "certificates" / wanted.host / f"{wanted.name}.key"
        asked = Path(self.settings["requests_directory"] or self.folder / "requests") / f"{file}.csr"
        signed = Path(self.settings["signed_directory"] or self.folder / "signed") / f"{file}.pem"
        key = key_in(secret.read_bytes(), secret, ours=True) if secret.exists() else None
        if key is None and self.act(f"key {wanted.name}", secret, "", f"{self.settings['key']}\n", request=True):
            key = new_key(self.settings["key"])
            self.write(secret, pem(key))
        if (key is None or not asked.exists() or not same_request(asked.read_bytes(), wanted, key)) and self.act(
            f"request {wanted.name}", asked, "", f"subject: {wanted.subject}\nnames: {', '.join(wanted.names)}\n", request=True
        ):
            self.write(asked, request(wanted, key).public_bytes(Encoding.PEM), 0o644)
        if key is None or not signed.exists():
            advice = f"have {asked} signed, put the certificate and its intermediates there, and run again"
            raise CertificateError("UNSIGNED", f"the signed certificate {signed} is missing", advice)
        return key, certificates_in(signed.read_bytes(), signed)

    def take(self, wanted: Wanted, key: Any, given: list[x509.Certificate], authority: Authority, path: Path) -> None:
        """Put a key, its certificate and the intermediates into use, if nothing is wrong with them."""
        leaf = next((found for found in given if public(found.public_key()) == public(key.public_key())), given[0])
        others = [certificate for certificate in given if certificate != leaf]
        found = check(wanted, key, [leaf, *others], authority.certificates, self.now, self.settings["renew_days"])
        self.problems += found
        if any(not problem.warning for problem in found):
            return
        way = [leaf, *chain(leaf, others, authority.certificates)]
        data, before = pem(key) + bundle(way), path.read_bytes() if path.exists() else b""
        self.trusted_by_all(anchor(way), path)
        if before != data:
            old = describe(certificates_in(before, path)[0]) if before else ""
            if self.act(f"certificate {wanted.name}", path, old, describe(leaf)):
                self.write(path, data)

    def pkcs12(self, name: str, path: Path) -> Path:
        """Keep a PKCS #12 store beside the PEM file; a store that holds the same is left, for its bytes differ each time."""
        password = self.settings["store_password"]
        if not password:
            raise CertificateError("PASSPHRASE", "format is pkcs12, and pki_store_password is not set", "set it from a vaulted file")
        store = path.with_suffix(".p12")
        if not path.exists():
            if not store.exists():
                self.act(f"store {name}", store, "", PLACEHOLDER)
            return store
        data = path.read_bytes()
        key, (leaf, *others) = key_in(data, path, ours=True), certificates_in(data, path)
        try:
            found = pkcs12.load_pkcs12(store.read_bytes(), password.encode())
            held = [entry.certificate for entry in (found.cert, *found.additional_certs) if entry]
            same = held == [leaf, *others] and found.key is not None and pem(found.key) == pem(key)
        except (OSError, ValueError):
            same = False
        if not same and self.act(f"store {name}", store, "", describe(leaf)):
            encryption = BestAvailableEncryption(password.encode())
            self.write(store, pkcs12.serialize_key_and_certificates(name.encode(), key, leaf, others, encryption))
        return store

    # Truststores

    def truststore(self, store: Mapping[str, Any]) -> None:
        """Say what a bundle of CA certificates holds: those of the authorities, and more while a CA is being replaced."""
        certificates = [certificate for name in store["authorities"] for certificate in self.authorities[name].certificates]
        for path in store["extra"]:
            certificates += certificates_in(read(path, "the CA certificate"), path)
        complete = all(self.authorities[name].certificates for name in store["authorities"])
        content = bundle(certificates).decode() if complete else PLACEHOLDER
        self.trusted[store["path"]] = sorted(certificate.subject.rfc4514_string() for certificate in certificates)
        dropped = self.before.trusted(self.host, os.path.basename(store["path"])) - {*self.trusted[store["path"]]}
        for name in sorted(dropped if complete else ()):
            if left := self.before.issued_by(name):
                wrong = f"{name} is dropped, and {listed(left)} still have certificates from it: this host would refuse them"
                raise CertificateError("STEP", wrong, "first give everybody a certificate of the new CA, and run (docs/security.md)")
        own = self.folder / "certificates" / self.host / os.path.basename(store["path"])
        held = own.read_text() if own.exists() else ""
        names = [f"{name}\n" for name in self.trusted[store["path"]]]
        if complete and held != content and self.act(f"bundle {own.name}", own, "another\n" if held else "", "".join(names)):
            self.write(own, content.encode(), 0o644)  # for clients on the control node
        self.files.append({"path": store["path"], "content": content, "group": store["group"], "mode": "0640"})
