"""What the folder of certificates held before a run, so that a CA is replaced in steps that cut nobody off; no Ansible import."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from .certificates import CertificateError, certificates_in


def listed(hosts: Sequence[str]) -> str:
    """Return the first three of them, and how many more."""
    more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
    return f"{', '.join(hosts[:3])}{more}"


class Before:
    """Read once, when it is first asked for, which is before the first certificate of another CA is written."""

    def __init__(self, folder: Path) -> None:
        """`folder` is pki_directory."""
        self.folder = folder / "certificates"

    @cached_property
    def _held(self) -> tuple[dict[Path, str], dict[Path, set[str]]]:
        """Return {certificate: its issuer} and {bundle of CAs: their subjects}."""
        leaves: dict[Path, str] = {}
        bundles: dict[Path, set[str]] = {}
        for path in sorted(self.folder.glob("*/*.pem")):
            data = path.read_bytes()
            try:
                found = certificates_in(data, path)
            except CertificateError:
                continue
            if b"PRIVATE KEY" in data:
                leaves[path] = found[0].issuer.rfc4514_string()
            else:
                bundles[path] = {certificate.subject.rfc4514_string() for certificate in found}
        return leaves, bundles

    def issuer(self, path: Path) -> str:
        """Return who issued a certificate of the folder, '' where it was not there."""
        return self._held[0].get(path, "") if path.exists() else ""

    def trusted(self, host: str, name: str) -> set[str]:
        """Return the subjects of the CAs in a host's bundle."""
        path = self.folder / host / name
        return self._held[1].get(path, set()) if path.exists() else set()

    def trusting(self, old: str, but_not: str) -> list[str]:
        """Return the hosts that trust one CA and not another."""
        return sorted({path.parent.name for path, names in self._held[1].items() if old in names and but_not not in names})

    def issued_by(self, name: str) -> list[str]:
        """Return the hosts with a certificate from this CA."""
        return sorted({path.parent.name for path, issuer in self._held[0].items() if issuer == name})
