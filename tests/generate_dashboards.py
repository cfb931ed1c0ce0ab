#!/usr/bin/env python3
"""Write the dashboards of Grafana, roles/prometheus/files/dashboards/*.json, from dashboards.yml beside that folder."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pages import write

FILES = Path(__file__).resolve().parents[1] / "roles" / "prometheus" / "files"
FOLDER = FILES / "dashboards"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDE, STAT = (12, 8), (3, 4)
"""Width and height of a panel; a row is 24 wide."""


def dashboards() -> list[dict[str, Any]]:
    """Return the definitions of dashboards.yml."""
    found: list[dict[str, Any]] = yaml.safe_load((FILES / "dashboards.yml").read_text(encoding="utf-8"))
    return found


def queries(panel: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the queries of a panel, {query: PromQL, legend: text}."""
    return list(panel.get("queries", [panel]))


def places(panels: Sequence[Mapping[str, Any]]) -> list[dict[str, int]]:
    """Return gridPos of each panel: in the order of the file, from left to right, each row as high as its panels."""
    found, x, y, row = list[dict[str, int]](), 0, 0, 0
    for panel in panels:
        width, height = STAT if panel.get("kind") == "stat" else WIDE
        if x + width > 24 or (row and height != row):
            x, y = 0, y + row
        found.append({"x": x, "y": y, "w": width, "h": height})
        x, row = x + width, height
    return found


def steps(wrong: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return thresholds that draw a value in red if it is `above` this number."""
    good: list[dict[str, Any]] = [{"color": "green", "value": None}]
    return good + ([{"color": "red", "value": wrong["above"] + 1}] if wrong else [])


def panel(number: int, definition: Mapping[str, Any], place: Mapping[str, int]) -> dict[str, Any]:
    """Return one panel as Grafana has it."""
    stat = definition.get("kind") == "stat"
    defaults: dict[str, Any] = {"unit": definition.get("unit", "short"), "min": 0}
    if "decimals" in definition:
        defaults["decimals"] = definition["decimals"]
    if stat:
        defaults["thresholds"] = {"mode": "absolute", "steps": steps(definition.get("wrong", {}))}
    targets = [
        {
            "refId": chr(ord("A") + at),
            "datasource": SOURCE,
            "expr": one["query"],
            "legendFormat": one.get("legend", "__auto"),
            **({"instant": True} if stat else {}),
        }
        for at, one in enumerate(queries(definition))
    ]
    return {
        "id": number,
        "type": "stat" if stat else "timeseries",
        "title": definition["title"],
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {} if stat else {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": targets,
    }


def variables(by: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """Return the variables of a dashboard: the data source, and the label by which the reader chooses."""
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    if not by:
        return [source]
    values = f"label_values({by['metric']}, {by['label']})"
    chosen = {
        "name": by["name"],
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": values, "refId": by["name"]},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }
    return [source, chosen]


def dashboard(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return one dashboard as Grafana imports it."""
    panels = definition["panels"]
    return {
        "uid": definition["uid"],
        "title": f"Millrace: {definition['title']}",
        "tags": ["millrace", "kafka"],
        "schemaVersion": 36,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables(definition.get("by"))},
        "panels": [
            panel(at, one, place) for at, (one, place) in enumerate(zip(panels, places(panels), strict=True), 1)
        ],
    }


def page(definition: Mapping[str, Any]) -> str:
    """Return the file of a dashboard."""
    return json.dumps(dashboard(definition), indent=1) + "\n"


if __name__ == "__main__":
    for one in dashboards():
        write(FOLDER / f"{one['uid']}.json", partial(page, one))
