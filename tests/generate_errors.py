#!/usr/bin/env python3
"""Write docs/errors.md: a line for each code of preflight, with the message that a wrong inventory of tests/model really gets."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from model.mistakes import MISTAKES, spoil
from model.probes import PROBES, model, probed
from model.security_mistakes import SECURITY

from millrace.hosts import check_hosts
from millrace.inventory import certificate_problems, job_problems, load
from millrace.model import check_model
from millrace.model.access import OPERATIONS
from millrace.problems import Problem, line, merged

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "errors.md"
HEAD = """# What preflight says

`playbooks/preflight.yml` says everything that is wrong at once, before any host is changed: first with the inventory alone, then with the
hosts. Each line is `CODE where = value: what is wrong; what to do`. Warnings (marked *warning*) stop nothing.
`-e preflight_output=json` prints one line of JSON for each phase instead: `errors` and `warnings`, each with `code`, `hosts`, `variable`,
`value`, `wrong`, `advice`; and `survival`, what the layout survives (docs/layouts.md). `--tags model` runs the first phase alone, for an
inventory whose hosts do not exist yet.

Made by `make docs` from tests/model, where each line is a test.
"""
SOURCES = ("plugins/module_utils/millrace/inventory.py", "plugins/module_utils/millrace/hosts.py")


def codes_in_source() -> set[str]:
    """Return every code that the sources can say."""
    files = [*(ROOT / name for name in SOURCES), *(ROOT / "plugins/module_utils/millrace/model").glob("*.py")]
    found = set()
    for file in files:
        text = file.read_text(encoding="utf-8")
        found |= set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+|ARCHIVE|COLOCATED)"', text))
    prefixed = {f"{product}_ID_{what}" for product in ("ZOOKEEPER", "KAFKA") for what in ("MISSING", "RANGE", "DUPLICATE")}
    judged = {f"{product}_PROPERTY_{what}" for product in ("ZOOKEEPER", "KAFKA", "CLIENT") for what in ("UNKNOWN", "VALUE")}
    words = {"PROPERTY_UNKNOWN", "PROPERTY_VALUE", "SASL_SSL", "SASL_PLAINTEXT", *(word for known in OPERATIONS.values() for word in known)}
    # What certificates are judged by has its wrong certificates in tests/unit.
    return found - words - {"CERTIFICATE_UNSIGNED"} | prefixed | judged


def page() -> str:
    """Return the page."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for mistake in (*MISTAKES, *SECURITY):
            place = Path(folder) / mistake.code
            reader = load(spoil(place / "inventory", mistake), mistake.extra)
            found = reader.read()
            problems = merged([*reader.said_of(check_model(found)), *job_problems(found), *certificate_problems(reader, found)])
            rows += [(p, line(p, {**found.groups, **found.all_groups}).replace(str(place), "")) for p in problems if p.code == mistake.code][:1]
    hosts = []
    for probe in PROBES:
        problems = merged(check_hosts(model(probe), probed(probe)))
        hosts += [(p, line(p, model(probe).groups)) for p in problems if p.code == probe.code][:1]
    return "\n".join([HEAD, "## The inventory", "", *table(rows), "", "## The hosts", "", *table(hosts), ""])


def table(rows: Sequence[tuple[Problem, str]]) -> list[str]:
    """Return the lines of a table: code, kind and message."""
    lines = ["| Code | Example |", "| --- | --- |"]
    for problem, text in sorted(rows, key=lambda row: row[1]):
        code, _, message = text.partition(" ")
        kind = " *warning*" if problem.warning else ""
        lines.append(f"| `{code}`{kind} | {message.replace('|', chr(92) + '|').replace(str(ROOT), '')} |")
    return lines


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
