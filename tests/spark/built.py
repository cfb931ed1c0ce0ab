"""What a run of the tests finds in .build, and leaves there for the next: archives unpacked, class-data archives."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / ".build"


def unpacked(pattern: str) -> Path:
    """The folder with what the one archive of that name holds, unpacked once."""
    archive = next((BUILD / "archives").glob(pattern), None)
    if archive is None:
        raise FileNotFoundError(f"{BUILD}/archives has no {pattern}: run make archives")
    folder = (
        BUILD
        / "unpacked"
        / f"{archive.stem}-{hashlib.sha256(archive.with_name(f'{archive.name}.sha512').read_bytes()).hexdigest()[:12]}"
    )
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent))
        # Not Python's tarfile: that of Debian 12 knows no filter, and a newer one wants to be told.
        subprocess.run(["tar", "--extract", "--no-same-owner", "--file", archive, "--directory", new], check=True)
        (top,) = new.iterdir()
        top.rename(folder)
        new.rmdir()
    return folder


class ClassData:
    """The class-data archive of some jars and this Java: made at the end of the first JVM, used by all later ones."""

    def __init__(self, name: str, *jars: Path, more: Sequence[Path] = ()) -> None:
        """Name it by what it depends on: the jars of folders, and files."""
        java = Path(shutil.which("java") or "java").resolve()
        depends = [java, *more, *(jar for folder in jars for jar in sorted(folder.glob("*.jar")))]
        fits = [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in depends]
        self.file = BUILD / "class-data" / f"{name}-{hashlib.sha256(' '.join(fits).encode()).hexdigest()[:12]}.jsa"
        self.new = Path(f"{self.file}.new")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.new.unlink(missing_ok=True)  # of a run that was killed

    @property
    def flags(self) -> list[str]:
        """For the JVM: use the archive, or make it."""
        return [f"-XX:SharedArchiveFile={self.file}" if self.file.exists() else f"-XX:ArchiveClassesAtExit={self.new}"]

    def keep(self) -> None:
        """After the end of a JVM: what it made is whole."""
        if self.new.exists():
            self.new.rename(self.file)
