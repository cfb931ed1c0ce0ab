"""The runner of the campaign: parts by name, each to its end whatever the others do, and a seed that repeats it."""

import os
import re
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import campaign
import campaign_parts
import campaign_status
import checkout_lock
import observations
import pytest
from campaign_run import Campaign
from faults.lab import until

ROOT = Path(__file__).parents[2]


def bad(run: Campaign) -> None:
    """Fails."""
    run.run("false")


def good(run: Campaign) -> None:
    """Passes."""
    run.run("test", str(run.seed), "=", "17")


@pytest.fixture(autouse=True)
def two_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two short parts, the first of which fails, a seed, and a lock of nobody else."""
    monkeypatch.setattr(checkout_lock, "FILE", tmp_path / "tests.lock")
    monkeypatch.setattr(campaign, "PARTS", {"bad": bad, "good": good})
    monkeypatch.setattr(campaign_status, "FILE", tmp_path / "campaign.json")
    monkeypatch.setenv("SEED", "17")


def test_a_part_that_fails_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.main([]) == 1
    *_, headline, first, second, again = capsys.readouterr().out.splitlines()
    assert headline == "failed:"
    assert first.split() == ["bad", "0", "s,", "FAILED:", "false"]
    assert second.split() == ["good", "0", "s"]
    assert again.endswith("make campaign PARTS='bad' SEED=17")


def test_the_last_run_of_each_part_is_kept() -> None:
    campaign.main(["bad", "good"])
    first = observations.read(campaign_status.FILE)
    assert (first["bad"]["result"], first["good"]["result"]) == ("failed", "passed")
    assert first["good"]["seed"] == 17 and first["good"]["date"] == date.today().isoformat()
    campaign.main(["good"])
    assert observations.read(campaign_status.FILE).keys() == {"bad", "good"}, "what another run has seen stays"


def test_a_damaged_file_of_last_runs_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    campaign_status.FILE.write_text("<<<<<<< HEAD\n{}\n")
    assert campaign.main(["good"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "campaign.json is damaged" in said.err


def test_the_distance_to_an_unnamed_commit_is_unknown() -> None:
    assert campaign_status.commits_since("") is None and campaign_status.commits_since("+") is None
    assert campaign_status.commits_since("HEAD") == 0


def test_a_part_that_nobody_runs_is_marked() -> None:
    today = date(2026, 5, 31)
    run = {"date": "2026-05-01", "commit": "abc", "result": "passed", "seconds": 1, "seed": 1}
    assert campaign_status.marks(None, today, None) == "NEVER RUN"
    assert campaign_status.marks(run, today, 300) == ""
    assert campaign_status.marks(run, today, 301) == "TOO LONG AGO"
    assert campaign_status.marks(run, today, None) == "TOO LONG AGO", "of a commit that is unknown here"
    assert campaign_status.marks({**run, "date": "2026-04-30"}, today, 1) == "TOO LONG AGO"
    assert campaign_status.marks({**run, "result": "failed"}, today, 1) == "FAILED"


def test_the_table_has_all_parts() -> None:
    shown = campaign_status.table(campaign_parts.PARTS, {}, date(2026, 5, 31)).splitlines()[1:]
    assert [line.split()[0] for line in shown] == list(campaign_parts.PARTS)
    assert all(line.endswith("NEVER RUN") for line in shown)


def test_named_parts_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.main(["good"]) == 0
    assert "bad" not in capsys.readouterr().out


def test_a_seed_is_made_and_printed_with_each_part_and_in_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEED", "")
    assert campaign.main(["bad", "good"]) == 1
    seeds = re.findall(r"SEED=(\d+)", capsys.readouterr().out)
    assert len(seeds) == 3 and len(set(seeds)) == 1


def test_an_unknown_part_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.main(["good", "pears"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "no part pears" in said.err and "Fails." in said.err


def test_beside_other_tests_of_the_checkout_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """tests/run.sh takes the same lock."""
    with checkout_lock.only_run("tests/run.sh all"):
        assert campaign.main(["good", "bad"]) == 2
    said = capsys.readouterr()
    who = f"another run of tests is there, so this one did nothing: tests/run.sh all, pid {os.getpid()}, since "
    assert said.out == "" and said.err.startswith(f"make campaign good bad: {who}")
    assert campaign.main(["good"]) == 0


def test_commands_of_a_killed_campaign_keep_others_out(tmp_path: Path) -> None:
    """They go on with its lab."""
    process = started(tmp_path, f"echo $$ >{tmp_path}/pid; touch {tmp_path}/begun; exec sleep 60")
    process.kill()
    process.wait(60)
    pid = (tmp_path / "pid").read_text().strip()
    with pytest.raises(checkout_lock.BusyError, match=f"was killed, and commands of it go on .*: kill -INT {pid}$"):
        checkout_lock.look()
    os.kill(int(pid), signal.SIGINT)
    until("the lock is free", lambda: not checkout_lock.holders(), 60)
    checkout_lock.look()


def started(tmp_path: Path, command: str) -> subprocess.Popen[str]:
    """Start a campaign of three parts, the second of which runs a command, and makes the file `destroyed` in its end.

    The command makes the file `begun`; it is awaited.
    """
    (tmp_path / "script.py").write_text(
        f"""import campaign, campaign_status, checkout_lock, pathlib, sys
