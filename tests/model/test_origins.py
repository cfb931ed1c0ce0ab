"""Which group a value comes from is said of each mistake, below the hosts for whom it is one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_problems import problems_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import as_json, report
from model.mistakes.base import LAB, VAULT, kafka, spoil
from model.mistakes.jobs import job
from model.mistakes.topics import topic

TIMES = {"config": {"retention.ms": 604800}}


def told(variables: dict[str, Any], folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Return headline and place of what is said of an inventory, and the same as JSON."""
    reader = load(spoil(folder / "inventory", replace(LAB, variables=variables)), {"vault": VAULT})
    model = reader.read()
    found = problems_of(reader, model)
    lines = report(found, {**model.groups, **model.all_groups}).splitlines()
    (row,) = json.loads(as_json(found))["errors"]
    place = lines[2].partition(" = ")[0].partition(": ")[0]
    return [lines[1].strip(), place.strip().removeprefix(f"{row['code']} ")], row


@pytest.mark.parametrize(
    ("variables", "wanted", "group"),
    [
        (topic(**TIMES), ["group all", "group all/kafka_topics[orders].config[retention.ms]"], "all"),
        ({"kafka": topic(**TIMES)["all"]}, ["group kafka", "group kafka/kafka_topics[orders].config[retention.ms]"],
         "kafka"),
        # A part of those who read it, as the one host of a group's that has less memory.
        ({**kafka(kafka_heap="6g"), "dc1-kafka2": {"memory": "4g"}}, ["dc1-kafka2", "group kafka/kafka_heap"], "kafka"),
        ({"dc1-kafka2": {"memory": "4g", "kafka_heap": "6g"}}, ["dc1-kafka2", "dc1-kafka2/kafka_heap"], ""),
        (job(spark={"spark.driver.memory": "4m"}),
         ["dc1-spark2", "group spark_consumer/spark_job_jobs[count_words].config.spark[spark.driver.memory]"],
         "spark_consumer"),
    ],
    ids=["all", "brokers", "one of a group", "a host's own", "a job"],
)  # fmt: skip
def test_the_group_that_says_it(variables: dict[str, Any], wanted: list[str], group: str, tmp_path: Path) -> None:
    said, row = told(variables, tmp_path)
    assert (said, row["group"]) == (wanted, group)
