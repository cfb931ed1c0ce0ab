"""Generated tables match their sources; files, variables, pages and headings that pages name exist."""

import re
import subprocess
from pathlib import Path
from types import ModuleType

import generate_disaster
import generate_layouts
import generate_reliability
import generate_resources
import generate_site_docs
import pytest
from faults.test_kills import keep
from observations import read

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec, site_words
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row, survival

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.parents[1].name for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"))


GENERATORS = [generate_disaster, generate_layouts, generate_reliability, generate_resources, generate_site_docs]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.__name__)
def test_a_generated_page_is_up_to_date(generator: ModuleType) -> None:
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run: make docs"


def tracked(*patterns: str) -> list[str]:
    """Return the tracked files of these patterns, all files without one."""
    found = subprocess.check_output(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, text=True).split("\0")
    return [name for name in found if (ROOT / name).is_file()]


@pytest.mark.parametrize(
    ("page", "fewest_files", "fewest_variables"), [("CONTRIBUTING.md", 20, 0), ("docs/how-to.md", 100, 60)]
)
def test_files_and_variables_that_a_page_names_exist(page: str, fewest_files: int, fewest_variables: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"`([\w.-]+/[\w./-]*)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    modules, names = re.findall(r"`(\w+\.py)`", text), {Path(name).name for name in tracked("*.py")}
    assert [module for module in modules if module not in names] == []
    known = {*site_words(), *(name for role in ROLES for name in argument_spec(role))}
    variables = re.findall(rf"`((?:{'|'.join(ROLES)})_\w+)`", text)
    assert [name for name in variables if name not in known] == []
    assert (len(paths) > fewest_files, len(variables) >= fewest_variables) == (True, True)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("page", tracked("*.md"))
def test_links_lead_to_files_and_headings(page: str) -> None:
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not re.match("https?:", target) and not (file.exists() and (not anchor or anchor in anchors(file))):
            missing.append(target)
    assert missing == []


def rows_of(layout: str) -> list[Row]:
    return survival(layout_of(load(ROOT / "inventories" / layout, {"vault": {}}).read()))


def test_what_was_seen_is_shown_and_differences_stand_out() -> None:
    """Two pairs of brokers, one of them seen otherwise than computed; a server was not seen at all."""
    rows = rows_of("lab_stretch2")
    brokers = [row for row in rows if row.functions == ("kafka", "kafka")]
    as_computed, otherwise = (
        {"failure": row.failure, "how": "killed", "quorum": True, "writable": writable}
        for row, writable in zip(brokers, (False, True), strict=False)
    )
    seen = generate_layouts.Seen({"servers": {"seed": 7, "failures": 2, "seen": [as_computed, otherwise]}})
    assert seen.cell(brokers) == f"quorum, writable 2 of 6; **{brokers[1].failure}: writable not as computed**"
    assert seen.cell(rows[:1]) == ""
    assert seen.provenance(rows) == "Seen on running clusters: 4 of 183 cells (servers: 2 failures, seed 7)."


def test_what_was_seen_is_of_the_tables_and_as_computed() -> None:
    """A record of a failure that no table has, or that was otherwise than computed, is not left lying about."""
    for layout in sorted(
        {file.stem for file in generate_layouts.SEEN.glob("*.json")}
        - {"faults", "kills", "distance", "failovers", "mirrors", "alerts"}
    ):
        seen, rows = generate_layouts.seen(layout), {row.failure: row for row in rows_of(layout)}
        assert {failure for failure, _ in seen.found} <= rows.keys()
        assert [text for row in rows.values() for text in seen.differences(row)] == []


def test_faults_that_were_seen_are_of_the_matrix_and_as_promised() -> None:
    """Whoever breaks a promise mends it, or promises less; the page shows no broken one."""
    promised, seen = {row.number: row for row in generate_reliability.rows()}, read(generate_reliability.SEEN)
    assert seen.keys() <= promised.keys()
    for number, runs in seen.items():
        for run in runs:
            assert "failed" not in run and run["lost"] == run["double"] == 0
            assert run["gap"] <= promised[number].gap and run["whole"] <= promised[number].whole


def test_rounds_of_all_seeds_are_shown_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kills.json"
    monkeypatch.setattr(generate_reliability, "KILLS_SEEN", file)
    assert generate_reliability.kills() == "\nNo measurements yet.\n"
    good = {"rounds": 2, "acknowledged": 900, "lost": 0, "double": 1, "failed sends": 0, "cured": 1, "gaps": [1.0, 4.0]}
    kept = {"failed": "all whole: no, after 90 s"}
    for seed, found in ((11, good | {"whole": {"frozen": [7.0, 9.0]}}), (2, good | {"whole": {"frozen": [5.0]}})):
        keep(file, seed, kept)
        keep(file, seed, found)
    keep(file, 3, kept)
    assert generate_reliability.kills().splitlines()[1:] == [
        "| Fault | Times | Whole s |",
        "| --- | --- | --- |",
        "| frozen | 3 | 7.0, 9.0 |",
        "",
        "- 4 rounds of 2 seeds (2, 3, 11)",
        "- 1800 records acknowledged",
        "- 0 lost",
        "- 2 double",
        "- 0 sends failed",
        "- 2 partitions whose replica stayed out of the ISR until its broker was restarted",
        "- longest gap of a round 2.5 s in the median, 4.0 s at most",
        "- seed 3 ended early: all whole: no, after 90 s",
    ]


def test_rounds_that_were_seen_lost_nothing() -> None:
    """Each seed came to its end, and all its records are there once."""
    for run in read(generate_reliability.KILLS_SEEN).values():
        assert "failed" not in run and run["lost"] == run["double"] == run["failed sends"] == 0
        assert len(run["gaps"]) == run["rounds"]
