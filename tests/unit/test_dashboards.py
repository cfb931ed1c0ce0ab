"""Dashboards of Grafana: written from their definitions, and whole; tests/operations asks each query."""

import json
from typing import Any

import pytest
from generate_dashboards import FOLDER, dashboards, page, places, queries, steps


@pytest.mark.parametrize("definition", dashboards(), ids=lambda one: str(one["uid"]))
def test_the_file_is_up_to_date(definition: dict[str, Any]) -> None:
    assert (FOLDER / f"{definition['uid']}.json").read_text() == page(definition), "run: make docs PAGES=dashboards"


def test_no_file_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {one["uid"] for one in dashboards()}


def test_every_query_has_the_variable_of_its_dashboard() -> None:
    """A reader who chooses a host sees that host alone."""
    for definition in dashboards():
        for panel in definition["panels"]:
            for query in queries(panel) if definition.get("by") else []:
                assert f'=~"${definition["by"]["name"]}"' in query["query"], panel["title"]


def test_panels_fill_rows() -> None:
    """Eight numbers a row, two curves a row; a curve begins a new row."""
    panels: list[dict[str, Any]] = [*[{"kind": "stat"}] * 9, {}, {}, {}]
    found = [(place["x"], place["y"]) for place in places(panels)]
    assert found == [*((3 * n, 0) for n in range(8)), (0, 4), (0, 8), (12, 8), (0, 16)]


def test_what_is_wrong_is_red() -> None:
    """No offline partition is right, one is wrong; a number without a limit is never wrong."""

    def color(value: float, wrong: dict[str, float]) -> str:
        colors = [step["color"] for step in steps(wrong) if step["value"] is None or value >= step["value"]]
        return str(colors[-1])

    assert [color(value, {"above": 1}) for value in (1, 2)] == ["green", "red"]
    assert [color(value, {"above": 0}) for value in (0, 1)] == ["green", "red"]
    assert color(7, {}) == "green"


def test_a_dashboard_names_its_source_by_a_variable() -> None:
    """The same file serves any Grafana."""
    for file in FOLDER.iterdir():
        found = json.loads(file.read_text())
        assert found["templating"]["list"][0] == {
            "name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"
        }  # fmt: skip
        assert len({one["id"] for one in found["panels"]}) == len(found["panels"])
        for panel in found["panels"]:
            assert {one["datasource"]["uid"] for one in panel["targets"]} == {"${datasource}"}
