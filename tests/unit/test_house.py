"""The limits of the house: 120 characters in a line, 300 lines in a file of Python, 60 lines in a function."""

import ast
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, LINES, FUNCTION = 120, 300, 60
# What people write; lock files and definitions (JSON) are made.
WRITTEN = ("*.py", "*.yml", "*.yaml", "*.md", "*.sh", "*.j2", "*.cfg", "*.toml", "*Makefile")
# Longer for good, as these tests say it, and the reason.
EXCEPTIONS = {
    "docs/errors.md": "made by make docs",
    "docs/performance.md": "made by make campaign",
}


def texts(*kinds: str) -> Iterator[tuple[str, str]]:
    """Yield the tracked files of these kinds that have to keep the limits, each with its text."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in listed:
        path = ROOT / name
        if any(fnmatch(name, kind) for kind in kinds) and path.is_file() and not path.is_symlink():
            yield name, path.read_text(encoding="utf-8")


def due(found: list[str]) -> list[str]:
    """Return what was found that nobody excepted."""
    return [text for text in found if text.partition(":")[0] not in EXCEPTIONS]


def wide(name: str, text: str) -> list[str]:
    """Return the places of lines that are too long; those of a table in Markdown cannot be shorter."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]
    return [f"{name}:{number}" for number, line in lines if not (name.endswith(".md") and line.startswith("|"))]


def long_functions(name: str, text: str) -> list[str]:
    """Return the places of functions that are too long, from `def` to their last line: decorators hold tables."""
    return [
        f"{name}:{node.lineno}: {node.name}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= FUNCTION
    ]


def test_lines() -> None:
    assert due([place for name, text in texts(*WRITTEN) for place in wide(name, text)]) == []


def test_files() -> None:
    found = [f"{name}: {text.count(chr(10))} lines" for name, text in texts("*.py") if text.count("\n") > LINES]
    assert due(found) == []


def test_functions() -> None:
    assert due([place for name, text in texts("*.py") for place in long_functions(name, text)]) == []


def test_exceptions_are_needed() -> None:
    """One that is not shows that somebody mended it, or that the file is gone."""
    there = dict(texts(*WRITTEN))
    assert [name for name in EXCEPTIONS if not (name in there and wide(name, there[name]))] == []


def test_what_is_measured() -> None:
    """A line of 120 characters passes, whatever its bytes, and a function of 60 lines."""
    line, table = "ö" * WIDTH, f"| {'x' * WIDTH} |"
    assert wide("a.py", f"{line}\n{line}x\n") == ["a.py:2"]
    assert (wide("a.md", table), wide("a.py", table)) == ([], ["a.py:1"])
    function = "@decorator\ndef f() -> None:\n" + "    pass\n" * (FUNCTION - 1)
    assert long_functions("a.py", function) == []
    assert long_functions("a.py", f"{function}    pass\n") == ["a.py:2: f"]


def test_what_is_promised_in_seconds_is_tested_on_a_quiet_machine() -> None:
    """Tests that use the clock of tests/faults/promises.py carry the marker."""
    clocks = ("promises import", "rotation.load import")
    found = {name: text for name, text in texts("tests/*/test_*.py") if any(clock in text for clock in clocks)}
    assert len(found) >= 7
    assert [name for name, text in found.items() if "pytest.mark.timed" not in text] == []


def test_one_place_knows_the_kafka_libraries() -> None:
    """The facade; what others import of it takes and returns plain data."""
    facade = "plugins/module_utils/kafka/facade/"
    library = re.compile(r"^\s*(?:from|import) (?:confluent_kafka|kafka)\b", re.MULTILINE)
    found = [name for name, text in texts("*.py") if name.startswith("plugins/") and library.search(text)]
    assert [name for name in found if not name.startswith(facade)] == []
    assert f"{facade}admin.py" in found
