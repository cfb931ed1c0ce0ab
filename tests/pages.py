"""Pages that are written by `make docs`, wholly or between two lines of theirs; what has lost its place is said."""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def between(page: Path, text: str, begin: str, end: str, made: str) -> str:
    """Return a page's text with `made` between two markers of it.

    Raises ValueError, which names page and markers, where they are not there once each, one after the other.
    """
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if (text.count(begin), text.count(end), rest.count(end)) != (1, 1, 1):
        raise ValueError(
            f"{shown(page)}: no single place for what is generated, so nothing was written: put a line {begin!r} and, "
            f"after it, a line {end!r} where it belongs, once"
        )
    return f"{before}{begin}{made}{end}{after}"


def shown(page: Path) -> str:
    """Return a page as it is typed in the checkout."""
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else str(page)


def write(page: Path, make: Callable[[], str]) -> None:
    """Write a page, and say so; end with the reason where it cannot be made."""
    try:
        text = make()
    except ValueError as error:
        sys.exit(str(error))
    page.write_text(text, encoding="utf-8")
    print(f"{shown(page)}: written")
