#!/usr/bin/env python3
"""Write docs/errors.md: a line for each code of preflight, with the message that its test compares."""

import ast
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from compile_cache import compile_once
from model.mistakes import MISTAKES
from model.probes import PROBES, model, probed
from model.said import ROOT, row, told
from pages import write
from unit.certificate_mistakes import CERTIFICATES
from unit.run_lock_mistakes import RUNS

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
| `drawing` | first phase, with `-e drawing=FILE`: the absolute path of the drawing |
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
    "The control node": (
        "tests/unit/test_run_lock.py::test_said",
        "Reported by playbooks that change hosts, if another run holds the "
        "[run lock](control_node.md#one-run-at-a-time),\n"
        "or during a [failover](disaster.md), and by preflight, if it cannot write the file of `-e drawing`.",
    ),
}
TABLE = ["| Code | Example |", "| --- | --- |"]
RULES = ROOT / "plugins/plugin_utils"


def codes_in_source() -> set[str]:
    """Return the codes of the problems of the inventory and of hosts, without those of certificates."""
    files = [RULES / "inventory.py", *(file for name in ("preflight", "hosts", "model") for file in _files(name))]
    return {code for file in files for code in kinds_in(file)}


def _files(folder: str) -> list[Path]:
    return sorted((RULES / folder).glob("*.py"))


def certificate_codes_in_source() -> set[str]:
    """Return the codes of the problems that the role pki reports."""
    return {code for file in _files("pki") for code in kinds_in(file)}


def kinds_in(file: Path) -> list[str]:
    """Return the codes of a file: those given to ProblemKind, and those that `replace` gives to a kind."""
    codes = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "ProblemKind":
                codes.append(str(ast.literal_eval(node.args[0])))
            elif node.func.id == "replace":
                codes += [str(ast.literal_eval(word.value)) for word in node.keywords if word.arg == "code"]
    return codes


def page(rows: Mapping[str, str]) -> str:
    """Return the page; `rows` by code."""
    codes = {
        "The inventory": [mistake.code for mistake in MISTAKES],
        "Certificates": list(CERTIFICATES),
        "The hosts": [probe.code for probe in PROBES],
        "The control node": list(RUNS),
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
    compile_once()
    write(PAGE, lambda: page(said()))
