"""The CAs between which a site moves: its own, another of its own, and one of somebody else."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from faults.inventory import Inventory
from operations.conftest import Operator
from unit.certificate_maker import Ca, pem

AUTHORITIES = [
    {"name": "infra", "subject": "CN=Infra CA,O=lab"},
    {"name": "clients", "subject": "CN=Client CA,O=lab"},
    {"name": "infra-2027", "subject": "CN=Infra CA 2027,O=lab"},
]
OLD, NEW, NEXT = "infra", "corporate", "infra-2027"


class Corporate:
    """A CA outside of the site, which signs requests through an intermediate one."""

    def __init__(self, pki: Path, folder: Path) -> None:
        """Its certificate goes to `folder`; requests are found in the site's own folder, and answered there."""
        end = datetime.now(UTC) + timedelta(days=90)
        root = Ca("Corporate CA", end=end)
        self.issuing, self.end, self.pki, self.file = Ca("Issuing CA", root, end), end, pki, folder / "corporate.pem"
        self.file.write_bytes(pem(root.certificate))

    def sign(self) -> list[str]:
        """Answer every request; return the answers' names."""
        requests = sorted((self.pki / "requests").glob("*.csr"))
        (self.pki / "signed").mkdir(exist_ok=True)
        for request in requests:
            certificate = self.issuing.sign_request(request.read_bytes(), self.end)
            (self.pki / "signed" / f"{request.stem}.pem").write_bytes(pem(certificate, self.issuing.certificate))
        return [f"{request.stem}.pem" for request in requests]

    def clear(self) -> None:
        """Leave no request and no answer behind."""
        for folder in ("requests", "signed"):
            shutil.rmtree(self.pki / folder, ignore_errors=True)


@contextmanager
def interrupted(inventory: Inventory, more: bytes) -> Iterator[None]:
    """The bundles of the control node as a run leaves them that ended before any host got its own."""
    bundles = {path: path.read_bytes() for path in (inventory.pki / "certificates").glob("*/ca.pem")}
    try:
        for path, data in bundles.items():
            path.write_bytes(data + more)
        yield
    finally:
        for path, data in bundles.items():
            path.write_bytes(data)


class Steps:
    """Runs rotate_certificates.yml with other CAs than the inventory names."""

    def __init__(self, operator: Operator, corporate: Path | None = None) -> None:
        """`corporate` is the certificate of the outside CA."""
        self.operator, self.settings = operator, operator.folder / "settings.json"
        self.authorities = [*AUTHORITIES, *([{"name": NEW, "certificate": str(corporate)}] if corporate else [])]

    def take(self, trusted: list[str], signs: str, renew: bool) -> tuple[int, str]:
        """Take one step: whom all trust, who signs, whether certificates are made anew.

        Return exit status and output.
        """
        values = {
            "pki_authorities": self.authorities,
            "infra_trusted": trusted,
            "infra_authority": signs,
            "rotate_renew": renew,
        }
        self.settings.write_text(json.dumps({**values, "pki_source": "csr" if signs == NEW else "own"}))
        done = self.operator.play("rotate_certificates", "-e", f"@{self.settings}")
        return done.code, done.output
