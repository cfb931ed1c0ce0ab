"""The cost of tests: what pytest reports of each test, the table of layers, the budget."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import costs
import pytest


def layer(name: str, own: float, containers: float | None, pace: float = 1.0) -> dict[str, Any]:
    return {"layer": name, "wall": 60, "own": own, "containers": containers, "pace": pace}


def test_a_layer_above_its_budget_is_named_with_both_figures() -> None:
    table, above = costs.judge([layer("site", 400, 900), layer("unit", 119, None)], {"site": 1000, "unit": 100})
    assert above == [line for line in above if line.startswith("site: 1300 CPU-s") and "budget of 1000" in line]
    assert len(above) == 1
    assert "not counted" in table and "1300" in table


def test_containers_count() -> None:
    assert costs.judge([layer("site", 400, 900)], {"site": 1000})[1]
    assert not costs.judge([layer("site", 400, 700)], {"site": 1000})[1]


def test_a_layer_whose_containers_were_not_counted_is_not_compared() -> None:
    table, above = costs.judge([layer("site", 4000, None)], {"site": 1000})
    assert above == [] and "not compared with its budget" in table


def test_a_slow_machine_does_not_fail_a_layer() -> None:
    assert costs.judge([layer("unit", 200, None, pace=1.0)], {"unit": 100})[1]
    assert not costs.judge([layer("unit", 200, None, pace=2.0)], {"unit": 100})[1]


def test_the_pace_of_a_layer_is_that_of_its_own_time(tmp_path: Path) -> None:
    file = tmp_path / "pace"
    assert costs.pace_between(file, 0, 100) == 1.0
    file.write_text("10 1.0\n20 2.0\n25 2.0\n30 5.0\n40 2.0\n")
    assert costs.pace_between(file, 15, 35) == 3.0
    assert costs.pace_between(file, 50, 60) == 2.4, "all of the run, where nothing was measured in that time"


def test_each_test_has_the_cpu_seconds_of_itself_and_its_commands(tmp_path: Path) -> None:
    """A test that computes, one that has a command compute, and one that sleeps."""
    (tmp_path / "conftest.py").write_text(
        "import costs\ndef pytest_configure(config):\n    config.pluginmanager.register(costs.Costs(config))\n"
    )
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys, time\n"
        "def test_computes():\n    end = time.thread_time() + 0.5\n    while time.thread_time() < end: pass\n"
        f"def test_commands():\n    subprocess.run([sys.executable, '-c', {spin!r}], check=True)\n"
        "def test_sleeps():\n    time.sleep(0.5)\n"
    )
    (tmp_path / "costs_here.py").write_text(
        "import costs, pathlib, sys, pytest\n"
        f"costs.PER_TEST = pathlib.Path({str(tmp_path)!r}) / 'costs.json'\n"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '--rootdir', sys.argv[1], sys.argv[1]]))\n"
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "costs_here.py", tmp_path],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(costs.__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kept = json.loads((tmp_path / "costs.json").read_text())
    computes, commands, sleeps = (kept[f"test_it.py::test_{name}"] for name in ("computes", "commands", "sleeps"))
    assert computes >= 0.5 and commands >= 0.5 and sleeps < 0.4


def test_costs_of_tests_whose_file_is_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PER_TEST", tmp_path / "costs.json")
    costs.PER_TEST.write_text('{"tests/unit/test_gone.py::test_a": 1.0, "test_gone.py::test_b": 1.0}')
    kept = {"tests/unit/test_costs.py::test_a": 2.0, "test_archive_events.py::test_b": 3.0}
    costs.keep(kept)
    costs.keep({})
    assert costs.read_costs() == kept
    costs.PER_TEST.write_text("[1]")
    assert costs.read_costs() == {}, "a damaged file is as none"


def test_each_layer_of_make_test_has_a_budget() -> None:
    budget = json.loads(costs.BUDGET.read_text())
    script = (costs.ROOT / "tests" / "run.sh").read_text()
    assert set(budget) == {"unit", "render", "lint", "survival", "lab", "spark", "site", "timed"}
    assert all(f"\n{name}() {{" in script for name in budget)


@pytest.mark.parametrize(("text", "seconds"), [("cpuacct/g/cpuacct.usage", 2.5), ("g/cpu.stat", 2.5)])
def test_both_versions_of_control_groups_are_read(
    text: str, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "CGROUPS", tmp_path)
    assert costs.seconds_in("/g") is None and costs.seconds_in("") is None
    file = tmp_path / text
    file.parent.mkdir(parents=True)
    file.write_text("2500000000\n" if "acct" in text else "usage_usec 2500000\nuser_usec 1\n")
    assert costs.seconds_in("/g") == seconds


def test_processes_that_nobody_waits_for_count_where_the_layer_has_a_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setattr(costs, "CGROUPS", tmp_path)
    monkeypatch.setenv(costs.LANE, "/lane")
    file = tmp_path / "cpuacct/lane/cpuacct.usage"
    file.parent.mkdir(parents=True)
    file.write_text("1000000000")
    counted = costs.Costs(pytestconfig)
    counted.worker, counted.lane = False, "/lane"  # also where this test runs in a process of pytest-xdist
    file.write_text("7500000000")
    assert counted.used()[0] == 7.5
    counted.lane = "/gone"
    assert counted.used()[0] == pytest.approx(costs.own_seconds(), abs=5)
