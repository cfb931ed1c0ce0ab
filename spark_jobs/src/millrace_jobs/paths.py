"""Tests whether a path exists."""

from __future__ import annotations

from pathlib import Path


def exists(path: Path) -> bool:
    """Tell whether a path exists. From Python 3.14 on, Path.exists returns False also without permission to look.

    Raises:
        OSError: it cannot be determined.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
