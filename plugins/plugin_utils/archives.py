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

# How a transfer fails: one that ends too early is no OSError.
UNREAD = (OSError, http.client.HTTPException)


class ArchiveError(Exception):
    """An archive that is missing or differs from its checksum; the text contains the advice."""


def cache() -> Path:
    """Return the folder of fetched archives: $XDG_CACHE_HOME/millrace or ~/.cache/millrace."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millrace"


def is_url(source: str) -> bool:
    """Tell a URL from a path."""
    return re.match(r"^[a-z]+://", source) is not None


def opened(url: str) -> Any:
    """Return the response to a request, for the caller to read and close. Raises OSError."""
    return urllib.request.urlopen(url, timeout=60, context=trusting(None))


def expected(checksum: str) -> str:
    """Return the 128 hexadecimal digits of `checksum` (sha512:HEX, sha512:FILE or sha512:URL).

    Raises ArchiveError if it has another form or the file cannot be read.
    """
    algorithm, _, value = checksum.partition(":")
    if algorithm != "sha512" or not value:
        raise ArchiveError(f"checksum = {checksum!r}: not of the form sha512:HEX, sha512:FILE or sha512:URL")
    if not re.fullmatch(r"[0-9a-fA-F]{128}", value):
        try:
            # No file of checksums is longer; another, as the archive itself, holds any bytes.
            with opened(value) if is_url(value) else open(value, "rb") as stream:
                text = stream.read(1 << 16).decode(errors="replace")
        except UNREAD as error:
            why = getattr(error, "reason", error.__class__.__name__)
            wrong = f"checksum file {value}: cannot be read ({why})"
            raise ArchiveError(f"{wrong}; run `make archives`, or name another") from error
        # Apache's own files break the digits into groups and lines, with or without the file's name before a colon.
        value = "".join(re.findall(r"\b[0-9a-fA-F]{8,128}\b", text.split(":", 1)[-1]))[:128]
        if not re.fullmatch(r"[0-9a-fA-F]{128}", value):
            raise ArchiveError(f"checksum = {checksum}: holds no SHA-512 (128 hexadecimal digits)")
    return value.lower()


def local(source: str, checksum: str) -> Path:
    """Return a file on this machine with the content of `source` (a path or a URL) and the SHA-512 `checksum`.

    A URL is fetched once, into the cache. Raises ArchiveError if the archive is missing or differs.
    """
    if is_url(source):
        path = cache() / f"{checksum[:16]}-{source.rsplit('/', 1)[-1]}"
        if not path.exists():
            fetch(source, path)
    else:
        path = Path(source)
        if not path.is_file():
            raise ArchiveError(
                f"{source}: no such file on the control node; run `make archives`, or set a path or URL of your own"
            )
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha512").hexdigest()
    if found != checksum:
        if is_url(source):
            path.unlink()
        raise ArchiveError(
            f"{source}: SHA-512 is {found[:16]}..., declared is {checksum[:16]}..., so it is damaged or "
            "another release; "
            "correct the checksum or the archive"
        )
    return path


def zookeeper_client(path: Path) -> tuple[int, ...]:
    """Return the version of the ZooKeeper client library in a Kafka archive; () if there is none.

    Raises ArchiveError if the archive has the right checksum and yet cannot be read.
    """
    try:
        with tarfile.open(path) as archive:
            found = (re.search(r"/libs/zookeeper-(\d+(?:\.\d+)+)\.jar$", member.name) for member in archive)
            return next((tuple(map(int, match.group(1).split("."))) for match in found if match), ())
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        words = str(error).partition("\n")[0].rstrip(":")
        wrong = f"{path}: the SHA-512 is the declared one, and the archive cannot be read ({words})"
        raise ArchiveError(f"{wrong}; fetch it again, and take the checksum from where it is published") from error


def fetch(url: str, path: Path) -> None:
    """Download `url` to `path`, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream, opened(url) as answer:
            while chunk := answer.read(1 << 20):
                stream.write(chunk)
        os.rename(new, path)
    except UNREAD as error:
        raise ArchiveError(f"{url}: cannot be fetched: {error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
