"""What goes into an archive and how it is written: same input, same bytes; a wrong jar is refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

EPOCH = 315532800  # 1980-01-01, the first moment that a zip file, and so a wheel, can name
GZIP_LEVEL = 0  # jars are compressed already: level 1 takes 2.5 s to save 4 MB of 120
SHOWN = 10  # lines of a long list of problems


class BuildError(Exception):
    """What is wrong and what to do, in words for the person who runs the build."""


@dataclass(frozen=True)
class Tree:
    """The shape of a Java archive; the list of its jars is packaging/<target>/pom.xml."""

    top: str  # folder inside the archive, {} is the version
    suffix: str
    libs: str  # folder of the jars below top
    run: str = ""  # script in bin/ that the launchers call; without one the archive is jars alone


@dataclass(frozen=True)
class Launcher:
    """A line of launchers.tsv."""

    script: str
    profile: str
    main_class: str
    arguments: str = ""  # in front of the user's
    help: str = ""  # all arguments, in place of --help, for a tool that does not know it


@dataclass(frozen=True)
class Entry:
    """A regular file of an archive; `data` is a path to copy or the content itself."""

    name: str
    data: Path | bytes
    mode: int = 0o644


def read(path: Path) -> str:
    """Return the text of an input; a missing one is named."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BuildError(f"{path} cannot be read ({error.strerror}), and the build needs it") from error


def write_tar(path: Path, entries: Iterable[Entry], compress: bool) -> None:
    """Write entries sorted by name, with their folders, owned by root, all at one fixed time."""
    by_name = {entry.name: entry for entry in entries}
    folders = {str(parent) for name in by_name for parent in Path(name).parents} - {"."}
    with path.open("wb") as raw:
        stream = gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) if compress else raw
        with stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name in sorted(folders | by_name.keys()):
                add(tar, name, by_name.get(name))


def add(tar: tarfile.TarFile, name: str, entry: Entry | None) -> None:
    """Add a file, or a folder where there is no entry."""
    member = tarfile.TarInfo(name)
    member.mtime, member.uname, member.gname = EPOCH, "root", "root"
    if entry is None:
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
        return
    member.mode = entry.mode
    with entry.data.open("rb") if isinstance(entry.data, Path) else io.BytesIO(entry.data) as data:
        member.size = data.seek(0, os.SEEK_END)
        data.seek(0)
        tar.addfile(member, data)


def read_launchers(table: Path) -> list[Launcher]:
    """Return the launchers of a table, where "-" is an empty cell; a missing table has none."""
    launchers = []
    for number, line in enumerate(read(table).splitlines() if table.exists() else [], 1):
        if line.startswith("#") or not line.strip():
            continue
        cells = line.split("\t")
        if not 3 <= len(cells) <= 5 or not all(cells):
            raise BuildError(f"{table}:{number}: wants script, profile, class[, arguments[, help]]")
        launchers.append(Launcher(*("" if cell == "-" else cell for cell in cells)))
    return launchers


def launcher_script(launcher: Launcher, run: str) -> bytes:
    """Return the script of a launcher; it finds `run` beside itself, through links."""
    profile = f"--profile {launcher.profile}" if launcher.profile not in ("", "tool") else ""
    start = f'exec "$(dirname "$(readlink -f "$0")")/{run}"'

    def line(*words: str) -> str:
        return " ".join(word for word in (start, profile, launcher.main_class, *words) if word) + "\n"

    usage = f'[ "${{1-}}" != --help ] || {line(launcher.help)}' if launcher.help else ""
    return ("#!/bin/sh\n" + usage + line(launcher.arguments, '"$@"')).encode()


def missing_classes(launchers: Sequence[Launcher], jars: Iterable[Path]) -> list[str]:
    """Return one line for each launcher whose main class is in no jar."""
    known: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as content:
            known.update(content.NameToInfo)
    gone = (item for item in launchers if item.main_class.replace(".", "/") + ".class" not in known)
    return [f"{item.script}: no jar holds {item.main_class}" for item in gone]


def licences(top: str, jars: Iterable[Path]) -> Iterator[Entry]:
    """Yield the licence and notice texts that the jars bring, as licenses/<jar>/<name>."""
    for jar in jars:
        with zipfile.ZipFile(jar) as content:
            for name in content.namelist():
                if re.fullmatch(r"(META-INF/)?(LICENSE|NOTICE)(\.(txt|md))?", name, re.IGNORECASE):
                    yield Entry(f"{top}/licenses/{jar.stem}/{Path(name).name}", content.read(name))


def tree_entries(tree: Tree, top: str, folder: Path, jars: Sequence[Path]) -> list[Entry]:
    """Return the content of a Java archive made from `folder` and the jars.

    Raises BuildError naming each launcher whose main class does not exist.
    """
    table = folder / "launchers.tsv"
    launchers = read_launchers(table)
    problems = missing_classes(launchers, jars)
    if problems:
        raise BuildError(f"{table} does not fit this version:\n  " + "\n  ".join(problems))
    libs = f"{top}/{tree.libs}" if tree.libs else top
    entries = [Entry(f"{libs}/{jar.name}", jar) for jar in jars]
    if not tree.run:
        return entries
    for path in sorted(path for sub in ("bin", "config", "conf") for path in (folder / sub).glob("*")):
        mode = 0o755 if path.parent.name == "bin" else 0o644
        entries.append(Entry(f"{top}/{path.relative_to(folder)}", path, mode))
    for item in launchers:
        entries.append(Entry(f"{top}/bin/{item.script}", launcher_script(item, tree.run), 0o755))
    return [*entries, Entry(f"{top}/libs.sha256", folder / "libs.sha256"), *licences(top, jars)]


def sha256_of(jars: Iterable[Path]) -> dict[str, str]:
    """Return {jar: sha256} of the files, sorted by name."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(jars)}


def check_jars(jars: Sequence[Path], listing: Path) -> None:
    """Raise BuildError naming each jar that differs from the list, is not on it, or is on it but missing."""
    lines = (line.split() for line in read(listing).splitlines()) if listing.exists() else ()
    pinned = {cells[1]: cells[0] for cells in lines if len(cells) == 2}
    found = sha256_of(jars)
    problems = [f"{jar}: is not on the list" for jar in found.keys() - pinned.keys()]
    problems += [f"{jar}: is on the list, but was not resolved" for jar in pinned.keys() - found.keys()]
    for jar in found.keys() & pinned.keys():
        if found[jar] != pinned[jar]:
            problems.append(f"{jar}: its sha256 is {found[jar]}, pinned is {pinned[jar]}")
    if problems:
        rest = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise BuildError(
            f"the jars are not those of {listing}:\n  "
            + "\n  ".join([*sorted(problems)[:SHOWN], *rest])
            + "\n  After a change of pom.xml: run again with --update-checksums and review the diff."
            + "\n  Without one: do not use these jars; the repository serves other files than it did."
        )
