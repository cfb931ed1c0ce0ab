"""Limits: 120 characters in a line, 500 lines in a Python file outside of tests/, 60 lines in a function."""

import ast
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, LINES, FUNCTION = 120, 500, 60
# Files that people write; ruff checks the lines of Python. antsibull-changelog writes the others.
GENERATED = ("CHANGELOG.md", "changelogs/changelog.yaml")
WRITTEN = ("*.yml", "*.yaml", "*.md", "*.sh", "*.j2", "*.cfg", "*.toml", "*Makefile")
CLOCKS = "promises|rotation.load"


def texts(*kinds: str) -> Iterator[tuple[str, str]]:
    """Yield the tracked files of these kinds that have to keep the limits, each with its text."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in listed:
        path = ROOT / name
        written = name not in GENERATED and path.is_file() and not path.is_symlink()
        if written and any(fnmatch(name, kind) for kind in kinds):
            yield name, path.read_text(encoding="utf-8")


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
    assert [place for name, text in texts(*WRITTEN) for place in wide(name, text)] == []


def test_files() -> None:
    counts = {name: text.count("\n") for name, text in texts("*.py") if not name.startswith("tests/")}
    assert [f"{name}: {count} lines" for name, count in counts.items() if count > LINES] == []


def test_functions() -> None:
    assert [place for name, text in texts("*.py") for place in long_functions(name, text)] == []


def test_what_is_measured() -> None:
    """A line of 120 characters passes, whatever its bytes, and a function of 60 lines."""
    line, table = "ö" * WIDTH, f"| {'x' * WIDTH} |"
    assert wide("a.sh", f"{line}\n{line}x\n") == ["a.sh:2"]
    assert (wide("a.md", table), wide("a.sh", table)) == ([], ["a.sh:1"])
    function = "@decorator\ndef f() -> None:\n" + "    pass\n" * (FUNCTION - 1)
    assert long_functions("a.py", function) == []
    assert long_functions("a.py", f"{function}    pass\n") == ["a.py:2: f"]


def uses(node: ast.AST, names: set[str]) -> bool:
    """Tell whether code names one of these, a fixture among its arguments included."""
    found = {
        one.id if isinstance(one, ast.Name) else one.arg
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.arg)
    }
    return bool(found & names)


def unmarked(text: str) -> list[str]:
    """Return the tests of a file that use the clock of the promises, by helpers too, and lack the marker `timed`."""
    body = ast.parse(text).body
    clocks = [one for one in body if isinstance(one, ast.ImportFrom) and re.search(CLOCKS, one.module or "")]
    names = {alias.name for one in clocks for alias in one.names}
    marks = [one for one in body if isinstance(one, ast.Assign) and uses(one.targets[0], {"pytestmark"})]
    if any("pytest.mark.timed" in ast.unparse(mark) for mark in marks):
        return []
    functions = [one for one in body if isinstance(one, ast.FunctionDef)]
    for _ in functions:
        names |= {one.name for one in functions if uses(one, names)}
    return [
        one.name
        for one in functions
        if one.name.startswith("test_")
        and one.name in names
        and "pytest.mark.timed" not in map(ast.unparse, one.decorator_list)
    ]


def test_tests_with_a_promise_in_seconds_are_marked() -> None:
    """Tests that use the clock of tests/faults/promises.py run when the machine is quiet."""
    files = {name: text for name, text in texts("tests/*/test_*.py") if not name.startswith("tests/unit/")}
    using = [name for name, text in files.items() if re.search(rf"from \S*({CLOCKS}) import", text)]
    assert len(using) >= 7
    assert {name: unmarked(files[name]) for name in using if unmarked(files[name])} == {}


def test_one_test_without_the_marker_is_found() -> None:
    text = """
from faults.promises import Clock
def helper() -> None: Clock()
@pytest.mark.timed
def test_a() -> None: helper()
def test_b() -> None: helper()
def test_c() -> None: pass
"""
    assert unmarked(text) == ["test_b"]
    assert unmarked(f"{text}\npytestmark = [pytest.mark.campaign, pytest.mark.timed]") == []


def test_one_place_knows_the_kafka_libraries() -> None:
    """The facade; what others import of it takes and returns plain data."""
    facade = "plugins/module_utils/kafka/facade/"
    library = re.compile(r"^\s*(?:from|import) (?:confluent_kafka|kafka)\b", re.MULTILINE)
    found = [name for name, text in texts("*.py") if name.startswith("plugins/") and library.search(text)]
    assert [name for name in found if not name.startswith(facade)] == []
    assert f"{facade}admin.py" in found


PROBLEM_TEXTS = {
    "plugins/plugin_utils/problems.py": "prints them",
    "plugins/plugin_utils/pki/certificates.py": "CertificateError is printed as its problem",
    "plugins/plugin_utils/model/risks.py": "adds to the advice how to accept a risk",
    "plugins/plugin_utils/preflight/encrypted_values.py": "hides secrets in them",
}
"""Files that may read the message or the advice of a problem, and why."""


def reads_of_problem_texts(text: str) -> list[str]:
    """Return the reads of `.message` and `.advice` in a file, but for those of constants: these are ProblemKinds.

    A call such as `definitions.advice(...)` reads no text of a problem.
    """
    tree = ast.parse(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("message", "advice") and id(node) not in called
        if not ast.unparse(node.value).isupper()
        if ast.unparse(node.value) not in NO_PROBLEMS
    ]


NO_PROBLEMS = ("self", "fault", "finding")
"""Names of objects with such texts that are no problems: faults of types, findings of definitions."""


def test_nothing_decides_by_the_text_of_a_problem() -> None:
    """Message and advice are for people; code reads the code and the details."""
    files = {name: text for name, text in texts("*.py") if re.match("plugins/(action|plugin_utils)/", name)}
    found = {name: reads for name, text in files.items() if (reads := reads_of_problem_texts(text))}
    assert {name: reads for name, reads in found.items() if name not in PROBLEM_TEXTS} == {}
    assert set(PROBLEM_TEXTS) <= set(found), "remove the file that no longer reads them"


def test_one_read_of_a_message_is_found() -> None:
    assert reads_of_problem_texts("if 'x' in problem.message: pass\nA = B.variant(message=B.message)\n") == [
        "1: problem.message"
    ]


def kinds_of(text: str) -> list[str]:
    """Return the codes that a file gives to ProblemKind."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return [ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "ProblemKind"]


def test_each_code_has_one_kind() -> None:
    """A code is given to ProblemKind once, as a literal; a Problem is created by its kind."""
    files = {name: text for name, text in texts("*.py") if name.startswith("plugins/")}
    codes = [code for text in files.values() for code in kinds_of(text)]
    assert len(codes) > 500
    assert sorted(code for code in set(codes) if codes.count(code) > 1) == []
    assert [code for code in codes if not re.fullmatch("'[A-Z][A-Z0-9_]+'", code)] == []
    made = [name for name, text in files.items() if re.search(r"(?<!class )\bProblem\(", text)]
    assert made == ["plugins/plugin_utils/problems.py"]
