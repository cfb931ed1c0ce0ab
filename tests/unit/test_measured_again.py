"""When a test that exceeded a promised bound is run once more, and what fails at once."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults import measured_again, promises
from faults.promises import BACK, Clock, PromiseBroken, Trial
from faults.starved import BUSY, OTHERS, Meter, Reading, Window, between, group_of, processors

pytest_plugins = ["pytester"]

QUIET = {"busy": 40.0, "own": 2.0, "lab": 30.0}
ALONE = {"busy": 198.0, "own": 8.0, "lab": 185.0}
STARVED = {"busy": 198.0, "own": 8.0, "lab": 90.0}
"""CPU seconds in a window of 100 s on two processors."""


def window(busy: float, own: float, lab: float | None, lab_before: float = 0.0) -> Window:
    before = Reading(1000.0, 5000.0, 3000.0, 70.0, {"/lab": lab_before})
    return between(before, Reading(1100.0, 5200.0, 3000.0 + busy, 70.0 + own, {"/lab": lab}))


def test_a_test_is_starved_where_processors_are_busy_with_other_work() -> None:
    assert window(**STARVED) == Window(100.0, 0.99, 1.0)
    assert window(**STARVED).starved
    assert str(window(**STARVED)) == "in 100 s processors were 99% busy, and other work took 1.00 of them"


@pytest.mark.parametrize("figures", [QUIET, ALONE, {"busy": 150.0, "own": 0.0, "lab": 10.0}])
def test_a_test_is_not_starved_by_its_own_lab_or_where_processors_were_idle(figures: dict[str, float]) -> None:
    assert not window(**figures).starved


def test_the_bounds_of_the_rule() -> None:
    assert Window(10.0, BUSY, OTHERS).starved
    assert not Window(10.0, BUSY - 0.01, OTHERS).starved
    assert not Window(10.0, BUSY, OTHERS - 0.01).starved


def test_without_the_lab_s_cpu_time_nothing_is_starved() -> None:
    unknown = window(198.0, 8.0, None)
    assert not unknown.starved and "an unknown number" in str(unknown)
    nowhere = Reading(1000.0, 5000.0, 3000.0, 70.0, {})
    assert not between(nowhere, Reading(1100.0, 5200.0, 3198.0, 70.0, {})).starved


def test_the_counter_of_a_container_that_was_restarted_begins_at_0() -> None:
    assert window(198.0, 8.0, 90.0, lab_before=4000.0).others == 1.0


def test_the_group_of_a_lane_counts_containers_that_were_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("costs.CGROUPS", tmp_path)
    for group, seconds in (("labs-1", 95), ("lane-1", 12)):
        (tmp_path / "cpuacct" / group).mkdir(parents=True)
        (tmp_path / "cpuacct" / group / "cpuacct.usage").write_text(f"{seconds}000000000\n")
    meter = Meter(None)
    meter.__dict__["groups"] = ["/libpod_parent/libpod-1f"]
    monkeypatch.setenv("MILLRACE_LAB_CGROUP", "/labs-1")
    monkeypatch.setenv("MILLRACE_LANE_CGROUP", "/lane-1")
    assert (meter.read().lab, meter.read().own) == ({"/labs-1": 95.0}, 12.0)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        (
            "5:cpuset:/\n2:cpu,cpuacct:/libpod_parent/libpod-1f/system.slice\n1:name=systemd:/x\n0::/\n",
            "/libpod_parent/libpod-1f",
        ),
        ("0::/machine.slice/libpod-1f.scope/container/init.scope\n", "/machine.slice/libpod-1f.scope"),
        ("0::/user.slice\n", ""),
        ("", ""),
    ],
)
def test_the_control_group_of_a_container(text: str, group: str) -> None:
    assert group_of(text) == group


def test_this_machine_can_be_read() -> None:
    before = Meter(None).read()
    after = Meter(None).read()
    assert before.lab == {} and 0 < before.busy < before.total <= after.total and before.own <= after.own


def test_time_that_a_hypervisor_took_is_busy_and_waiting_for_a_disk_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.starved._TICKS_A_SECOND", 100)
    assert processors("cpu  100 200 300 4000 500 10 20 30 7 0\ncpu0 1 1\n") == (51.6, 6.6)


# A test file that the rest of this file runs: each run of its test takes the next row.
TESTS = """
import pytest
from faults.promises import BACK, Clock, PromiseBroken

RUNS = {runs}
HEALED = []

@pytest.fixture
def lab():
    yield len(HEALED)
    HEALED.append(True)
    assert not {unhealthy}, "the lab is not whole"

@pytest.mark.timed{again}
def test_it(lab, record_property):
    seconds, lost = RUNS[lab]
    if seconds is None:
        pytest.skip("nothing to measure")
    record_property("note", f"run {{lab}}")
    clock = Clock("kill -9 of a broker")
    clock.compare(BACK, seconds)
    if lost is None:
        pytest.skip("something is missing")
    assert not lost, "a record is lost"
