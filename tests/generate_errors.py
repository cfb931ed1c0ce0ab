#!/usr/bin/env python3
"""Write docs/errors.md: a line for each code of preflight, with the message that a wrong inventory of tests/model really gets."""

import ast
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from model.mistakes import MISTAKES, spoil
from model.probes import PROBES, model, probed
from model.security_mistakes import SECURITY
from unit.test_certificates import WRONG

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

Made by `make docs` from tests/model and, for certificates, tests/unit, where each line is a test.
"""
OF_CERTIFICATES = """## Certificates

Said by preflight, and by every play that makes or installs certificates, before a file is written.
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
    return found - words - {"CERTIFICATE_UNSIGNED"} | prefixed | judged


def certificate_codes_in_source() -> set[str]:
    """Return every code that a certificate, or its declaration, can get."""
    texts = [(ROOT / "plugins/module_utils/millrace" / name).read_text(encoding="utf-8") for name in ("certificates.py", "pki.py", "pki_inputs.py")]
    found = {code for text in texts for code in re.findall(r'(?:Error|problem)\(\s*"([A-Z_]+)"|mistake\([^\n]*?, "([A-Z_]+)",', text)}
    return {f"CERTIFICATE_{one or other}" for one, other in found}


def certificate_lines() -> dict[str, str]:
    """Return a line for each code, warnings marked, as tests of certificates expect it."""
    texts = [text for _, said in WRONG.values() for text in said]
    for file in sorted([*(ROOT / "tests" / "unit").glob("test_pki*.py"), ROOT / "tests" / "unit" / "test_rotation.py"]):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        texts += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    whole = [text for text in texts if re.match(r"(warning )?CERTIFICATE_[A-Z_]+ \S+[^\n]*: .*; ", text)]
    return {text.removeprefix("warning ").split()[0]: text for text in reversed(whole)}


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
    parts = [HEAD, "## The inventory", "", *table(rows), "", OF_CERTIFICATES, *certificate_table(), "", "## The hosts", "", *table(hosts), ""]
    return "\n".join(parts)


def certificate_table() -> list[str]:
    """Return the lines of the table of certificates."""
    lines = ["| Code | Example |", "| --- | --- |"]
    for code, text in sorted(certificate_lines().items()):
        kind = " *warning*" if text.startswith("warning ") else ""
        lines.append(f"| `{code}`{kind} | {text.removeprefix('warning ').partition(' ')[2]} |")
    return lines


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
