"""What make bench-jobs makes of what it sees: CPU seconds of a tree, progress of a query, ratios, goals, its page."""

import itertools
import json
import os
import re
from pathlib import Path

import bench_jobs
import bench_jobs_starts
import bench_tls
import pytest
from bench_jobs_page import Goal, Part, goals_table, ratios, section, spread, table, tenths, thousands
from bench_jobs_producers import SETTINGS
from bench_jobs_programs import cpu_of, group_lives, read_until, running, tree_seconds
from bench_jobs_relay import reports
from bench_jobs_words import WORDS, Count, lines
from pages import ROOT

TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid: int, parent: int, used: int, of_children: int = 0, name: str = "java") -> str:
    """A line of /proc/<pid>/stat; CPU time in seconds, the same in user and system."""
    times = [used * TICKS, used * TICKS, of_children * TICKS, of_children * TICKS]
    return " ".join(map(str, [pid, f"({name})", "S", parent, pid, pid, 0, -1, 0, 0, 0, 0, 0, *times, 20, 0, 9]))


def test_a_tree_is_a_process_and_all_below_it_and_what_they_have_buried() -> None:
    found = [
        stat(10, 1, 1),
        stat(11, 10, 2, of_children=3, name="a) S 99 (b"),
        stat(12, 11, 4),
        stat(20, 1, 100),
    ]
    assert tree_seconds(found, 10) == 2 * (1 + 2 + 3 + 4)
    assert tree_seconds(found, 30) == 0


def test_a_program_and_what_it_starts_are_measured_and_ended(tmp_path: Path) -> None:
    busy = "while kill -0 $$ 2>/dev/null; do :; done"
    with running(["bash", "-c", f"({busy}) & echo begun; wait"], tmp_path) as program:
        program.until("it computes", lambda: cpu_of(program.process.pid) > 0.05)
        assert program.said == "begun\n" and group_lives(program.process.pid)
    assert not group_lives(program.process.pid)


def test_a_program_that_ends_too_early_is_shown(tmp_path: Path) -> None:
    with running(["bash", "-c", "echo why; exit 3"], tmp_path) as program, pytest.raises(SystemExit) as ended:
        program.until("it is done", lambda: False)
    assert str(ended.value) == "it is done: the program ended with 3:\nwhy\n"


def test_a_query_has_read_what_its_last_finished_batch_planned(tmp_path: Path) -> None:
    assert read_until(tmp_path) == 0
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    for batch in (9, 10, 11):
        offsets = json.dumps({"t": {"0": batch, "1": 100}})
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{offsets}")
    assert read_until(tmp_path) == 0
    for name in ("9", "10", ".11.crc"):
        (tmp_path / "commits" / name).touch()
    assert read_until(tmp_path) == 110


def test_lines_are_the_same_each_time_and_frequent_words_are_frequent() -> None:
    some = list(itertools.islice(lines(500), 1000))
    assert some == list(itertools.islice(lines(500), 1000)) and some[:500] == some[500:]
    words = b" ".join(some).split()
    assert len(words) == 1000 * WORDS
    assert max(map(words.count, set(words))) > len(words) / 50


def test_rates_with_the_start_and_without() -> None:
    count = Count("x", 600, lambda broker, folder: (0, 0), whole=[12, 6], start=[2, 3])
    assert (count.rates(True), count.rates(False)) == ([50, 100], [60, 200])


def test_ratios_are_those_of_the_rounds() -> None:
    assert ratios([2, 9], [1, 3]) == [2, 3]
    with pytest.raises(ValueError):
        ratios([1], [1, 2])


def test_a_spread_is_the_median_and_the_ends() -> None:
    assert spread([3, 1, 2]) == "2.00 (1.00 to 3.00)"
    assert spread([12_345], thousands) == "12.3"
    assert spread([1234.56, 2], tenths) == "618.3 (2.0 to 1,234.6)"


@pytest.mark.parametrize(
    ("found", "most", "met"),
    [([5, 5, 1], False, True), ([4, 9, 4], False, False), ([5, 9, 1], True, True), ([6], True, False)],
)
def test_a_goal_is_met_by_the_median(found: list[float], most: bool, met: bool) -> None:
    goal = Goal("what", 5, found, most)
    assert goal.met is met
    row = goals_table([goal]).splitlines()[2]
    assert (row.count("**") == 6) is not met
    assert goal.text in row and goal.text == ("≤ 5" if most else "≥ 5")


def test_the_section_names_all_goals_first() -> None:
    parts = [Part("One", "how", table(["a"], [["b"]]), [Goal("x", 1, [2])]), Part("Two", "so", "that")]
    assert section(parts, "Here.").split("\n\n")[2:] == [
        "| Goal | Bound | Measured: median (lowest to highest) |\n| --- | --- | --- |\n| x | ≥ 1 | 2.00 |",
        "### One", "how", "| a |\n| --- |\n| b |", "### Two", "so", "that",
    ]  # fmt: skip


def test_windows_in_which_nothing_arrived_are_none() -> None:
    log = 'INFO millrace: latency {"arrived": 0}\nINFO millrace: latency {"arrived": 8, "p50_ms": 1.5}\nlatency {"p50'
    assert reports(log) == [{"arrived": 8, "p50_ms": 1.5}]


def test_settings_of_producers_are_those_of_the_jobs() -> None:
    text = (ROOT / "spark_jobs/src/millrace_jobs/io.py").read_text()
    linger, size = re.search('^LINGER = "(.+)"', text, re.MULTILINE), re.search('"batch.size": "(.+?)"', text)
    assert linger and size
    assert list(SETTINGS.values()) == [{"linger.ms": linger[1], "batch.size": size[1]}, {}]


def test_each_bench_writes_its_own_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the page that is there has a place for both."""
    old = bench_jobs.PAGE.read_text(encoding="utf-8")
    page = tmp_path / "performance.md"
    page.write_text(old, encoding="utf-8")
    monkeypatch.setattr(bench_jobs, "PAGE", page)
    monkeypatch.setattr(bench_tls, "PAGE", page)
    monkeypatch.setattr(bench_tls, "section", lambda sides: "\nsecure\n\n")
    page.write_text(bench_jobs.page([Part("One", "how", "found")]), encoding="utf-8")
    page.write_text(bench_tls.page([]), encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert text.startswith(old.partition(bench_tls.BEGIN)[0])
    assert f"{bench_tls.BEGIN}\nsecure\n\n{bench_tls.END}\n{bench_jobs.BEGIN}\n## What the jobs cost\n" in text
    assert text.endswith(f"found\n\n{bench_jobs.END}")
    page.write_text(old.replace(bench_jobs.END, ""), encoding="utf-8")
    with pytest.raises(ValueError, match="no single place"):
        bench_jobs.page([])


def test_starts_are_measured_by_a_yardstick_of_their_rounds() -> None:
    found = {"publish_lines": [8.0, 30.0], "count_words": [18.0, 30.0], "Spark's guide": [10.0, 20.0]}
    made = bench_jobs_starts.part(found)
    assert [(goal.found, goal.met) for goal in made.goals] == [
        ([8, 30], False), ([18, 30], False), ([0.8, 1.5], False), ([1.8, 1.5], False),
    ]  # fmt: skip
    assert made.found.splitlines()[-1] == "| Spark's guide, word count | 15.0 (10.0 to 20.0) |  |"
