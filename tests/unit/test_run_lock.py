"""One run at a time changes a host: its process holds the lock, whatever becomes of it, and says who it is."""

import json
import os
import platform
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from generate_errors import written
from model.said import row
from unit.run_lock_mistakes import FIRST, HOSTS, RUNS, said

from ansible_collections.millrace.kafka.plugins.plugin_utils import run_lock
from ansible_collections.millrace.kafka.plugins.plugin_utils.tags import only_preflight

# A process that does as Ansible: the lock is taken by a child, which ends, or goes on to work (`linger`).
RUN = """
import os, sys, time
from ansible_collections.millrace.kafka.plugins.plugin_utils import run_lock
folder, addresses, linger = sys.argv[1], sys.argv[2].split(","), sys.argv[3] == "linger"
run_lock.prepare()
reader, writer = os.pipe()
worker = os.fork()
if worker == 0:
    found = run_lock.problems(dict(zip(addresses, addresses)), folder)
    os.write(1, f"{found or 'taken'}\\n".encode())
    os.close(writer)
    if linger:
        os.read(reader, 1)   # until its parent has ended
        time.sleep(60)
    os._exit(0)
os.close(reader)
linger or os.waitpid(worker, 0)
os.write(1, b"waits\\n")
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def found_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that a test starts import what it does."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@contextmanager
def another(folder: Path, addresses: str, how: str = "waits") -> Iterator[subprocess.Popen[str]]:
    """Run a second process that holds these addresses; kill it at the end."""
    command = [sys.executable, "-c", RUN, str(folder), addresses, how, "-e", "password=geheim"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout is not None
    try:
        lines = {run.stdout.readline(), run.stdout.readline()}
        assert lines == {"taken\n", "waits\n"}
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.communicate()


def locked(folder: Path) -> list[str]:
    """Return the codes that a run of all hosts gets, and nothing is kept by this process."""
    script = "import sys; from unit.run_lock_mistakes import *; run_lock.prepare()\n"
    script += "print(*[problem.code for problem in run_lock.problems(HOSTS, sys.argv[1])])"
    return subprocess.check_output([sys.executable, "-c", script, str(folder)], text=True).split()


@pytest.mark.parametrize("code", RUNS)
def test_said(code: str, tmp_path: Path) -> None:
    """In the words of docs/errors.md."""
    text = RUNS[code](tmp_path)
    assert written()[code] == row(text, False), "run: make docs"


def test_a_second_run_is_told_who_is_there(tmp_path: Path) -> None:
    """The worker that took the lock has ended; its run has not. Nobody reads a password there."""
    with another(tmp_path, HOSTS["dc1-kafka1"]) as run:
        text = said(tmp_path)
    assert re.fullmatch(
        r"RUN_LOCKED the whole inventory: another run changes dc1-kafka1 "
        rf"\(\S.* on control node {platform.node()} since 20\d\d-\S+ \S+, pid {run.pid}: -c .*-e \.\.\.\): "
        "two runs at once could restart two brokers; wait until that run has ended, or end it there. "
        "No file has to be removed",
        text,
        re.DOTALL,
    ), text
    assert "geheim" not in "".join(path.read_text() for path in tmp_path.iterdir())


def test_a_run_that_could_not_lock_all_locks_none(tmp_path: Path) -> None:
    with another(tmp_path, HOSTS["dc1-kafka1"]):
        assert locked(tmp_path) == ["RUN_LOCKED"]
        with another(tmp_path, HOSTS["dc1-zk1"]):
            pass


def test_another_cluster_is_not_locked(tmp_path: Path) -> None:
    with another(tmp_path, "198.18.1.22,198.18.1.31"):
        assert locked(tmp_path) == []


@pytest.mark.parametrize("how", ["waits", "linger"])
def test_a_killed_run_leaves_no_lock(how: str, tmp_path: Path) -> None:
    """Also while a worker of it, an orphan now, ends its last task."""
    with another(tmp_path, HOSTS["dc1-zk1"], how) as run:
        assert locked(tmp_path) == ["RUN_LOCKED"]
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        assert locked(tmp_path) == []


def test_one_run_may_ask_twice(tmp_path: Path) -> None:
    """`ansible-playbook zookeeper.yml kafka.yml`: the second is the same run."""
    script = "import sys; from unit.run_lock_mistakes import *; run_lock.prepare()\n"
    script += "print([run_lock.problems(HOSTS, sys.argv[1]) for _ in range(3)])"
    assert subprocess.check_output([sys.executable, "-c", script, str(tmp_path)], text=True) == "[[], [], []]\n"


def test_more_hosts_than_one_message_carries(tmp_path: Path) -> None:
    addresses = [f"198.18.3.{number}" for number in range(254)]
    with another(tmp_path, ",".join(addresses)):
        run_lock.prepare()
        held = run_lock.take(tmp_path, [addresses[-1]])
        assert held is not None and held[0] == addresses[-1]


def test_files_are_for_all_users_and_no_link_is_followed(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        os.close(run_lock.opened(tmp_path / FIRST))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / FIRST).stat().st_mode) == 0o666
    (tmp_path / "link").symlink_to(tmp_path / FIRST)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "folder", "fifo"):
        with pytest.raises(OSError, match=name):
            run_lock.opened(tmp_path / name)


@pytest.mark.parametrize("words", ["", "[]", '{"user": 1}', json.dumps(dict.fromkeys(("pid", "user"), "x")), "\0"])
def test_words_that_cannot_be_read(words: str, tmp_path: Path) -> None:
    (tmp_path / FIRST).write_text(words)
    file = run_lock.opened(tmp_path / FIRST)
    assert run_lock.read(file).user == "an unknown user"
    os.close(file)


def test_words_are_shown_as_one_short_line(tmp_path: Path) -> None:
    words = dict.fromkeys(("user", "command", "since", "node", "mark"), "a\x1b[2J\n" + "x" * 1000) | {"pid": 7}
    (tmp_path / FIRST).write_text(json.dumps(words))
    file = run_lock.opened(tmp_path / FIRST)
    assert run_lock.read(file).command == f"a?[2J?{'x' * 294}..."
    os.close(file)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["kafka.yml", "-e", "a=b c=d", "-v"], "kafka.yml -e ... -v"),
        (["-e", "@vars.yml", "-ea=b", "-e@x.yml"], "-e @vars.yml -e... -e@x.yml"),
        (["--extra-vars", '{"a": 1}', "--extra-vars=a=b", "--ext", "x"], "--extra-vars ... --extra-vars=... --ext ..."),
        (["-vvbe", "a=b", "-l", "kafka:&rack_b"], "-vvbe ... -l 'kafka:&rack_b'"),
        (["--extra-vars=", "x"], "--extra-vars= x"),
    ],
)
def test_variables_of_the_command_line_are_not_noted(typed: list[str], shown: str) -> None:
    assert run_lock.command_line(typed) == shown


def test_a_folder_that_all_users_share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Root's own folder is none, so that root and others find the same."""
    closed, shared = tmp_path / "closed", tmp_path / "shared"
    closed.mkdir(0o755)
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr(run_lock, "FOLDERS", (str(tmp_path / "absent"), str(closed), str(shared)))
    assert run_lock.usual_folder() == shared


@pytest.mark.parametrize(
    ("tags", "asks"), [(["all"], False), (["model"], True), (["hosts", "model"], True), (["model", "config"], False)]
)
def test_tags_that_change_nothing(tags: list[str], asks: bool) -> None:
    assert only_preflight(tags) is asks
