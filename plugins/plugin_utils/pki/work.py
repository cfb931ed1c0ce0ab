"""What one call notes and writes for one host, in the folder of the control node; no Ansible import."""

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

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import CertificateError
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import Before, listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

PLACEHOLDER = "(made by a real run)\n"


def there(path: Path) -> bool:
    """Tell whether a path leads to something. Raises OSError where that cannot be told.

    Python's own (Path.exists) says no, from 3.14 on, also where a directory on the way may not be read.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last: no path at all, with a NUL in it
        return False
    return True


class Work:
    """The notes of one call: `changes`, a line each; `diffs`, Ansible's before/after without any secret; `problems`."""

    def __init__(
        self,
        host: str,
        settings: Mapping[str, Any],
        check_mode: bool,
        now: datetime | None = None,
        before: Before | None = None,
        requests: bool = False,
    ) -> None:
        """Take what Pki takes."""
        self.host, self.settings, self.check_mode, self.requests = host, settings, check_mode, requests
        self.folder = Path(settings["directory"])
        self.before = before or Before(self.folder)
        self.now = now or datetime.now(UTC)
        self.changes: list[str] = []
        self.diffs: list[dict[str, str]] = []
        self.problems: list[Problem] = []

    @contextmanager
    def step(self, variable: str) -> Iterator[None]:
        """Take one step; a file that cannot be used is a problem and not the end."""
        try:
            yield
        except CertificateError as error:
            code = f"CERTIFICATE_{error.code}"
            self.problems.append(Problem((self.host,), variable, code, None, error.wrong, error.advice))

    def reach(self) -> None:
        """Look whether the folder and those in it are folders, where they are there at all. Raises OSError.

        A link to a disk that is not mounted is no folder that is not there yet: nothing is made in its place.
        """
        for path in (self.folder, *(self.folder / name for name in ("authorities", "certificates"))):
            if path.is_symlink() and not there(path):
                raise OSError(errno.ENOENT, f"it leads to {path.readlink()}, which is not there", str(path))
            if there(path) and not path.is_dir():
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))

    def act(self, change: str, where: Path, before: str, after: str, request: bool = False) -> bool:
        """Note a change; false when it must not be made.

        That is in check mode, and before requests are answered all but these.
        """
        if self.requests and not request:
            return False
        self.changes.append(change)
        self.diffs.append({"before_header": str(where), "after_header": str(where), "before": before, "after": after})
        return not self.check_mode

    def write(self, path: Path, data: bytes, mode: int = 0o600) -> None:
        """Put a file in its place, whole or not at all; nobody else can read it at any moment.

        Raises OSError with the path, which a full disk alone would not name.
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
    def alone(self) -> Iterator[None]:
        """Hold the lock of the folder: the hosts' calls run side by side, and one of them makes the CA."""
        if self.check_mode:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.folder / ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def trusted_by_all(self, new: str, path: Path) -> None:
        """Refuse a certificate from another CA (its subject) than before while somebody trusts only the old one.

        Raises CertificateError.
        """
        old = self.before.issuer(path)
        lacking = self.before.trusting(old, but_not=new) if old and new and old != new else []
        if lacking:
            wrong = f"it is to be from {new}, and {listed(lacking)}, who trust {old}, do not trust that yet: "
            advice = "first let every truststore hold both CAs, and run (docs/security.md)"
            raise CertificateError("STEP", f"{wrong}they would refuse this host", advice)
