"""Tells which layers of tests CI may leave out: their inputs have not changed since a landed commit whose CI ran them.

`tests/last_runs/landed.json` holds the number of landings and, for each layer of INPUTS, the last commit that landed
after a run of the layer. `make landed`, the first command in a checkout of what has landed, brings it up to date. As
programs: `left-out` prints the layers that .ci/run leaves out, `landed` writes the file. Standard library only: CI asks
before there is an environment.

Nothing is left out of every tenth landing, where what all layers share has changed, or where the file or its commits
are unknown. `make test` by hand runs everything.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "last_runs" / "landed.json"
ALL_EVERY = 10
"""Of so many landings one runs all layers."""
SHARED = (
    r"\.ci/.*|Makefile|requirements.*|pyproject\.toml|ansible\.cfg|tests/(run\.sh|(conftest|costs|ci_layers)\.py)"
    r"|lab/(packages\.txt|up\.py)|collections/.*|galaxy\.yml|meta/.*"
)
# What a layer reads, as patterns of paths; tests/unit/test_ci_layers.py compares them with the imports of its tests.
INPUTS = {
    "spark": r"spark_jobs/.*|packaging/.*|tests/spark/.*|tests/bench_jobs_programs\.py",
    "lab": r"lab/.*|molecule/.*|inventories/.*|plugins/module_utils/(tls|zookeeper)/.*|tests/(lab|faults)/.*|"
    r"playbooks/.*|roles/.*|functions/.*|plugins/.*|spark_jobs/.*|packaging/.*",
}


def left_out(record: dict[str, Any]) -> list[str]:
    """Return the layers that need no run for HEAD, by a record of landings."""
    if not record or (record["landings"] + 1) % ALL_EVERY == 0:
        return []
    return [layer for layer, inputs in INPUTS.items() if unchanged(record["layers"].get(layer), f"{inputs}|{SHARED}")]


def unchanged(commit: str | None, inputs: str) -> bool:
    """Tell whether no path that fits a pattern differs between a commit and HEAD; no if it is no ancestor."""
    if not commit or git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return False
    changed = git("diff", "-z", "--name-only", "--no-renames", commit, "HEAD")
    return changed is not None and not any(re.fullmatch(inputs, path) for path in changed.split("\0"))


def landed(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record once HEAD has landed: layers that its CI ran have run at HEAD."""
    head = (git("rev-parse", "HEAD") or "").strip()
    known = record.get("layers", {})
    skipped = left_out(record)
    layers = {layer: known[layer] if layer in skipped else head for layer in INPUTS}
    return {"landings": record.get("landings", 0) + 1, "commit": head, "layers": layers}


def read() -> dict[str, Any]:
    """Return the record, {} where there is none."""
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


def git(*words: str) -> str | None:
    """Return what a git command prints; None where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return None if done.returncode else done.stdout


def main(words: list[str]) -> int:
    """Print what is left out, or write down that HEAD has landed."""
    record = read()
    if words == ["left-out"]:
        print(" ".join(left_out(record)))
        return 0
    if record.get("commit") == (git("rev-parse", "HEAD") or "").strip():
        print("landed.json names this commit already")
        return 0
    since = (git("diff", "--name-only", record.get("commit", ""), "HEAD") or "").split() if record else ()
    if since == [str(FILE.relative_to(ROOT))]:
        print("make landed: only landed.json has changed since the landing that it names", file=sys.stderr)
        return 1
    if git("for-each-ref", "refs/remotes") and not git("for-each-ref", "--contains", "HEAD", "refs/remotes/*/main"):
        print("make landed: this commit has not landed, the branch main of no remote contains it", file=sys.stderr)
        return 1
    FILE.write_text(json.dumps(landed(record), indent=2) + "\n")
    print(f"{FILE.relative_to(ROOT)}: landing {landed(record)['landings']}; commit it with your change")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
