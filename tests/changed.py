"""Runs the checks and tests that a change touches, the cheapest first, for at most four minutes (`make quick`).

A change is what differs from the merge base with BASE (origin/main), uncommitted and untracked files included. A test
file is touched where it was changed itself, where it imports a changed file, where TABLE names it for a changed path,
and where its text names the changed file. Last come test files that import the file through others, and those that
name it by a word of many test files. What does not fit into the time is printed: `make test` runs it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from costs import read_costs

ROOT = Path(__file__).resolve().parents[1]
BASE = "origin/main"
LIMIT = 200.0
"""Seconds for the tests, as estimated from their last run; the rest of the four minutes is for linters and starts."""
FOLDERS = {"unit": 1.7, "model": 1.7, "render": 1.5, "spark": 1.2, "lab": 1.0}
"""Folders of tests without hosts, with how many CPU seconds their run uses in a second."""
UNKNOWN = {"unit": 1.5, "model": 4.0, "render": 15.0, "spark": 15.0, "lab": 2.0}
"""CPU seconds of a test file that no run has measured."""
IMPORT_ROOTS = ("", "tests", "lab", "packaging", "spark_jobs/src", "roles/kafka/files")
COLLECTION = "ansible_collections.millrace.kafka."
DOCS = ("unit/test_docs", "unit/test_pages", "unit/test_role_docs", "unit/test_plugin_docs", "model/test_mistakes")
HARNESS = ("unit/test_run_sh", "unit/test_campaign", "unit/test_costs", "unit/test_changed", "unit/test_checkout_lock")
NO_TESTS = 5
"""The exit status of pytest where all tests were deselected."""
MANY = 20
"""A word that more test files name, as `run`, says little."""
COMMON = ("conftest.py", "__init__.py", "main.yml", "README.md")
"""File names that say nothing where a text names them."""
# A pattern of changed paths, and the test files below tests/ that they touch besides those found by imports and names.
TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"roles/(\w+)/(?:README|meta).*", ("unit/test_role_docs", "model/test_fitting*", "model/test_types")),
    (r"roles/(\w+)/.*", (r"render/test_\1*", "render/test_base")),
    (r"roles/postgresql/.*", ("render/test_database",)),
    (r"roles/archive/.*", ("render/test_java", "render/test_zookeeper", "render/test_spark_job")),
    (
        r"functions/(\w+)\.yml",
        (r"render/test_\1*", "unit/test_functions", "model/test_new_function", "model/test_mistakes"),
    ),
    (r"playbooks/.*", ("render/test_typed", "render/test_run_lock", "render/test_silent_hosts")),
    (r"plugins/definitions/.*", ("unit/test_definitions*", "model/test_fitting*", "model/test_mistakes", *DOCS)),
    (r"plugins/(?:modules|filter|action|lookup|callback|doc_fragments)/.*", ("unit/test_plugin_docs",)),
    (r"plugins/plugin_utils/(?:problems|preflight/\w+|model/\w+|hosts/\w+)\.py", ("model/test_mistakes",)),
    (r"spark_jobs/src/.*/migrations/.*", ("spark/test_read_model*", "spark/test_migration*")),
    (r"tests/budget\.json", ("unit/test_costs",)),
    (r"(?:docs/.*|.*\.md)", DOCS),
    (r"examples/.*", ("model/test_examples",)),
    (r"inventories/.*", ("model/test_mistakes", "render/test_layouts", "render/test_base")),
    (r"(?:lab|molecule)/.*", ("lab/*",)),
    (r"packaging/.*", ("unit/test_packaging", "unit/test_build_sh", "unit/test_launchers", "unit/test_definitions*")),
    (r"spark_jobs/src/\w+/(?:jobs/)?(\w+)\.\w+", (r"spark/test_\1*", "unit/test_job_needs")),
    (r"(?:Makefile|\.ci/run|tests/run\.sh|tests/[^/]+\.py)", HARNESS),
    (
        r"(?:requirements.*|pyproject\.toml|galaxy\.yml|meta/.*|.*lock)",
        ("unit/test_versions", "unit/test_control_node"),
    ),
)


def changed_files(base: str) -> list[str]:
    """Return the paths that differ from the merge base with a commit, untracked ones included, deleted ones too."""
    if base == BASE and not known(base):
        mains = git("for-each-ref", "--format=%(refname:short)", "refs/remotes/*/main").split()
        if len(mains) > 1:
            sys.exit(f"make quick: {' and '.join(mains)}: name the one to compare with, as BASE={mains[0]}")
        if not mains:
            print(
                "no remote has a branch main: only uncommitted changes are looked at, or name a start as BASE=<commit>"
            )
        base = mains[0] if mains else "HEAD"
    fork = git("merge-base", "HEAD", base).strip()
    different = git("diff", "-z", "--name-only", "--no-renames", fork).split("\0")
    untracked = git("ls-files", "-z", "--others", "--exclude-standard").split("\0")
    paths = sorted({name for name in (*different, *untracked) if name})
    removed.update(path for path in paths if path.endswith(".py") and not (ROOT / path).exists())
    return paths


def known(commit: str) -> bool:
    """Tell whether git knows a commit."""
    command = ["git", "rev-parse", "-q", "--verify", commit]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


def git(*words: str) -> str:
    """Return what a git command prints; SystemExit with its message where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"make quick: git {' '.join(words)}: {done.stderr.strip()} (BASE=<commit> names what to compare with)")
    return done.stdout


