"""Brings the certificates of one host, in files on the control node, to their declared state.

Also lists the files that the host needs.
"""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import PreviousState
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    CertificateSpec,
    certificates_in,
    day,
    read,
    subject_name,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import required_ca
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.inputs import CERTIFICATE_SOURCE, input_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.issuing import Authority
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.outside import provided, requested, use_certificate
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.renewal import issue_if_due
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.stores import keystore, truststore
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.work import Work, exists

CERTIFICATE_SOURCE_OWN = CERTIFICATE_SOURCE.variant(
    message="source is own, but {authority} is an outside CA, whose key is not here",
    advice="set source: provided or csr, or remove `certificate` from the CA",
)


class Pki:
    """The keys, certificates and truststores of one host, in the pki folder of the control node.

    `settings` is {input of the role pki without the prefix `pki_`: value}. With `check_mode` nothing is written;
    preflight uses that to get `problems`. The method `converge` fills these attributes:

    - `changes`: one text for each change;
    - `diffs`: dicts for Ansible's --diff, without secrets;
    - `problems`: list of Problem;
    - `held`: {certificate name: {subject, issuer, serial, until (end date), path}};
    - `trusted`: {path of a truststore: subjects of its CAs};
    - `files`: dicts {path, group, mode} of the host's files; a file also has the key `content`, or `source` (a path on
      the control node) if its content is secret, and the key `function` if the inventory declares it.
    """

    def __init__(
        self,
        host: str,
        settings: Mapping[str, Any],
        check_mode: bool,
        now: datetime | None = None,
        previous: PreviousState | None = None,
        requests: bool = False,
    ) -> None:
        """`previous` is the state of the pki folder before the run, shared by all hosts of a task. `now` is for tests.

        With `requests`, only private keys and signing requests for an outside CA are written: hosts get no files before
        the CA has signed all requests.
        """
        self.work = Work(host, settings, check_mode, now, previous, requests)
        self.host, self.settings = host, settings
        self.changes, self.diffs, self.problems = self.work.changes, self.work.diffs, self.work.problems
        self.authorities: dict[str, Authority] = {}
        self.files: list[dict[str, Any]] = []
        self.held: dict[str, dict[str, str]] = {}
        self.trusted: dict[str, list[str]] = {}

    def converge(self) -> None:
        """Create missing certificates and truststores, check all, and list the files of the host in `self.files`.

        Errors of single certificates become `self.problems`. Raises OSError if a file or folder cannot be read or
        written.
        """
        self.problems += input_problems(self.host, self.settings)
        if self.problems:
            return
        self.work.check_folders()
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
                    self.files.append({**file, **_function(store)})

    @property
    def directories(self) -> list[dict[str, str]]:
        """Dicts {path, group, mode} of the directories that contain files of the host; only `group` may read them."""
        groups = {os.path.dirname(file["path"]): file["group"] for file in reversed(self.files)}
        return [{"path": path, "group": group, "mode": "0750"} for path, group in sorted(groups.items())]

    def known(self) -> list[x509.Certificate]:
        """Return all CA certificates that the truststores of this host contain.

        Files that cannot be read are skipped: they are reported as problems of their truststores.
        """
        certificates = [item for authority in self.authorities.values() for item in authority.certificates]
        for path in {path for store in self.settings["truststores"] for path in store["extra"]}:
            with suppress(CertificateError, OSError):
                certificates += certificates_in(read(path, "the CA certificate"), path)
        return certificates

    def certificate(self, item: Mapping[str, Any]) -> None:
        """Bring the certificate that `item` declares, an entry of pki_certificates, to its declared state.

        Also adds its file to `self.files`. Raises CertificateError if a file is invalid or peers would reject the
        certificate, and OSError if a file cannot be read or written.
        """
        subject = names.text(subject_name(item["subject"]))
        spec = CertificateSpec(self.host, item["name"], subject, tuple(item["names"]), tuple(item["usage"]))
        issuer = self.authorities[item["authority"]]
        path = self.work.folder / "certificates" / self.host / f"{item['name']}.pem"
        source = item["source"] or self.settings["source"]
        outside = {authority["name"] for authority in self.settings["authorities"] if authority["certificate"]}
        if source == "own" and item["authority"] in outside:
            raise CertificateError(CERTIFICATE_SOURCE_OWN, authority=item["authority"])
        if source == "own":
            issue_if_due(self.work, spec, issuer, path)
        else:
            key, certificates = provided(item) if source == "provided" else requested(self.work, spec)
            use_certificate(self.work, spec, key, certificates, issuer, path, self.known())
        if exists(path):
            self.held[item["name"]] = {**held(path), "path": item["path"] or ""}
        if item["path"]:
            used = keystore(self.work, item["name"], path) if item["format"] == "pkcs12" else path
            file = {"path": item["path"], "source": str(used), "group": item["group"], "mode": "0640"}
            self.files.append({**file, **_function(item)})


def _function(item: Mapping[str, Any]) -> dict[str, str]:
    return {"function": item["function"]} if item.get("function") else {}


def held(path: Path) -> dict[str, str]:
    """Return {subject, issuer, serial, until} of the first certificate in a PEM file.

    `issuer` is the subject of the CA that peers must trust, `serial` is hexadecimal, `until` is the end date
    (YYYY-MM-DD). Raises CertificateError if the file contains no certificate, and OSError if it cannot be read.
    """
    leaf, *intermediates = certificates_in(path.read_bytes(), path)
    return {
        "subject": names.text(leaf.subject),
        "issuer": required_ca([leaf, *intermediates]),
        "serial": f"{leaf.serial_number:x}",
        "until": day(leaf.not_valid_after_utc),
    }
