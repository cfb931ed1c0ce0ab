"""Which tests a change touches, and which of them fit into the time."""

import fnmatch
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import changed
import pytest

Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Git]:
    """Commands of git in an empty repository with the branch main, in which changes are looked for."""
    caches = [value for value in vars(changed).values() if hasattr(value, "cache_clear")]

    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(changed, "ROOT", tmp_path)
    monkeypatch.setattr(changed, "removed", set())
    for cache in caches:
        cache.cache_clear()
    git("init", "-q", "-b", "main")
    yield git
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("plugins/module_utils/kafka/gate.py", "unit/test_gate"),
        ("plugins/module_utils/kafka/reassign/plan.py", "unit/test_reassign_plan"),
        ("plugins/plugin_utils/model/ciphers.py", "model/test_mistakes"),
        ("roles/kafka/templates/server.properties.j2", "render/test_kafka"),
        ("roles/kafka/files/hand_over.py", "unit/test_hand_over"),
        ("roles/base/tasks/main.yml", "render/test_base"),
        ("functions/zookeeper.yml", "render/test_zookeeper"),
        ("plugins/filter/properties.py", "render/test_zookeeper"),
        ("plugins/action/certificates.py", "render/test_pki"),
        ("playbooks/restart.yml", "render/test_restart"),
        ("spark_jobs/src/millrace_jobs/jobs/relay.py", "spark/test_relay"),
        ("docs/errors.md", "model/test_mistakes"),
        ("tests/run.sh", "unit/test_run_sh"),
        ("tests/unit/test_gate.py", "unit/test_gate"),
        ("packaging/build.sh", "unit/test_build_sh"),
        ("lab/millrace_lab/containers.py", "lab/test_derive"),
    ],
)
def test_a_change_touches_its_tests(path: str, test: str) -> None:
    assert (changed.ROOT / path).exists()
    assert f"tests/{test}.py" in changed.touched([path])


def test_each_name_of_the_table_is_that_of_a_test() -> None:
    """Names with a part of the changed path in them are not looked at."""
    names = {glob for _, globs in changed.TABLE for glob in globs if "\\" not in glob}
    tests = [test.removeprefix("tests/").removesuffix(".py") for test in changed.test_files()]
    assert sorted(glob for glob in names if not fnmatch.filter(tests, glob)) == []


def test_what_imports_a_removed_module_is_touched(git: Git, tmp_path: Path) -> None:
    """As after `git rm`: git does not list the module any more, and the tests that import it fail."""
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (folder / "helper.py").touch()
    (folder / "test_it.py").write_text("from unit import helper\n")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    git("rm", "-q", "tests/unit/helper.py")
    assert list(changed.touched(changed.changed_files("main"))) == ["tests/unit/test_it.py"]


def test_imports_through_other_files_are_followed() -> None:
    assert "plugins/module_utils/waits.py" in changed.closure("tests/unit/test_restart_waits.py")
    assert "tests/unit/clock.py" in changed.closure("tests/unit/test_restart_waits.py")


