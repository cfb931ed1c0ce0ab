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


READ = {"principal": "User:lab", "resource": "topic", "name": "streams-plaintext-input", "operations": ["READ"]}
COUNT = {**READ, "principal": "User:count_words"}
CLUSTER = {"principal": "User:lab", "resource": "cluster", "operations": ["DESCRIBE"]}
QUOTA = {"user": "lab", "producer_byte_rate": "20MiB"}


@pytest.mark.parametrize(
    ("name", "of_all", "of_brokers", "lost"),
    [
        ("kafka_acls", [READ, COUNT, CLUSTER], [READ],
         "User:count_words on topic streams-plaintext-input, User:lab on cluster"),
        ("kafka_quotas", [QUOTA, {**QUOTA, "client_id": "x"}], [{**QUOTA, "producer_byte_rate": "30MiB"}],
         "user lab client id x"),
    ],
)  # fmt: skip
def test_a_lost_entry_is_named_by_what_identifies_it(
    name: str, of_all: list[Any], of_brokers: list[Any], lost: str, tmp_path: Path
) -> None:
    variables = {"all": {name: of_all}, "kafka": {name: of_brokers}}
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1]
    (line,) = [line for line in lines if line.startswith("RESOURCES_REPLACED")]
    assert f"a broker, which does not contain {lost}; join" in line


def place(name: str, heap: str, *hosts: str) -> str:
    """Return lines of hosts.yml: a group of some hosts with a heap of brokers."""
    return f"    {name}:\n      hosts: {{{', '.join(f'{host}: {{}}' for host in hosts)}}}\n" + (
        f"      vars: {{kafka_heap: {heap}}}\n"
    )


BROKERS = ("dc1-kafka1", "dc1-kafka2", "dc1-kafka3")


@pytest.mark.parametrize(
    ("variables", "groups", "unread"),
    [
        # Of places, whose hosts have several functions, each reads what is its own.
        ({}, [("west", "1g", *BROKERS, "dc1-zk1"), ("east", "2g", "dc1-zk2", "dc1-spark1")], ""),
        ({"rack_a": {"kafka_heap": "1g"}, "dc1-kafka1": {"kafka_heap": "2g"}}, [], ""),
        ({"zookeeper": {"kafka_heap": "1g"}}, [], "group zookeeper/kafka_heap"),
        ({"dc1-zk1": {"kafka_heap": "1g"}}, [], "dc1-zk1/kafka_heap"),
        ({"rack_a": {"kafka_heap": "1g"}, "spark_consumer": {"kafka_heap": "2g"}}, [],
         "group spark_consumer/kafka_heap"),
    ],
)  # fmt: skip
def test_an_input_of_hosts_without_its_reader(
    variables: dict[str, Any], groups: list[tuple[str, ...]], unread: str, tmp_path: Path
) -> None:
    hosts = {"    zookeeper:\n": "".join(place(*group) for group in groups) + "    zookeeper:\n"}
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables, hosts=hosts)))[1]
    assert [line.split(":")[0] for line in lines] == [f"VARIABLE_UNREAD {unread}"] * bool(unread), lines