"""
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the test above; return its outcome, and its message and notes."""
    pytester.makeini("[pytest]\nmarkers = timed: in seconds")

    def run(
        runs: list[tuple[float | None, bool | None]],
        figures: dict[str, float],
        unhealthy: bool = False,
        again: str = "",
    ) -> tuple[str, str]:
        pytester.makepyfile(TESTS.format(runs=runs, unhealthy=unhealthy, again=again))
        monkeypatch.setattr(measured_again, "Meter", lambda _: Meter(None))
        monkeypatch.setattr(promises, "between", lambda *_: window(**figures))
        done = pytester.inline_run("-p", "no:cacheprovider", plugins=[measured_again])
        reports: Any = done.getreports("pytest_runtest_logreport")
        failed = [report for report in reports if report.failed]
        notes = [text for name, text in reports[-1].user_properties if name == "note"]
        outcome = " and ".join(report.when for report in failed) or "passed"
        return outcome, "\n".join([*(report.longreprtext for report in failed), *notes])

    return run


FIRST = "kill -9 of a broker: process back 30.00 s (promised 20): in 100 s processors were 99% busy"


def test_what_is_in_time_is_run_once(run: Run) -> None:
    assert run([(19.0, False)], STARVED) == ("passed", "run 0")


def test_a_starved_test_that_is_in_time_the_second_time_passes_and_both_results_are_printed(run: Run) -> None:
    outcome, said = run([(30.0, False), (19.0, False)], STARVED)
    assert outcome == "passed"
    assert said.splitlines()[0] == "run 0" and said.splitlines()[-1] == "run 1"
    assert f"test_it: measured again. First run: {FIRST}" in said


def test_a_starved_test_that_is_late_twice_fails_and_both_results_are_printed(run: Run) -> None:
    outcome, said = run([(30.0, False), (25.0, False)], STARVED)
    assert outcome == "call" and FIRST in said and "process back 25.00 s (promised 20)" in said


@pytest.mark.parametrize("figures", [QUIET, ALONE])
def test_a_test_that_had_its_processors_fails_at_once(run: Run, figures: dict[str, float]) -> None:
    outcome, said = run([(30.0, False), (19.0, False)], figures)
    assert outcome == "call" and "PromiseBroken" in said and "run 1" not in said


def test_a_loss_fails_at_once_though_the_bound_was_exceeded_in_a_starved_test(run: Run) -> None:
    outcome, said = run([(30.0, True), (19.0, False)], STARVED)
    assert outcome == "call" and "a record is lost" in said and "run 1" not in said
    assert "a bound was exceeded, too: kill -9 of a broker" in said


def test_a_starved_test_that_cannot_be_run_twice_fails_at_once(run: Run) -> None:
    outcome, said = run([(30.0, False), (19.0, False)], STARVED, again="(again=False)")
    assert outcome == "call" and "PromiseBroken" in said and "run 1" not in said


def test_a_loss_in_the_second_run_fails(run: Run) -> None:
    outcome, said = run([(30.0, False), (19.0, True)], STARVED)
    assert outcome == "call" and "a record is lost" in said and FIRST in said


def test_a_late_test_that_then_skips_fails(run: Run) -> None:
    outcome, said = run([(30.0, None)], ALONE)
    assert outcome == "call" and "PromiseBroken" in said and "process back 30.00 s (promised 20)" in said


def test_a_second_run_that_is_skipped_does_not_count(run: Run) -> None:
    outcome, said = run([(30.0, False), (None, False)], STARVED)
    assert outcome == "call" and FIRST in said


def test_a_lab_that_does_not_heal_is_not_measured_again(run: Run) -> None:
    outcome, said = run([(30.0, False), (19.0, False)], STARVED, unhealthy=True)
    assert outcome == "call and teardown" and "the lab is not whole" in said and "run 1" not in said


def test_one_bound_that_was_exceeded_on_free_processors_is_enough_to_fail_at_once() -> None:
    trial = Trial(lambda: pytest.fail("nothing is read"))
    assert not trial.starved
    for figures, starved in ((STARVED, True), (ALONE, False)):
        trial.exceeded.append(promises.Exceeded("late", window(**figures)))
        assert trial.starved == starved


def test_a_clock_outside_of_a_test_raises_at_once() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "trial", None)
        clock = Clock("kill -9 of a broker")
        clock.compare(BACK, 19.0)
        with pytest.raises(PromiseBroken, match=r"process back 30.00 s \(promised 20\)"):
            clock.compare(BACK, 30.0)


def test_a_wait_that_takes_longer_than_promised_is_measured_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test goes on to its ledger."""
    trial = Trial(Meter(None).read)
    monkeypatch.setattr(Clock, "trial", trial)
    clock = Clock("kill -9 of a broker", {BACK: -1.0, "asked": 60.0})
    assert clock.wait(BACK, lambda: "an answer") == "an answer"
    clock.wait_none("asked", list)
    assert [each.text.partition(" 0.")[0] for each in trial.exceeded] == ["kill -9 of a broker: process back"]
    assert re.search(r"asked \d+\.\d\d s \(promised 60\)$", str(clock))
