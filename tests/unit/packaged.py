"""The folder packaging/, and made-up files for it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


def put(path: Path, text: str, mode: int = 0o644) -> Path:
    """Write a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def make_jar(path: Path, *members: str) -> Path:
    """Write a jar that holds the members."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        for member in members:
            jar.writestr(zipfile.ZipInfo(member), "x")
    return path


def pin(listing: Path, *jars: Path) -> None:
    """Write the checksums of the jars as the pinned ones."""
    sums = ((hashlib.sha256(jar.read_bytes()).hexdigest(), jar.name) for jar in jars)
    put(listing, "".join(f"{digest}  {name}\n" for digest, name in sums))
