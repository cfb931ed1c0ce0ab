"""Keep the certificates of one host on the control node, and say which files the host gets; no Ansible import."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.authorities import authority
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    Wanted,
    certificates_in,
    day,
    read,
    subject_name,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import anchor
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.inputs import mistakes
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import Authority
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.outside import provided, requested, take
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.own import keep
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import Before
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.stores import keystore, truststore
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, there


class Pki:
    """What one call makes on the control node for one host.

    `settings` are the inputs of the role pki without their prefix. `changes` holds one line per change, `diffs`
    Ansible's before/after pairs without any secret, `problems` what is wrong, `held` {subject, issuer, serial, until,
    path} of each certificate by its name, `trusted` the subjects of the CAs in each truststore by its path, `files`
    what the host gets: {path, group, mode}, `function` where one was said, and `content`, or `source` where the content
    is secret. With `check_mode` nothing is written and no key is made, so that preflight can ask for `problems` alone.
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

        With `requests`, keys and requests to an outside CA are written and nothing else, for no host gets anything
        before they are answered.
        """
        self.work = Work(host, settings, check_mode, now, before, requests)
        self.host, self.settings = host, settings
        self.changes, self.diffs, self.problems = self.work.changes, self.work.diffs, self.work.problems
        self.authorities: dict[str, Authority] = {}
        self.files: list[dict[str, Any]] = []
        self.held: dict[str, dict[str, str]] = {}
        self.trusted: dict[str, list[str]] = {}

    def converge(self) -> None:
        """Make what is missing, check everything, and say what the host gets. Raises OSError."""
        self.problems += mistakes(self.host, self.settings)
        if self.problems:
            return
        self.work.reach()
        declared, stores = self.settings["certificates"], self.settings["truststores"]
        used = {item["authority"] for item in declared} | {name for store in stores for name in store["authorities"]}
        for item in self.settings["authorities"]:
            if item["name"] in used:
                with self.work.step(f"pki_authorities[{item['name']}]"):
                    self.authorities[item["name"]] = authority(self.work, item)
        for item in declared:
            if item["authority"] in self.authorities:
                with self.work.step(f"pki_certificates[{item['name']}]"):
                    self.certificate(item)
        for store in stores:
            if all(name in self.authorities for name in store["authorities"]):
                with self.work.step(f"pki_truststores[{store['path']}]"):
                    self.trusted[store["path"]], file = truststore(self.work, store, self.authorities)
                    self.files.append({**file, **_whose(store)})

    @property
    def directories(self) -> list[dict[str, str]]:
        """Return the folders of the files, closed to all but the service."""
        groups = {os.path.dirname(file["path"]): file["group"] for file in reversed(self.files)}
        return [{"path": path, "group": group, "mode": "0750"} for path, group in sorted(groups.items())]

    def known(self) -> list[x509.Certificate]:
        """Return every CA that something on this host trusts; of a file that cannot be read its truststore says so."""
        found = [certificate for one in self.authorities.values() for certificate in one.certificates]
        for path in {path for store in self.settings["truststores"] for path in store["extra"]}:
            with suppress(CertificateError, OSError):
                found += certificates_in(read(path, "the CA certificate"), path)
        return found

    def certificate(self, item: Mapping[str, Any]) -> None:
        """Bring one certificate to what is declared, by its source, and make it known to the host.

        Raises CertificateError, OSError.
        """
        subject = names.text(subject_name(item["subject"]))
        wanted = Wanted(self.host, item["name"], subject, tuple(item["names"]), tuple(item["usage"]))
        signs = self.authorities[item["authority"]]
        path = self.work.folder / "certificates" / self.host / f"{item['name']}.pem"
        source = item["source"] or self.settings["source"]
        outside = {one["name"] for one in self.settings["authorities"] if one["certificate"]}
        if source == "own" and item["authority"] in outside:
            wrong = f"source is own, and {item['authority']} is an outside CA, whose key is not here"
            advice = "set source: provided or csr, or take certificate away from the CA"
            raise CertificateError("SOURCE", wrong, advice)
        if source == "own":
            keep(self.work, wanted, signs, path)
        else:
            key, given = provided(item) if source == "provided" else requested(self.work, wanted)
            take(self.work, wanted, key, given, signs, path, self.known())
        if there(path):
            self.held[item["name"]] = {**held(path), "path": item["path"] or ""}
        if item["path"]:
            used = keystore(self.work, item["name"], path) if item["format"] == "pkcs12" else path
            file = {"path": item["path"], "source": str(used), "group": item["group"], "mode": "0640"}
            self.files.append({**file, **_whose(item)})


def _whose(item: Mapping[str, Any]) -> dict[str, str]:
    return {"function": item["function"]} if item.get("function") else {}


def held(path: Path) -> dict[str, str]:
    """Return {subject, issuer, serial, until} of a file's certificate. Raises CertificateError, OSError."""
    leaf, *between = certificates_in(path.read_bytes(), path)
    return {
        "subject": names.text(leaf.subject),
        "issuer": anchor([leaf, *between]),
        "serial": f"{leaf.serial_number:x}",
        "until": day(leaf.not_valid_after_utc),
    }
