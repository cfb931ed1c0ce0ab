"""Tests whether a path exists."""

from __future__ import annotations

from pathlib import Path


def exists(path: Path) -> bool:
    """Tell whether a path exists; raise if that cannot be found out.

    From Python 3.14 on, Path.exists also returns False if the permission to look is missing.

    Raises:
        OSError: the path cannot be examined, for example because a permission is missing.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
