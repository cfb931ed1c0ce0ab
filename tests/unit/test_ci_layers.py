"""Which layers CI leaves out, in a repository of three commits; and that the inputs of a layer are all it imports."""

import os
import re
import subprocess
import sys
from pathlib import Path

import changed
import ci_layers
import pytest

QUOTED = "test_an_input_whose_name_git_would_quote_is_noticed"


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One commit each of a job, a page, a shared file; HEAD is the last one."""
    monkeypatch.setattr(ci_layers, "ROOT", tmp_path)

    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    made = []
    for path in ("spark_jobs/src/job.py", "docs/page.md", "Makefile"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
        git("add", ".")
        git("commit", "-q", "-m", path)
        made.append(git("rev-parse", "HEAD").strip())
    return made


def record(commit: str, landings: int = 3) -> dict[str, object]:
    return {"landings": landings, "commit": commit, "layers": dict.fromkeys(ci_layers.INPUTS, commit)}


def checkout(commit: str) -> None:
    subprocess.run(["git", "checkout", "-q", commit], cwd=ci_layers.ROOT, check=True)


def test_a_layer_without_a_changed_input_is_left_out(commits: list[str]) -> None:
    checkout(commits[1])
    assert ci_layers.left_out(record(commits[0])) == ["spark", "lab"], "a page is no input"


def test_a_change_to_what_all_share_runs_all(commits: list[str]) -> None:
    assert ci_layers.left_out(record(commits[0])) == []


def test_nothing_is_left_out_without_a_known_landing(commits: list[str]) -> None:
    checkout(commits[1])
    assert ci_layers.left_out({}) == []
    assert ci_layers.left_out(record("0" * 40)) == []
    assert ci_layers.left_out(record(commits[2])) == [], "a commit that is no ancestor of HEAD"


def test_every_tenth_landing_runs_all(commits: list[str]) -> None:
    checkout(commits[1])
    assert ci_layers.left_out(record(commits[0], landings=9)) == []
    assert ci_layers.left_out(record(commits[0], landings=10)) != []


def test_a_layer_that_was_left_out_keeps_the_commit_of_its_last_run(commits: list[str]) -> None:
    checkout(commits[1])
    after = ci_layers.landed(record(commits[0]))
    assert after["landings"] == 4 and set(after["layers"].values()) == {commits[0]}
    checkout(commits[2])
    assert set(ci_layers.landed(record(commits[0]))["layers"].values()) == {commits[2]}


def test_a_file_that_leaves_the_inputs_by_a_new_name_is_a_change(commits: list[str]) -> None:
    checkout(commits[1])
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (["mv", "spark_jobs/src/job.py", "docs/job.py"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *identity, *words], cwd=ci_layers.ROOT, check=True)
    assert ci_layers.left_out(record(commits[0])) == []


def test_runs_accept_to_leave_out_the_layers_with_inputs_and_no_others() -> None:
    text = (changed.ROOT / "tests" / "run.sh").read_text()
    assert re.findall('^MAY_LEAVE="(.*)"', text, re.MULTILINE) == [" ".join(ci_layers.INPUTS)]


def test_an_input_whose_name_git_would_quote_is_noticed(commits: list[str]) -> None:
    (ci_layers.ROOT / "spark_jobs/src/größe.py").touch()
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *identity, *words], cwd=ci_layers.ROOT, check=True)
    assert ci_layers.left_out(record(commits[2])) == []


def test_a_commit_that_no_main_of_a_remote_contains_is_not_noted_as_landed(
    commits: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ci_layers, "FILE", ci_layers.ROOT / "landed.json")
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", commits[1]], cwd=ci_layers.ROOT, check=True)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/feature", "HEAD"], cwd=ci_layers.ROOT, check=True)
    assert ci_layers.main(["landed"]) == 1 and "has not landed" in capsys.readouterr().err
    assert not ci_layers.FILE.exists()
    checkout(commits[1])
    assert ci_layers.main(["landed"]) == 0 and ci_layers.read()["commit"] == commits[1]


def test_what_has_landed_is_counted_once(
    commits: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ci_layers, "FILE", ci_layers.ROOT / "landed.json")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    assert ci_layers.main(["landed"]) == 0
    for words in (["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *identity, *words], cwd=ci_layers.ROOT, check=True)
    assert ci_layers.main(["landed"]) == 1 and "only landed.json has changed" in capsys.readouterr().err
    assert ci_layers.read()["landings"] == 1


def test_a_person_s_run_leaves_out_nothing_that_the_environment_names() -> None:
    make = ["make", "-n", "test"]
    for words, left_out in (([], ""), (["LEAVE=spark lab"], "spark lab")):
        environment = {**os.environ, "LEAVE": "spark", "LEFT_OUT": "lab", "MAKEFLAGS": ""}
        done = subprocess.run([*make, *words], cwd=changed.ROOT, env=environment, capture_output=True, text=True)
        assert f"LEFT_OUT='{left_out}' tests/run.sh all" in done.stdout, done.stderr


@pytest.mark.parametrize("layer", sorted(ci_layers.INPUTS))
def test_what_a_layer_imports_is_among_its_inputs(layer: str) -> None:
    tests = sorted(path for path in changed.python_files() if path.startswith(f"tests/{layer}/"))
    imported = set().union(*(changed.closure(path) for path in tests))
    inputs = f"{ci_layers.INPUTS[layer]}|{ci_layers.SHARED}"
    assert tests and [path for path in sorted(imported) if not re.fullmatch(inputs, path)] == []


def test_tests_leave_the_repository_of_a_hook_alone(commits: list[str]) -> None:
    """In a linked worktree git names its repository to hooks, and commands of git in other folders would use it."""
    test = changed.ROOT / "tests" / "unit" / "test_ci_layers.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{test}::{QUOTED}"]
    environment = {**os.environ, "GIT_DIR": str(ci_layers.ROOT / ".git")}
    done = subprocess.run(command, cwd=changed.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    refs = subprocess.run(["git", "rev-list", "--all"], cwd=ci_layers.ROOT, capture_output=True, text=True, check=True)
    assert refs.stdout.split() == commits[::-1]
