"""The console script from the outside: a process, its exit status, its files."""

import json
import pkgutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from millrace_jobs import jobs

from .helpers import MILLRACE, counts, environment, eventually, put, write_config


def finished(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script to its end."""
    command = [MILLRACE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600, check=False)


@contextmanager
def started(job: str, config: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the script in the background; kill it at the end if it is still there."""
    with log.open("ab") as stderr:
        process = subprocess.Popen([MILLRACE, job, "--config", str(config)], stderr=stderr, env=environment())
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=60)


def test_help_lists_the_jobs() -> None:
    """Each module of millrace_jobs.jobs and each command has one line: its name and what it does."""
    shown = finished("--help")
    assert shown.returncode == 0
    listed, _, rest = shown.stdout.partition("\njobs:\n")[2].partition("\n\ncommands:\n")
    commands = rest.partition("\n\n")[0]
    modules = [name for _, name, _ in pkgutil.iter_modules(jobs.__path__)]
    assert sorted(line.split(maxsplit=1)[0] for line in listed.splitlines()) == sorted(modules)
    assert [line.split(maxsplit=1)[0] for line in commands.splitlines()] == [
        "status",
        "new-job",
        "reposition",
        "class-data",
    ]
    assert all(len(line.split()) > 2 for line in (listed + "\n" + commands).splitlines())


def test_check_accepts_a_good_file(tmp_path: Path) -> None:
    """Nothing to say, nothing started, whatever the directories look like."""
    shown = finished("count_words", "--config", str(write_config(tmp_path)), "--check")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("check", [["--check"], []])
def test_a_bad_file_is_refused_with_all_problems(tmp_path: Path, check: list[str]) -> None:
    """Status 2, and one line a problem that begins with the file and the key."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"chekpoint": "/c", "input_directory": "in", "output_directory": ""}))
    shown = finished("count_words", "--config", str(file), *check)
    assert shown.returncode == 2
    begins = [line.split(" is ")[0] for line in shown.stderr.splitlines()]
    assert begins == [
        f"{file}: chekpoint:",
        f"{file}: checkpoint:",
        f"{file}: input_directory: 'in'",
        f"{file}: output_directory:",
    ]


def test_an_unknown_job_is_refused(tmp_path: Path) -> None:
    """Status 2, with the names of those that exist."""
    shown = finished("count_wrods", "--config", str(write_config(tmp_path)))
    assert shown.returncode == 2
    assert "count_words" in shown.stderr


def test_what_spark_refuses_is_said_in_one_line(tmp_path: Path) -> None:
    """Status 1 for a directory that is not there."""
    config = write_config(tmp_path, input_directory=str(tmp_path / "nowhere"))
    shown = finished("publish_lines", "--config", str(config))
    assert shown.returncode == 1
    assert str(tmp_path / "nowhere") in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_failed_query_ends_with_its_cause(tmp_path: Path) -> None:
    """Status 1 when a batch cannot be written, because a file is where the directory should be."""
    config = write_config(tmp_path)
    (tmp_path / "out").write_text("in the way")
    put(tmp_path / "in", "one.txt", "a\n")
    shown = finished("count_words", "--config", str(config))
    assert shown.returncode == 1
    (line,) = [line for line in shown.stderr.splitlines() if line.startswith("ERROR")]
    assert line.startswith("ERROR millrace: count_words: the query failed: ")
    assert f"Parent path is not a directory: file:{tmp_path / 'out'}" in line
    assert "\tat " not in shown.stderr


def test_sigterm_lets_the_running_batch_finish(tmp_path: Path) -> None:
    """Status 0; the batch that ran when the signal came is written and committed."""
    config, log = write_config(tmp_path), tmp_path / "log"
    commits = tmp_path / "checkpoint" / "commits"
    put(tmp_path / "in", "one.txt", "a b a\n\nc\n")
    with started("count_words", config, log) as job:
        eventually((tmp_path / "checkpoint" / "offsets" / "0").exists, True)
        assert not (commits / "0").exists()
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=300) == 0
    assert [path.name for path in commits.glob("[0-9]*")] == ["0"]
    assert counts(tmp_path / "out") == {"a": "2", "b": "1", "c": "1"}
    assert "batch 0: 3 rows in " in log.read_text()


@pytest.mark.campaign
def test_counts_are_exact_after_kills(tmp_path: Path) -> None:
    """A job that is killed in a batch, and again after it, neither loses nor repeats a word."""
    config, log, out = write_config(tmp_path), tmp_path / "log", tmp_path / "out"
    checkpoint = tmp_path / "checkpoint"
    put(tmp_path / "in", "one.txt", "a b a\n")
    with started("count_words", config, log) as job:
        eventually((checkpoint / "offsets" / "0").exists, True)
        job.kill()
        job.wait(timeout=60)
    assert not (checkpoint / "commits" / "0").exists()
    put(tmp_path / "in", "two.txt", "a c\n")
    with started("count_words", config, log) as job:
        eventually(lambda: counts(out), {"a": "3", "b": "1", "c": "1"})
        job.kill()
        job.wait(timeout=60)
    put(tmp_path / "in", "three.txt", "c c\n")
    with started("count_words", config, log) as job:
        eventually(lambda: counts(out), {"a": "3", "b": "1", "c": "3"})
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=300) == 0