campaign_status.FILE = pathlib.Path({str(tmp_path / "campaign.json")!r})
def waits(run):
    try:
        run.run("bash", "-c", {command!r})
    finally:
        run.run("sh", "-c", {f"echo removing && touch {tmp_path}/destroyed"!r})
def follows(run):
    run.run("touch", {f"{tmp_path}/next"!r})
checkout_lock.FILE = pathlib.Path({str(tmp_path / "tests.lock")!r})
campaign.PARTS = {{"good": lambda run: None, "waits": waits, "next": follows}}
campaign.end_on_signals()
sys.exit(campaign.main([]))
"""
    )
    environment = {**os.environ, "PYTHONPATH": "collections:packaging:tests:lab", "SEED": "17"}
    process = subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    until("the command runs", (tmp_path / "begun").exists, 60)
    return process


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_in_its_own_time_and_the_seed_is_said(tmp_path: Path, sent: signal.Signals) -> None:
    """Ctrl-C, a CI that cancels, a terminal that is closed, and an impatient hand.

    The command removes its lab, its part goes on to its own end, no other begins.
    """
    command = (
        f"trap 'touch {tmp_path}/ending; sleep 1; touch {tmp_path}/removed; exit 2' INT; "
        f"touch {tmp_path}/begun; sleep 30 & wait"
    )
    process = started(tmp_path, command)
    process.send_signal(sent)
    until("the command ends", (tmp_path / "ending").exists, 60)
    for more in campaign.SIGNALS:
        process.send_signal(more)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert (tmp_path / "removed").exists() and (tmp_path / "destroyed").exists()
    headline, first, again = output.splitlines()[-3:]
    assert (headline, first.split()) == ("interrupted:", ["good", "0", "s"])
    assert again.endswith("make campaign PARTS='waits next' SEED=17")


def test_a_reader_that_died_ends_the_campaign_and_leaves_no_lab(tmp_path: Path) -> None:
    """As `make campaign | tee`, where the tee is gone: what removes the lab is run, and need not be heard."""
    process = started(tmp_path, f"touch {tmp_path}/begun; sleep 2; echo on and on; exit 2")
    assert process.stdout
    process.stdout.close()
    assert process.wait(60) == 128 + signal.SIGPIPE
    assert (tmp_path / "destroyed").exists()
    assert not (tmp_path / "next").exists()


PARTS = dict(campaign_parts.PARTS)


def test_each_part_has_its_row() -> None:
    """And the table of CONTRIBUTING.md has no row of a part that does not exist."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| Part | Does |\n")[2].partition("\n\n")[0]
    rows = [line.split(" | ") for line in text.splitlines()[1:]]
    assert {name for row in rows for name in re.findall(r"`(.+?)`", row[0])} == PARTS.keys()
    assert [row[0] for row in rows if len(row[1]) < 20] == []


def made(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make, without what sets up the environment."""
    command = ["make", "--no-print-directory", "-o", "alone", "-o", "setup", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKEFLAGS")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_make_starts_the_campaign() -> None:
    """With the parts and the seed that are given; an unknown part ends it before anything runs."""
    recipe = made("-n", "campaign", "PARTS=pears pairs", "SEED=17").stdout
    assert recipe.startswith("SEED=17 ") and recipe.endswith(" python tests/campaign.py pears pairs\n")
    done = made("campaign", "PARTS=pears pairs", "SEED=17")
    assert done.stdout == "" and "campaign: no part pears; there are:" in done.stderr


@pytest.mark.parametrize("bench", ["bench-unchanged", "bench-resources", "bench-tls"])
def test_what_make_starts_finds_its_imports(bench: str) -> None:
    """The recipe of the bench with its script loaded, not run."""
    recipe, script = made("-n", bench).stdout, f"tests/{bench.replace('-', '_')}.py"
    assert recipe.count(f" python {script}") == 1
    loads = f"""-c 'import runpy; runpy.run_path("{script}")'"""
    done = subprocess.run(["bash", "-c", recipe.replace(script, loads)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
