"""Dicts that are said in two places of a host: what is lost is said, with both places; what is not lost is not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, spoil
from model.said import check

OVERRIDES, UNIT = "kafka_config_overrides", "kafka_unit_overrides"
REPLACES = "replaces the whole dict of group"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"kafka": {OVERRIDES: {"a.b": 1}}, "dc1-kafka2": {OVERRIDES: {"c.d": 2}}},
            [f"dc1-kafka2/{OVERRIDES}: the value of the host {REPLACES} kafka, and loses a.b"],
        ),
        (
            {"all": {"kafka_log_levels": {"root": "WARN"}}, "kafka": {"kafka_log_levels": {"a.b": "INFO"}}},
            [f"group kafka/kafka_log_levels: the value of group kafka {REPLACES} all, and loses root"],
        ),
        (
            {
                "kafka": {UNIT: {"Service": {"CPUQuota": "200%", "Nice": -5}}},
                "dc1-kafka1": {UNIT: {"Service": {"Nice": -6}}},
            },
            [f"dc1-kafka1/{UNIT}: the value of the host {REPLACES} kafka, and loses Service[CPUQuota]"],
        ),
        ({"kafka": {OVERRIDES: {"a.b": 1}}, "dc1-kafka2": {OVERRIDES: {"a.b": 2, "c.d": 2}}}, []),
        ({"kafka": {OVERRIDES: {"a.b": 1}}, "rack_b": {"kafka_log_levels": {"root": "WARN"}}}, []),
        (
            {
                "kafka": {"common": {"a.b": 1}, OVERRIDES: "{{ common }}"},
                "dc1-kafka2": {OVERRIDES: "{{ common | combine({'c.d': 2}) }}"},
            },
            [],
        ),
    ],
    ids=["host", "all", "section", "more", "one place", "combined"],
)
def test_what_is_lost_is_said(variables: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1]
    found = [line for line in lines if line.startswith("DICT_REPLACED")]
    assert [line.removeprefix("DICT_REPLACED ").partition(";")[0] for line in found] == said, lines
