"""Whether something is at a path."""

from __future__ import annotations

from pathlib import Path


def there(path: Path) -> bool:
    """Whether something is there; Path.exists says no, from Python 3.14 on, also of what may not be looked at.

    Raises:
        OSError: it cannot be told.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
