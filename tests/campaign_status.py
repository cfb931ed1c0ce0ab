"""Keeps the last run of each part of the campaign in tests/last_runs/campaign.json, and prints the table of them.

A part is marked if its last run failed, or is older than DAYS days or COMMITS commits, or if there is none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import observations
from faults.inventory import ROOT

FILE = ROOT / "tests" / "last_runs" / "campaign.json"
DAYS, COMMITS = 30, 300
WRITTEN = ("tests/last_runs", "docs/seen", "docs/layouts.md", "docs/reliability.md", "docs/performance.md")
"""What parts write: they leave it changed in the checkout."""


def keep(part: str, result: str, seconds: float, seed: int, file: Path | None = None) -> None:
    """Replace what the file says of a part; `result` is "passed" or "failed"."""
    file = file or FILE
    row = {
        "date": date.today().isoformat(),
        "commit": head(),
        "result": result,
        "seconds": round(seconds),
        "seed": seed,
    }
    runs = {**observations.read(file), part: row}
    lines = ",\n".join(f'"{name}": {json.dumps(run)}' for name, run in sorted(runs.items()))
    observations.write(file, f"{{\n{lines}\n}}\n")


def head() -> str:
    """Return the commit of the checkout, with a + if files differ from it, but for those that parts write."""
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{path}" for path in WRITTEN))
    commit = git("rev-parse", "--short=10", "HEAD")
    return f"{commit}{'+' if changes else ''}"


def git(*words: str) -> str:
    """Return what a git command prints, an empty text where it fails."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def commits_since(commit: str) -> int | None:
    """Return the number of commits from a commit to HEAD; None where the commit is unknown here."""
    start = commit.rstrip("+")
    number = git("rev-list", "--count", f"{start}..HEAD") if start else ""
    return int(number) if number else None


def marks(run: Mapping[str, Any] | None, today: date, since: int | None) -> str:
    """Return what is wrong with the last run of a part: never run, failed, too long ago; "" if none is."""
    if run is None:
        return "NEVER RUN"
    old = today - date.fromisoformat(run["date"]) > timedelta(DAYS) or since is None or since > COMMITS
    return ", ".join(word for word, true in (("FAILED", run["result"] != "passed"), ("TOO LONG AGO", old)) if true)


def table(parts: Iterable[str], runs: Mapping[str, Any], today: date) -> str:
    """Return a line for each part: its last run, how many commits ago that was, and its marks."""
    lines = [f"{'part':<17}{'date':<12}{'commit':<12}{'commits ago':>11}{'seconds':>9}  result"]
    for part in parts:
        run = runs.get(part)
        since = commits_since(run["commit"]) if run else None
        mark = marks(run, today, since)
        if run is None:
            lines.append(f"{part:<17}{'-':<12}{'-':<12}{'-':>11}{'-':>9}  {mark}")
        else:
            ago = "unknown" if since is None else since
            result = f"{run['result']}{f'  <- {mark}' if mark else ''}"
            lines.append(f"{part:<17}{run['date']:<12}{run['commit']:<12}{ago:>11}{run['seconds']:>9}  {result}")
    return "\n".join(lines)


def main() -> int:
    """Print the table; always 0, for a mark is no error."""
    from campaign_parts import PARTS

    print(table(PARTS, observations.read(FILE), date.today()))
    print(f"marked: never run, failed, or not run for {DAYS} days or {COMMITS} commits (make campaign PARTS=...)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
