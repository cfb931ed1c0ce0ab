"""Lists the changes to one host's certificates, and writes their files to the pki folder of the control node."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import PreviousState, first_three
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import CertificateError
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

PLACEHOLDER = "(made by a real run)\n"
"""Content of a file in check mode, where it does not exist yet."""

CERTIFICATE_STEP = ProblemKind(
    "CERTIFICATE_STEP",
    "the new certificate is from {new}, but {peers}, which trust {old}, do not trust that CA yet: they would reject "
    "this host",
    "first put both CAs into every truststore, and run (docs/security.md)",
)


def exists(path: Path) -> bool:
    """Tell whether a path exists; raise OSError if that cannot be determined.

    Path.exists returns False, from Python 3.14 on, also if a parent directory may not be read.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the path
        return False
    return True


class Work:
    """Lists and writes the changes to the certificates of one host; in check mode nothing is written.

    - `changes`: one text for each change;
    - `diffs`: dicts for Ansible's --diff, without secrets;
    - `problems`: list of Problem.
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
        """`settings` is {input of the role pki without the prefix `pki_`: value}; `now` is for tests.

        `previous` is the state of the pki folder before the run. With `requests`, only private keys and signing
        requests for an outside CA are written.
        """
        self.host, self.settings, self.check_mode, self.requests = host, settings, check_mode, requests
        self.folder = Path(settings["directory"])
        self.previous = previous or PreviousState(self.folder)
        self.now = now or datetime.now(UTC)
        self.changes: list[str] = []
        self.diffs: list[dict[str, str]] = []
        self.problems: list[Problem] = []

    @contextmanager
    def step(self, variable: str) -> Iterator[None]:
        """Context manager: a CertificateError inside the block becomes a problem of this inventory variable."""
        try:
            yield
        except CertificateError as error:
            self.problems.append(error.kind.problem((self.host,), variable, **error.details))

    def check_folders(self) -> None:
        """Raise OSError if the pki folder, or a subfolder, exists and is not a directory.

        Also raises OSError if it is a link to a missing directory, for example on a disk that is not mounted: nothing
        may be created in its place.
        """
        for path in (self.folder, *(self.folder / name for name in ("authorities", "certificates"))):
            if path.is_symlink() and not exists(path):
                raise OSError(errno.ENOENT, f"it is a link to {path.readlink()}, which does not exist", str(path))
            if exists(path) and not path.is_dir():
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))

    def record(self, change: str, where: Path, before: str, after: str, request: bool = False) -> bool:
        """Add a change, and its diff of the file `where`, to the lists; return whether the caller must make the change.

        `before` and `after` are texts for the diff. Returns False in check mode. If this Work writes only requests, a
        change with `request` false is neither added nor made.
        """
        if self.requests and not request:
            return False
        self.changes.append(change)
        self.diffs.append({"before_header": str(where), "after_header": str(where), "before": before, "after": after})
        return not self.check_mode

    def write(self, path: Path, data: bytes, mode: int = 0o600) -> None:
        """Write a file atomically, with the permissions `mode`; at no moment does the file have wider permissions.

        Raises OSError with the path of the file, also if the disk is full.
        """
        try:
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
        except OSError as error:
            raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error

    @contextmanager
    def folder_lock(self) -> Iterator[None]:
        """Context manager: lock the pki folder during a block, so that parallel tasks of hosts create a CA once."""
        if self.check_mode:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.folder / ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def require_trust(self, new: str, path: Path) -> None:
        """Raise CertificateError if some hosts trust the present CA of a certificate, but not its new CA.

        These hosts would reject the new certificate. `new` is the subject of the new CA, `path` is the file of the
        certificate.
        """
        old = self.previous.issuer(path)
        hosts = self.previous.trusting(old, but_not=new) if old and new and old != new else []
        if hosts:
            raise CertificateError(CERTIFICATE_STEP, new=new, old=old, peers=first_three(hosts))
