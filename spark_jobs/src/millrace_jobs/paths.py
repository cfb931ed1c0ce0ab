"""Tests whether a path exists."""

from __future__ import annotations

from pathlib import Path


def exists(path: Path) -> bool:
    """Tell whether a path exists.

    Path.exists of Python 3.14 and later also returns False if the permission to look is missing; this function raises.

    Raises:
        OSError: the path cannot be examined, such as for missing permissions.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