@cache
def test_files() -> tuple[str, ...]:
    """Return all test files that need no hosts."""
    found = (file for folder in FOLDERS for file in (ROOT / "tests" / folder).glob("test_*.py"))
    return tuple(sorted(str(file.relative_to(ROOT)) for file in found))


@cache
def imports(path: str) -> frozenset[str]:
    """Return the files of this repository that a Python file imports; nothing where it cannot be parsed."""
    try:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return frozenset()
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.update(module_files(alias.name, path))
        elif isinstance(node, ast.ImportFrom):
            above = Path(path).parts[: -node.level] if node.level else ()
            module = ".".join((*above, *([node.module] if node.module else [])))
            for name in (module, *(f"{module}.{alias.name}" for alias in node.names)):
                found.update(module_files(name, path))
    return frozenset(found - {path})


@cache
def module_files(module: str, importer: str) -> tuple[str, ...]:
    """Return the files of a module of this repository: itself, and the packages above it."""
    words = module.removeprefix(COLLECTION).split(".")
    roots = (*IMPORT_ROOTS, str(Path(importer).parent))
    found = []
    for root in roots:
        for count in range(1, len(words) + 1):
            stem = "/".join(filter(None, (root, *words[:count])))
            found += [name for name in (f"{stem}.py", f"{stem}/__init__.py") if name in python_files()]
    return tuple(found)


@cache
def python_files() -> frozenset[str]:
    """Return all Python files of the repository: also those that git does not know yet, and those a change removed."""
    files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.py").split("\0")
    return frozenset(filter(None, files)) | removed


removed = set[str]()
"""Changed paths that do not exist any more; what still imports such a module is found by it."""


@cache
def closure(path: str) -> frozenset[str]:
    """Return a file and all that it imports, directly or through others; of a test file its conftest as well."""
    left, found = [path, f"{Path(path).parent}/conftest.py"], set[str]()
    while left:
        file = left.pop()
        if file not in found and file in python_files():
            found.add(file)
            left += imports(file)
    return frozenset(found)


@cache
def helpers(test: str) -> frozenset[str]:
    """Return a test file and the helpers of its own folder that it imports."""
    return frozenset(file for file in closure(test) if file.startswith(f"{Path(test).parent}/"))


@cache
def near(test: str) -> frozenset[str]:
    """Return the files that a test file or one of its helpers imports itself."""
    return frozenset().union(*(imports(helper) for helper in helpers(test)))


