"""Reads which CAs hosts trusted before a run, so that a CA is replaced in steps that disconnect no host."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import CertificateError, certificates_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import required_ca


def first_three(hosts: Sequence[str]) -> str:
    """Return the names of the first three hosts as text, then how many more hosts there are."""
    more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
    return f"{', '.join(hosts[:3])}{more}"


class PreviousState:
    """The certificates and truststores in the pki folder as they were before the run.

    Each file is read once, when it is first used. The first pass over the hosts is in check mode, so files are read
    before the run writes any.
    """

    def __init__(self, folder: Path, ports: Sequence[Mapping[str, Any]] = ()) -> None:
        """`folder` is the value of pki_directory. `ports` are dicts {host, authorities}: which CAs a TLS port accepts.

        The ports matter after an interrupted run: a host may still use older files than those in the folder.
        """
        self.folder, self.ports = folder / "certificates", ports
        self._known: dict[Path, tuple[str, set[str]]] = {}

    def _read(self, path: Path) -> tuple[str, set[str]]:
        """Return (CA subject, set of subjects) for a file of the pki folder.

        For a file with a private key, the first is the CA that peers must trust for its certificate, and the set is
        empty. For a truststore, the first is '' and the set contains the subjects of its CAs.
        """
        if path not in self._known:
            known: tuple[str, set[str]] = "", set()
            with contextlib.suppress(CertificateError, FileNotFoundError, NotADirectoryError):
                data = path.read_bytes()
                certificates = certificates_in(data, path)
                if b"PRIVATE KEY" in data:
                    known = required_ca(certificates), set()
                else:
                    known = "", {names.text(certificate.subject) for certificate in certificates}
            self._known[path] = known
        return self._known[path]

    def _files(self) -> list[Path]:
        """Return all .pem files of all hosts. Raises OSError if a directory cannot be read, which glob would ignore."""
        hosts = list[os.DirEntry[str]]()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            hosts += [host for host in os.scandir(self.folder) if host.is_dir()]
        return [Path(file.path) for host in hosts for file in os.scandir(host.path) if file.name.endswith(".pem")]

    def issuer(self, path: Path) -> str:
        """Return the subject of the CA that peers must trust for the certificate at `path`; '' if there is no file."""
        return self._read(path)[0]

    def trusted(self, host: str, name: str) -> set[str]:
        """Return the subjects of the CAs in the truststore of a host; `name` is the truststore's file name."""
        return self._read(self.folder / host / name)[1]

    def trusting(self, old: str, but_not: str) -> list[str]:
        """Return the hosts that trust the CA `old` but do not trust the CA `but_not`; both are subjects of CAs."""
        bundles = {path: self._read(path)[1] for path in self._files()}
        in_files = {path.parent.name for path, names in bundles.items() if old in names and but_not not in names}
        accepted = {port["host"]: port["authorities"] for port in self.ports}
        at_ports = {host for host, subjects in accepted.items() if old in subjects and but_not not in subjects}
        return sorted(in_files | at_ports)

    def issued_by(self, name: str) -> list[str]:
        """Return the hosts that have a certificate from the CA with the subject `name`."""
        return sorted({path.parent.name for path in self._files() if self._read(path)[0] == name})
