"""Tests whether a path exists."""

from __future__ import annotations

from pathlib import Path


def exists(path: Path) -> bool:
    """Tell whether a path exists; raise OSError if the file system does not let this process look.

    Path.exists is not used because it returns False in that case from Python 3.14 on.

    Raises:
        OSError: the path cannot be examined, for example because a permission is missing.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