@cache
def text_of(test: str) -> str:
    """Return the text of a test file and of its helpers; a conftest.py names what other tests use."""
    files = [ROOT / file for file in sorted(helpers(test)) if not file.endswith("conftest.py")]
    return "\n".join(file.read_text(errors="replace") for file in files if file.exists())


def touched(changed: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return the test files that changed files touch, each with the rank and the words of the nearest reason."""
    found = dict[str, tuple[int, str]]()
    for path in changed:
        for test, rank, why in reasons(path):
            found[test] = min(found.get(test, (9, "")), (rank, f"{why} {path}" if rank else why))
    return found


def reasons(path: str) -> Iterator[tuple[str, int, str]]:
    """Yield the test files that a changed file touches, with the rank of the reason and its words."""
    if path in test_files():
        yield path, 0, "changed itself"
    for pattern, globs in TABLE:
        if match := re.fullmatch(pattern, path):
            for glob in globs:
                name = re.compile(rf"tests/{re.escape(match.expand(glob)).replace(chr(92) + '*', '.*')}\.py")
                yield from ((test, 1, "listed for") for test in test_files() if name.fullmatch(test))
    if plugin := re.fullmatch(r"plugins/(?:filter|action|lookup|modules)/(\w+)\.\w+", path):
        for test in rendering(plugin[1]):
            yield test, 1, "renders roles that use"
    file = Path(path)
    named = re.compile(rf"(?<![\w.-]){re.escape(file.name)}(?![\w-])|[\"'/]{re.escape(file.stem)}[\"']")
    naming = {
        test
        for test in test_files()
        if file.name not in COMMON and file.stem in text_of(test) and named.search(text_of(test))
    }
    for test in test_files():
        if path in near(test):
            yield test, 1, "imports"
        elif path in closure(test):
            yield test, 2, "imports, through others,"
        elif test in naming:
            yield test, 1 if len(naming) <= MANY else 2, "names"


def rendering(plugin: str) -> Iterator[str]:
    """Yield the render tests of roles that name a plugin, or a filter that the plugin's file defines."""
    file = ROOT / "plugins" / "filter" / f"{plugin}.py"
    names = {plugin, *(re.findall(r"^def (\w+)", file.read_text(), re.MULTILINE) if file.is_file() else ())}
    for role in sorted((ROOT / "roles").iterdir()):
        used = {name for text in role_texts(role) for name in re.findall(r"millrace\.kafka\.(\w+)", text)}
        if used & names:
            yield from (test for test in test_files() if test.startswith(f"tests/render/test_{role.name}"))


@cache
def role_texts(role: Path) -> tuple[str, ...]:
    """Return the texts of a role's files."""
    return tuple(file.read_text(errors="replace") for file in sorted(role.rglob("*")) if file.is_file())


@dataclass(frozen=True)
class Plan:
    """The test files that are run and those that are left out, each with its estimated seconds."""

    run: Mapping[str, float]
    left_out: Mapping[str, float]


def plan(tests: Mapping[str, int], costs: Mapping[str, float], limit: float = LIMIT) -> Plan:
    """Choose test files until the limit in seconds is reached: the nearest first, among these the cheapest.

    `tests` holds the rank of each test file, `costs` the CPU seconds of each test.
    """
    measured = defaultdict[str, float](float)
    for test, seconds in costs.items():
        file = test.partition("::")[0]
        measured[file if file.startswith("tests/") else f"tests/spark/{file}"] += seconds
    chosen, left_out, total = dict[str, float](), dict[str, float](), 0.0
    estimates = {test: measured.get(test, UNKNOWN[folder(test)]) / FOLDERS[folder(test)] for test in tests}
    for test, seconds in sorted(estimates.items(), key=lambda row: (tests[row[0]], row[1], row[0])):
        if total + seconds <= limit:
            chosen[test] = seconds
            total += seconds
        else:
            left_out[test] = seconds
    return Plan(chosen, left_out)


def folder(test: str) -> str:
    """Return the folder of a test file below tests/."""
    return test.split("/")[1]


def linters(changed: Sequence[str]) -> list[list[str]]:
    """Return the commands that check the changed files themselves."""
    files = [path for path in changed if (ROOT / path).is_file()]
    python = [path for path in files if path.endswith(".py")]
    yaml = [path for path in files if path.endswith((".yml", ".yaml"))]
    shell = [path for path in files if path.endswith(".sh") or path == ".ci/run"]
    typed = [path for path in python if re.match(r"(plugins/(plugin_utils|module_utils|filter)|tests/(?!spark))", path)]
    deployed = [path for path in yaml if path.startswith(("roles/", "playbooks/"))]
    commands = [["ruff", "check", *python], ["ruff", "format", "--check", *python]] if python else []
    commands += (
        [["mypy", *(re.sub("^plugins/", f"collections/{COLLECTION.replace('.', '/')}plugins/", p) for p in typed)]]
        if typed
        else []
    )
    commands += [["yamllint", "--strict", *yaml]] if yaml else []
    commands += [["shellcheck", *shell]] if shell else []
    commands += [["ansible-lint", "--offline", "--strict", "--profile", "production", *deployed]] if deployed else []
    return commands


def test_commands(tests: Iterable[str]) -> list[list[str]]:
    """Return the commands that run test files: each environment and way of running its own."""
    by_folder = defaultdict[str, list[str]](list)
    for test in tests:
        by_folder["unit" if folder(test) == "model" else folder(test)].append(test)
    commands = []
    for name, files in by_folder.items():
        if name == "spark":
            # The sources come before the wheel that is installed, which may be older.
            jobs = ["env", f"PYTHONPATH={ROOT / 'spark_jobs' / 'src'}", ".build/venv-spark/bin/python"]
            commands.append([*jobs, "-m", "pytest", "-q", *files])
        else:
            parallel = ["-n", "4", "--dist", "worksteal"] if name == "unit" else []
            commands.append(["pytest", "-q", "-m", "not campaign", *parallel, *files])
    return commands


def run(command: Sequence[str]) -> int:
    """Run a command, and return its exit status; on Ctrl-C it ends by itself first, so that tests remove their labs."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def main() -> int:
    """Choose, print, run; 1 where a check or a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default=BASE, help=f"the commit to compare with ({BASE})")
    parser.add_argument("--list", action="store_true", help="print what would be run, and run nothing")
    arguments = parser.parse_args()
    began, changed = time.monotonic(), changed_files(arguments.base)
    found = touched(changed)
    if not (ROOT / ".build" / "venv-spark").is_dir():
        absent = [test for test in found if folder(test) == "spark"]
        if absent:
            print(f"left out, for the jobs' environment is missing (make spark makes it): {' '.join(absent)}")
        found = {test: why for test, why in found.items() if test not in absent}
    chosen = plan({test: rank for test, (rank, _) in found.items()}, read_costs())
    print(f"{len(changed)} changed files touch {len(found)} test files; about {sum(chosen.run.values()):.0f} s:")
    print(*(f"  {seconds:5.1f} s  {test}: {found[test][1]}" for test, seconds in chosen.run.items()), sep="\n")
    if chosen.left_out:
        print("LEFT OUT, above the limit of four minutes (make test runs them):")
        print(*(f"  {seconds:5.1f} s  {test}: {found[test][1]}" for test, seconds in chosen.left_out.items()), sep="\n")
    if arguments.list:
        return 0
    failed = []
    for command in (*linters(changed), *test_commands(chosen.run)):
        print(f"$ {' '.join(command[:6])}{' ...' if len(command) > 6 else ''}", flush=True)
        if (status := run(command)) and not (status == NO_TESTS and "pytest" in command):
            failed.append(" ".join(command[:3]))
        elif status:
            print("  pytest has no test of these files to run (tests of the campaign are not run here)")
    print(json.dumps({"seconds": round(time.monotonic() - began), "failed": failed, "left out": len(chosen.left_out)}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