def test_every_python_file_of_the_product_touches_a_test() -> None:
    files = subprocess.run(
        ["git", "ls-files", "plugins/*.py", "spark_jobs/src/*.py", "roles/*.py", "packaging/*.py"],
        cwd=changed.ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert len(files) > 200
    imported = set().union(*(changed.closure(test) for test in changed.test_files()))
    left = [file for file in files if file not in imported and not file.endswith("__init__.py")]
    assert [file for file in left if not changed.touched([file])] == []


def test_a_word_that_many_tests_name_says_little() -> None:
    ranks = {rank for _, rank, why in changed.reasons("roles/none/run") if why == "names"}
    assert ranks == {2}


def test_the_nearest_tests_come_first_and_the_rest_is_named() -> None:
    tests = {"tests/unit/test_near.py": 1, "tests/unit/test_far.py": 2, "tests/unit/test_costly.py": 1}
    costs = {
        "tests/unit/test_near.py::test_a": 17.0,
        "tests/unit/test_near.py::test_b": 17.0,
        "tests/unit/test_far.py::test_a": 1.7,
        "tests/unit/test_costly.py::test_a": 170.0,
    }
    chosen = changed.plan(tests, costs, limit=30)
    assert list(chosen.run) == ["tests/unit/test_near.py", "tests/unit/test_far.py"]
    assert chosen.run["tests/unit/test_near.py"] == pytest.approx(20.0)
    assert list(chosen.left_out) == ["tests/unit/test_costly.py"]


def test_changed_files_are_those_since_the_merge_base_and_the_untracked_ones(
    git: Git, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A branch with a commit, a deletion, an edit and a new file; the other branch went on by itself."""

    def commit(*names: str) -> None:
        for name in names:
            (tmp_path / name).write_text(name)
        git("add", ".")
        git("commit", "-q", "-m", "x")

    commit("same", "edited", "deleted", ".gitignore")
    (tmp_path / ".gitignore").write_text("ignored")
    git("checkout", "-q", "-b", "work")
    commit("committed")
    git("checkout", "-q", "main")
    commit("elsewhere")
    git("checkout", "-q", "work")
    (tmp_path / "edited").write_text("anew")
    (tmp_path / "deleted").unlink()
    for name in ("untracked", "ignored", "größe"):
        (tmp_path / name).touch()
    changes = [".gitignore", "committed", "deleted", "edited", "größe", "untracked"]
    assert changed.changed_files("main") == changes
    (tmp_path / "größe").unlink()
    with pytest.raises(SystemExit, match="BASE=<commit>"):
        changed.changed_files("no-such-commit")
    assert changed.changed_files(changed.BASE) == ["deleted", "edited", "untracked"]
    assert "no remote has a branch main" in capsys.readouterr().out
    git("update-ref", "refs/remotes/there/main", "main")
    assert changed.changed_files(changed.BASE) == [".gitignore", "committed", "deleted", "edited", "untracked"]
    git("update-ref", "refs/remotes/elsewhere/main", "main")
    with pytest.raises(SystemExit, match="elsewhere/main and there/main"):
        changed.changed_files(changed.BASE)


def test_a_renamed_file_is_changed_under_both_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    (tmp_path / "old").write_text("text\n" * 20)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"], ["mv", "old", "new"]):
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)
    assert changed.changed_files("HEAD") == ["new", "old"]


def test_a_command_whose_tests_are_all_of_the_campaign_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_it.py").write_text("import pytest\n@pytest.mark.campaign\ndef test_it(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = campaign: long\n")
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    assert changed.run(["pytest", "-q", "-m", "not campaign", "test_it.py"]) == changed.NO_TESTS


def test_changed_files_are_checked_by_their_linters() -> None:
    found = {words[0]: words for words in changed.linters(["plugins/module_utils/waits.py", "tests/run.sh", "gone.py"])}
    assert found.keys() == {"ruff", "mypy", "shellcheck"}
    assert [(changed.ROOT / file).exists() for file in found["mypy"][1:]] == [True]
    assert "gone.py" not in found["ruff"]
    roles = changed.linters(["roles/base/tasks/main.yml"])
    assert [words[0] for words in roles] == ["yamllint", "ansible-lint"]


def test_each_folder_has_a_command_of_its_own() -> None:
    tests = ["tests/unit/test_a.py", "tests/model/test_b.py", "tests/render/test_c.py", "tests/spark/test_d.py"]
    commands = changed.test_commands(tests)
    assert len(commands) == 3
    assert commands[0][0] == "pytest" and {"-n", "tests/unit/test_a.py", "tests/model/test_b.py"} <= set(commands[0])
    assert "-n" not in commands[1] and commands[2][2].endswith("venv-spark/bin/python")
    assert commands[2][1] == f"PYTHONPATH={changed.ROOT}/spark_jobs/src", "the sources come before the installed wheel"
