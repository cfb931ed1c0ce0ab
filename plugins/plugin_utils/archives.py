"""Fetches archives and verifies their checksums, on the control node."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import re
import tarfile
import tempfile
import urllib.request
import zlib
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import trusting

# Errors of a transfer; if it ends too early, that is not an OSError.
READ_ERRORS = (OSError, http.client.HTTPException)


class ArchiveError(Exception):
    """Raised if an archive or checksum file is missing or unreadable, or if the checksum differs.

    `message` is what is wrong and `advice` what to do; the text of the error is both.
    """

    def __init__(self, message: str, advice: str = "correct the archive or its checksum") -> None:
        """Store `message` and `advice`."""
        super().__init__(f"{message}; {advice}")
        self.message, self.advice = message, advice


def cache() -> Path:
    """Return the folder that stores downloaded archives: $XDG_CACHE_HOME/millrace or ~/.cache/millrace."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millrace"


def is_url(source: str) -> bool:
    """Tell whether the text is a URL such as https://...; any other text is a path."""
    return re.match(r"^[a-z]+://", source) is not None


def open_url(url: str) -> Any:
    """Return the open HTTP response for a URL; the caller reads and closes the response.

    Raises OSError if the server cannot be reached, does not respond for 60 s or reports an error.
    """
    return urllib.request.urlopen(url, timeout=60, context=trusting(None))


def checksum_source(checksum: str) -> str | None:
    """Return what follows `sha512:` in a declared checksum: digits, a path or a URL; None if it is no SHA-512."""
    algorithm, _, value = checksum.partition(":")
    return value.strip() or None if algorithm.strip().lower() == "sha512" else None


def expected(checksum: str) -> str:
    """Return the SHA-512 that a declared `checksum` contains or points to, as 128 lower-case hexadecimal digits.

    `checksum` is sha512:HEX, sha512:FILE or sha512:URL. Raises ArchiveError if `checksum` has another form, or if the
    file or URL cannot be read or contains no SHA-512.
    """
    value = checksum_source(checksum)
    if value is None:
        raise ArchiveError(f"checksum = {checksum!r}: not of the form sha512:HEX, sha512:FILE or sha512:URL")
    if not re.fullmatch(r"[0-9a-fA-F]{128}", value):
        try:
            # No file of checksums is longer. Another file, such as the archive itself, may contain any bytes.
            with open_url(value) if is_url(value) else open(value, "rb") as stream:
                text = stream.read(1 << 16).decode(errors="replace")
        except READ_ERRORS as error:
            reason = getattr(error, "reason", error.__class__.__name__)
            message = f"checksum file {value}: cannot be read ({reason})"
            raise ArchiveError(message, "run `make archives`, or set another file") from error
        # Apache's own files break the digits into groups and lines, with or without the file's name before a colon.
        value = "".join(re.findall(r"\b[0-9a-fA-F]{8,128}\b", text.split(":", 1)[-1]))[:128]
        if not re.fullmatch(r"[0-9a-fA-F]{128}", value):
            raise ArchiveError(f"checksum = {checksum}: contains no SHA-512 (128 hexadecimal digits)")
    return value.lower()


def local(source: str, checksum: str) -> Path:
    """Return the path on this machine of an archive whose SHA-512 was verified.

    `source` is the path or URL of the archive; a URL is downloaded once, into `cache()`. `checksum` is 128 lower-case
    hexadecimal digits. Raises ArchiveError if the file is missing, the download fails or the SHA-512 differs; in the
    last case a downloaded file is deleted.
    """
    if is_url(source):
        path = cache() / f"{checksum[:16]}-{source.rsplit('/', 1)[-1]}"
        if not path.exists():
            fetch(source, path)
    else:
        path = Path(source)
        if not path.is_file():
            raise ArchiveError(
                f"{source}: no such file on the control node", "run `make archives`, or set a path or URL of your own"
            )
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha512").hexdigest()
    if digest != checksum:
        if is_url(source):
            path.unlink()
        raise ArchiveError(
            f"{source}: SHA-512 is {digest[:16]}..., but {checksum[:16]}... is declared: the archive is damaged or "
            "another release",
            "correct the checksum or the archive",
        )
    return path


def zookeeper_client(path: Path) -> tuple[int, ...]:
    """Return the version of the ZooKeeper client library in the Kafka archive `path`, such as (3, 8, 4).

    Returns () if the archive contains no such library. Raises ArchiveError if the file cannot be read as an archive.
    """
    version = version_in(path, "libs/zookeeper")
    return tuple(map(int, version.split("."))) if version else ()


def metrics_provider(path: Path) -> str:
    """Return the version of the provider of metrics for Prometheus in the ZooKeeper archive `path`.

    Returns '' if the archive contains none. Raises ArchiveError if the file cannot be read as an archive.
    """
    return version_in(path, "lib/zookeeper-prometheus-metrics")


def version_in(path: Path, jar: str) -> str:
    """Return the version of `jar` (folder and name, as libs/zookeeper) in the archive `path`, '' if it is absent.

    Raises ArchiveError if the file cannot be read as an archive.
    """
    try:
        with tarfile.open(path) as archive:
            versions = (re.search(rf"/{jar}-(\d+(?:\.\d+)+)\.jar$", member.name) for member in archive)
            return next((match.group(1) for match in versions if match), "")
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        text = str(error).partition("\n")[0].rstrip(":")
        message = f"{path}: has the declared SHA-512, but cannot be read as an archive ({text})"
        raise ArchiveError(message, "fetch it again, and copy the checksum from its publisher") from error


def fetch(url: str, path: Path) -> None:
    """Download `url` to the file `path`, which exists only after a complete download.

    Raises ArchiveError if the download fails.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream, open_url(url) as answer:
            while chunk := answer.read(1 << 20):
                stream.write(chunk)
        os.rename(temporary, path)
    except READ_ERRORS as error:
        raise ArchiveError(f"{url}: cannot be fetched: {error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
