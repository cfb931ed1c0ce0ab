"""Records of what was seen: of one layout, whole or not at all, and said before the run where one is damaged."""

import json
import random
from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import generate_layouts
import generate_reliability
import observations
import pytest
from faults import endure, test_matrix
from faults.ledger import Report
from faults.matrix import ROWS
from observations import Record, given_file, given_folder, of_layout
from survival import test_cuts, test_losses, test_survival
from survival.stretched import Seen
from unit.layouts import stretch2, stretch3

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival

ROW: dict[str, str | bool] = {"failure": "dc1-zk1", "how": "killed", "quorum": True, "writable": True}


def kept(folder: Path, name: str = "lab") -> Any:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def test_a_run_replaces_what_it_saw_before_and_what_others_saw_stays(tmp_path: Path) -> None:
    Record(tmp_path, 1).keep("lab", stretch2(), "servers", [], 3)
    Record(tmp_path, 2).keep("lab", stretch2(), "networks", [ROW], 1)
    Record(tmp_path, 3).keep("lab", stretch2(), "servers", [ROW], 1)
    assert {name: (run["seed"], run["seen"]) for name, run in kept(tmp_path).items()} == {
        "networks": (2, [ROW]),
        "servers": (3, [ROW]),
    }
    assert [file.name for file in tmp_path.iterdir()] == ["lab.json"]


def test_what_was_seen_of_another_layout_is_not_of_this_one(tmp_path: Path) -> None:
    """Another min.insync.replicas makes another table, though every server has its name."""
    other = replace(stretch2(), min_insync_replicas=1)
    Record(tmp_path, 1).keep("lab", other, "servers", [ROW], 1)
    assert of_layout(kept(tmp_path), stretch2()) == {}
    Record(tmp_path, 2).keep("lab", stretch2(), "networks", [ROW], 1)
    assert [*kept(tmp_path)] == ["networks"]


def test_the_page_shows_no_run_of_another_layout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(generate_layouts, "SEEN", tmp_path)
    Record(tmp_path, 1).keep("lab_stretch2", stretch3(), "servers", [ROW], 1)
    assert generate_layouts.seen("lab_stretch2").runs == {}
    Record(tmp_path, 1).keep("lab_stretch2", generate_layouts.layout_in("lab_stretch2"), "servers", [ROW], 57)
    assert "servers: 1 of 57 failures, seed 1" in generate_layouts.seen("lab_stretch2").provenance([])


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_a_damaged_record_is_named_before_the_run(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lab.json"
    file.write_text(text)
    said = r"lab\.json is damaged: .*; take it back from git"
    with pytest.raises(ArgumentTypeError, match=said):
        given_file(str(file))
    with pytest.raises(ArgumentTypeError, match=said):
        given_folder(str(tmp_path))


def test_what_is_not_there_yet_may_be_named(tmp_path: Path) -> None:
    assert given_file(str(tmp_path / "new.json")) == tmp_path / "new.json"
    assert given_folder(str(tmp_path / "new")) == tmp_path / "new"


def test_a_text_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "lab.json"
    observations.write(file, "old")
    with pytest.raises(UnicodeEncodeError):
        observations.write(file, "new \ud800")
    assert file.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["lab.json"]


def second_fails(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A cluster that is not whole again after its second failure."""
    cluster = MagicMock()
    cluster.name, cluster.layout, cluster.inventory.lab_directory = "lab_stretch3", stretch3(), None
    cluster.look.return_value = Seen(True, 0.1, {}, 0.1)
    cluster.whole.side_effect = [None, AssertionError("not whole")]
    lost = test_losses.Loss(survival(stretch3())[0], (), (), (), 1.0)
    monkeypatch.setattr(test_cuts, "cut_off", MagicMock())
    monkeypatch.setattr(test_cuts, "network_gone", MagicMock())
    monkeypatch.setattr(test_losses.Losses, "of", MagicMock(side_effect=[lost, AssertionError("not whole")]))
    return cluster


RUNS: dict[str, Callable[[Any, Record], None]] = {
    "servers": lambda on, record: test_survival.test_survival(on, "topic", random.Random(1), 1000, record, print),
    "networks": lambda on, record: test_cuts.test_cuts(on, "topic", random.Random(1), record, print),
    "losses": lambda on, record: test_losses.test_losses(on, "topic", random.Random(1), 1, record, print),
}


@pytest.mark.parametrize("run", RUNS)
def test_what_was_seen_before_a_run_ended_early_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: str
) -> None:
    with pytest.raises(AssertionError, match="not whole"):
        RUNS[run](second_fails(monkeypatch), Record(tmp_path, 1))
    found = kept(tmp_path, "lab_stretch3")[run]
    assert len(found["seen"]) == 1 and found["failures"] > 10


def test_a_row_that_fails_is_on_record_and_in_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the first line of its reason; what is measured of another run of it is measured still."""
    file, config = tmp_path / "faults.json", MagicMock()
    config.getoption.return_value = file
    took = endure.Took(1.25, 12.0, Report(acknowledged=900, read=900))
    for outcome in (AssertionError("kafka.service of dc1-a | is back: not within 60 s\nmore"), took):
        monkeypatch.setattr(endure, "endure", MagicMock(side_effect=[outcome]))
        try:
            test_matrix.test_row(ROWS[1], MagicMock(), "topic", tmp_path, print, config)
        except AssertionError as error:
            assert error is outcome
    cells_of_row = generate_reliability.line(ROWS[1], kept(tmp_path, "faults")[ROWS[1].number])
    assert cells_of_row[3:] == (
        "7: 1.2, 1.2",
        "40: 12.0, 12.0",
        "2",
        "0",
        "0",
        r"kafka.service of dc1-a \| is back: not within 60 s",
    )
