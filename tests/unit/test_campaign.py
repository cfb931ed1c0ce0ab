"""The runner of the campaign: parts by name, each to its end whatever the others do, and a seed that repeats it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import campaign
import pytest

ROOT = Path(__file__).parents[2]


def bad(run: campaign.Campaign) -> None:
    """Fails."""
    run.run("false")


def good(run: campaign.Campaign) -> None:
    """Passes."""
    run.run("test", str(run.seed), "=", "17")


@pytest.fixture(autouse=True)
def two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two short parts, the first of which fails, and a seed."""
    monkeypatch.setattr(campaign, "PARTS", {"bad": bad, "good": good})
    monkeypatch.setenv("SEED", "17")


def test_a_part_that_fails_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.main([]) == 1
    *_, headline, first, second, again = capsys.readouterr().out.splitlines()
    assert headline == "failed:"
    assert first.split() == ["bad", "0", "s,", "FAILED:", "false"]
    assert second.split() == ["good", "0", "s"]
    assert again.endswith("make campaign PARTS='bad' SEED=17")


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


def test_each_part_is_explained() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The campaign")[2]
    assert [name for name in PARTS if f"`{name}`" not in text] == []


PARTS = dict(campaign.PARTS)


@pytest.mark.parametrize("script", ["campaign", "bench_unchanged", "bench_tls"])
def test_make_starts_it(script: str) -> None:
    """With what the Makefile says of where imports are found, and nothing of pytest's."""
    makefile = (ROOT / "Makefile").read_text()
    paths = re.search("^PATHS = PYTHONPATH=(.+)$", makefile, re.MULTILINE)
    assert paths
    assert f"$(PATHS) python tests/{script}.py" in makefile
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'tests'); import {script}"]
    environment = {**os.environ, "PYTHONPATH": paths.group(1)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
