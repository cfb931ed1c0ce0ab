"""What was trusted before a run, so that a CA is replaced in steps that cut nobody off; no Ansible import."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.tls import names
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import CertificateError, certificates_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.chains import anchor


def listed(hosts: Sequence[str]) -> str:
    """Return the first three of them, and how many more."""
    more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
    return f"{', '.join(hosts[:3])}{more}"


class Before:
    """Each file is read once, when it is first asked for: before it is written.

    The first pass, in check mode, reads whatever is needed.
    """

    def __init__(self, folder: Path, ports: Sequence[Mapping[str, Any]] = ()) -> None:
        """`folder` is pki_directory; `ports`, {host, authorities}, are what was asked of ports.

        For an interrupted run leaves hosts behind the folder.
        """
        self.folder, self.ports = folder / "certificates", ports
        self._known: dict[Path, tuple[str, set[str]]] = {}

    def _read(self, path: Path) -> tuple[str, set[str]]:
        """Return the CA that has to be trusted for a certificate ('' for none), and the subjects in a bundle of CAs."""
        if path not in self._known:
            known: tuple[str, set[str]] = "", set()
            with contextlib.suppress(CertificateError, FileNotFoundError, NotADirectoryError):
                data = path.read_bytes()
                found = certificates_in(data, path)
                if b"PRIVATE KEY" in data:
                    known = anchor(found), set()
                else:
                    known = "", {names.text(certificate.subject) for certificate in found}
            self._known[path] = known
        return self._known[path]

    def _files(self) -> list[Path]:
        """Return every host's files. Raises OSError where one may not be looked for, which glob passes over."""
        hosts = list[os.DirEntry[str]]()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            hosts += [host for host in os.scandir(self.folder) if host.is_dir()]
        return [Path(file.path) for host in hosts for file in os.scandir(host.path) if file.name.endswith(".pem")]

    def issuer(self, path: Path) -> str:
        """Return the CA that has to be trusted for a certificate of the folder, '' where it was not there."""
        return self._read(path)[0]

    def trusted(self, host: str, name: str) -> set[str]:
        """Return the subjects of the CAs in a host's bundle."""
        return self._read(self.folder / host / name)[1]

    def trusting(self, old: str, but_not: str) -> list[str]:
        """Return the hosts that trust one CA and not another."""
        bundles = {path: self._read(path)[1] for path in self._files()}
        found = {path.parent.name for path, names in bundles.items() if old in names and but_not not in names}
        asked = {port["host"]: port["authorities"] for port in self.ports}
        ports = {host for host, names_there in asked.items() if old in names_there and but_not not in names_there}
        return sorted(found | ports)

    def issued_by(self, name: str) -> list[str]:
        """Return the hosts with a certificate from this CA."""
        return sorted({path.parent.name for path in self._files() if self._read(path)[0] == name})
