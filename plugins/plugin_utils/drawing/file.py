"""Checks where a drawing may be written, before a run, and writes it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.site import MAKER
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

DRAWING_FILE = ProblemKind(
    "DRAWING_FILE",
    "the folder {folder} does not exist",
    "create the folder, or name a file in another folder",
)
DRAWING_FILE_EMPTY = DRAWING_FILE.variant(
    message="empty, so the drawing has no file", advice="name a file, like -e drawing=site.svg, or remove it"
)
DRAWING_FILE_FOLDER = DRAWING_FILE.variant(message="a folder, not a file", advice="name a file in it, like {file}")
DRAWING_FILE_SPECIAL = DRAWING_FILE.variant(message="not a regular file", advice="name another file")
DRAWING_FILE_DENIED = DRAWING_FILE.variant(
    message="the drawing cannot be written: {error}", advice="name a file in a folder in which you may create files"
)
DRAWING_FILE_FOREIGN = DRAWING_FILE.variant(
    message="this file exists, and preflight did not draw it",
    advice="name another file, or add -e drawing_overwrite=true to replace it",
)


def problems(name: str, overwrite: bool) -> list[Problem]:
    """Return [problem] if no drawing may be written to the file `name`, else [].

    A file that exists is replaced if it is a drawing of preflight, or with `overwrite`.
    """
    if not name.strip():
        return [DRAWING_FILE_EMPTY.problem((), "drawing", name)]
    try:
        path = place(name)
        if path.is_dir():
            return [DRAWING_FILE_FOLDER.problem((), "drawing", name, file=Path(name) / "site.svg")]
        if not path.parent.is_dir():
            return [DRAWING_FILE.problem((), "drawing", name, folder=path.parent)]
        if path.exists():
            if not path.is_file():
                return [DRAWING_FILE_SPECIAL.problem((), "drawing", name)]
            if not overwrite and not is_drawing(path):
                return [DRAWING_FILE_FOREIGN.problem((), "drawing", name)]
        with tempfile.TemporaryFile(dir=path.parent):  # a folder may be writable and its file system read-only
            return []
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the path; ~ of an unknown user
        return [DRAWING_FILE_DENIED.problem((), "drawing", name, error=getattr(error, "strerror", None) or error)]


def place(name: str) -> Path:
    """Return the absolute path of a file that a user names; the target of a symbolic link."""
    return Path(os.path.realpath(Path(name.strip()).expanduser()))


def is_drawing(path: Path) -> bool:
    """Tell whether a file is a drawing that preflight wrote, by the comment at its beginning."""
    with path.open("rb") as file:
        return f"<!-- {MAKER} -->".encode() in file.read(200)


def write(name: str, text: str) -> Path:
    """Write a drawing in place of an earlier one, as a whole or not at all; return its path. Raises OSError."""
    path = place(name)
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(new, path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~mask)
        os.replace(new, path)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise
    return path
