#!/usr/bin/env python3
"""Write docs/errors.md: a line for each code of preflight, with the message that its test compares."""

import ast
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from model.mistakes import MISTAKES
from model.probes import PROBES, model, probed
from model.said import ROOT, row, told
from pages import write
from unit.certificate_mistakes import CERTIFICATES
from unit.run_lock_mistakes import RUNS

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import OPERATIONS
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line, merged

PAGE = ROOT / "docs" / "errors.md"
HEAD = """# Errors and warnings of preflight

Lists each code that preflight can report, with an example.

- `playbooks/preflight.yml` reports all errors at once, before any host is changed: first those of the inventory alone,
  then those of the hosts.
- Each line is `CODE where = value: what is wrong; what to do`, below the hosts that it concerns. `where` begins with
  the group that sets the value.
- Warnings (marked *warning*) stop no run.
- `--tags model` runs the first phase only, for an inventory whose hosts do not exist yet.
- `-e preflight_output=json` prints one line of JSON per phase instead, with these keys:

| Key | Content |
| --- | --- |
| `errors`, `warnings` | a list, each entry with `code`, `hosts`, `group`, `variable`, `value`, `message`, `advice` |
| `survival` | what the layout survives ([layouts](layouts.md)) |
| `upgrades` | second phase: what other versions change ([upgrade](upgrade.md)) |

`make docs` writes this page. Each line is the message that a test of that code compares; each heading names its test.
"""
# Title, the test of each code, and an introduction.
SECTIONS = {
    "The inventory": ("tests/model/test_mistakes.py::test_mistake", ""),
    "Certificates": (
        "tests/unit/test_certificate_mistakes.py::test_certificate",
        "Reported by preflight, and by each play that creates or installs certificates, before a file is written.",
    ),
    "The hosts": ("tests/model/test_probes.py::test_probe", ""),
    "Other runs": (
        "tests/unit/test_run_lock.py::test_said",
        "Reported by playbooks that change hosts, if another run holds the "
        "[run lock](control_node.md#one-run-at-a-time).",
    ),
}
TABLE = ["| Code | Example |", "| --- | --- |"]
RULES = ROOT / "plugins/plugin_utils"


def codes_in_source() -> set[str]:
    """Return every code that the sources can say, those of certificates apart."""
    files = [
        RULES / "inventory.py",
        *(RULES / "preflight").glob("*.py"),
        *(RULES / "hosts").glob("*.py"),
        *(RULES / "model").glob("*.py"),
    ]
    found = set()
    for file in files:
        text = file.read_text(encoding="utf-8")
        found |= set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+|ARCHIVE|COLOCATED)"', text))
    prefixed = {
        f"{product}_ID_{what}" for product in ("ZOOKEEPER", "KAFKA") for what in ("MISSING", "RANGE", "DUPLICATE")
    }
    judged = {
        f"{product}_PROPERTY_{what}"
        for product in ("ZOOKEEPER", "KAFKA", "CLIENT", "TOPIC")
        for what in ("UNKNOWN", "VALUE")
    }
    words = {
        "PROPERTY_UNKNOWN",
        "PROPERTY_VALUE",
        "SASL_SSL",
        "SASL_PLAINTEXT",
        *(word for known in OPERATIONS.values() for word in known),
    }
    return found - words - certificate_codes_in_source() | prefixed | judged


def certificate_codes_in_source() -> set[str]:
    """Return the codes of the problems that the role pki reports."""
    return {code for file in (RULES / "pki").glob("*.py") for code in kinds_in(file)}


def kinds_in(file: Path) -> list[str]:
    """Return the codes that a file gives to ProblemKind."""
    calls = (node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    made = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "ProblemKind")
    return [str(ast.literal_eval(call.args[0])) for call in made]


def page(rows: Mapping[str, str]) -> str:
    """Return the page; `rows` by code."""
    codes = {
        "The inventory": [mistake.code for mistake in MISTAKES],
        "Certificates": list(CERTIFICATES),
        "The hosts": [probe.code for probe in PROBES],
        "Other runs": list(RUNS),
    }
    parts = [HEAD]
    for title, (test, text) in SECTIONS.items():
        shown = f"Test: `pytest {test.partition('::')[0]} -k CODE`."
        parts += [f"## {title}", "", *([text, ""] if text else []), shown, ""]
        parts += [*TABLE, *(rows[code] for code in sorted(codes[title])), ""]
    return "\n".join(parts)


def written() -> dict[str, str]:
    """Return the rows of the page as it is, by code; each code is there once."""
    found = re.findall(r"^(\| `([A-Z_]+)`.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = {code: text for text, code in found}
    assert len(rows) == len(found), "a code is there twice"
    return rows


def said() -> dict[str, str]:
    """Return the rows of the page as its tests would be told them now, by code."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for mistake in MISTAKES:
            rows[mistake.code] = told(mistake, Path(folder) / mistake.code)[1]
        for code, make in CERTIFICATES.items():
            (Path(folder) / code.lower()).mkdir()
            rows[code] = row(*make(Path(folder) / code.lower()))
        for code, run in RUNS.items():
            (Path(folder) / code.lower()).mkdir()
            rows[code] = row(run(Path(folder) / code.lower()), False)
    for probe in PROBES:
        told_of = (probe.undeclared, (), probe.alone, (), probe.registered)
        (problem,) = merged(check_hosts(model(probe), probed(probe), *told_of))
        rows[probe.code] = row(line(problem, model(probe).groups), problem.warning)
    return rows


if __name__ == "__main__":
    write(PAGE, lambda: page(said()))
