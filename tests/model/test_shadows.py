"""What a group says of its hosts and they do not have: Ansible takes what another group says, in another file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, kafka, spoil
from model.said import check

RACK_B = "      vars: {rack: b"
LARGE = "    rack_b:\n"


def group(name: str, hosts: str, values: str = "") -> dict[str, str]:
    """Return a group more, with variables in hosts.yml, as what stands in dc1's hosts.yml instead of a line of it."""
    told = f"      vars: {{{values}}}\n" if values else ""
    return {LARGE: f"    {name}:\n      hosts: {{{hosts}}}\n{told}{LARGE}"}


TWO = "dc1-kafka2: {}, dc1-kafka5: {}"
HEAP = (
    "GROUP_SHADOWED group large/kafka_heap = 12g: on dc1-kafka2, dc1-kafka5 the value 6g of group kafka in group_vars/"
)
FIRST = "overrides it: group_vars override the vars of a group in hosts.yml"


def said(hosts: dict[str, str], variables: dict[str, Any], folder: Path, inventory: str = "dc1") -> list[str]:
    """Return what is said of it, without what dc1 says of its racks."""
    wrong = replace(LAB, inventory=inventory, hosts=hosts, variables=variables)
    problems, lines = check(spoil(folder / "inventory", wrong))
    return [
        f"{'warn ' if problem.warning else ''}{line}"
        for problem, line in zip(problems, lines, strict=True)
        if problem.code != "RACK_UNEVEN"
    ]


@pytest.mark.parametrize(
    ("hosts", "variables", "begin", "end"),
    [
        (
            group("large", TWO, "kafka_heap: 12g"),
            {},
            f"{HEAP}kafka/a.yml {FIRST}",
            "set it in group_vars/large.yml",
        ),
        # By a file of all hosts, too, and though the group is inside the other one.
        (
            group("large", TWO, "zookeeper_heap: 1g, kafka_stop_timeout: 900"),
            {"all": {"kafka_stop_timeout": 600}},
            "GROUP_SHADOWED group large/kafka_stop_timeout = 900: on dc1-kafka2, dc1-kafka5 the value 600 of group all "
            "in group_vars/all/z.yml overrides it",
            "set it in group_vars/large.yml",
        ),
        (
            {"    database:\n": "      children:\n        large:\n          hosts: {dc1-kafka2: {}}\n"
             "          vars: {kafka_heap: 12g}\n    database:\n"},
            {},
            "GROUP_SHADOWED dc1-kafka2/kafka_heap = 12g: on dc1-kafka2 the value 6g of group kafka in "
            f"group_vars/kafka/a.yml {FIRST}",
            "set it in group_vars/large.yml",
        ),
        # A rack has other hosts, too; what reads it are its brokers.
        (
            {RACK_B: f"{RACK_B}, kafka_heap: 12g"},
            {},
            "GROUP_SHADOWED group rack_b/kafka_heap = 12g: on dc1-kafka2, dc1-kafka5 the value 6g",
            "set it in group_vars/rack_b.yml",
        ),
        (
            {RACK_B: f"{RACK_B}, kafka_config: {{num.io.threads: 8}}"},
            kafka(kafka_config={"log.retention.hours": 72, "num.io.threads": 16}),
            "GROUP_SHADOWED group rack_b/kafka_config: on dc1-kafka2, dc1-kafka5 the value of group kafka in "
            f"group_vars/kafka/z.yml {FIRST}",
            "set kafka_config_overrides, which is merged over kafka_config",
        ),
        # A list.
        (
            group("large", TWO, "site_firewall_rules: [{port: 9100, from: [192.0.2.7]}]"),
            kafka(site_firewall_rules=[{"port": 9101, "from": ["192.0.2.7"]}]),
            "GROUP_SHADOWED group large/site_firewall_rules: on dc1-kafka2, dc1-kafka5 the value of group kafka",
            "set it in group_vars/large.yml",
        ),
        # Two files, of which the name decides.
        (
            group("big", TWO),
            {"big": {"kafka_heap": "12g"}},
            "GROUP_SHADOWED group big/kafka_heap = 12g: on dc1-kafka2, dc1-kafka5 the value 6g of group kafka in "
            "group_vars/kafka/a.yml overrides it: of two equal groups, the one with the later name overrides",
            "set it in group_vars/big.yml, and set ansible_group_priority: 10 in vars of big in hosts.yml",
        ),
    ],
)  # fmt: skip
def test_it_is_said(hosts: dict[str, str], variables: dict[str, Any], begin: str, end: str, tmp_path: Path) -> None:
    lines = [line for line in said(hosts, variables, tmp_path) if "zookeeper_heap" not in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith(begin), lines
    assert lines[0].endswith(end), lines


@pytest.mark.parametrize(
    ("inventory", "hosts", "variables"),
    [
        ("dc1", {}, {"rack_b": {"kafka_heap": "12g"}}),
        ("dc1", group("large", TWO), {"large": {"kafka_heap": "12g"}}),
        ("dc1", group("big", TWO, "ansible_group_priority: 10"), {"big": {"kafka_heap": "12g"}}),
        ("dc1", {RACK_B: f"{RACK_B}, kafka_config_overrides: {{num.io.threads: 8}}"}, {}),
        ("dc1", group("large", TWO, "kafka_heap: 6g"), {}),  # the same
        ("dc1", group("large", "dc1-kafka2: {kafka_heap: 12g}", "kafka_heap: 12g"), {}),  # the host says it
        ("dc1", {}, {"all": {"kafka_heap": "4g"}}),  # a group's goes before
        ("lab", {}, {"all": {"kafka_heap": "300m"}}),  # what sites share
    ],
)
def test_what_is_as_ansible_is_meant(
    inventory: str, hosts: dict[str, str], variables: dict[str, Any], tmp_path: Path
) -> None:
    assert said(hosts, variables, tmp_path, inventory) == []


def test_a_group_in_hosts_yml_and_in_group_vars(tmp_path: Path) -> None:
    """Users of hosts.yml are lost, so a list causes an error. A second scalar value may be intended."""
    first = "    layout: single\n"
    users = {first: f"{first}    kafka_users: [{{name: orders, password: '{{{{ vault.passwords.lab }}}}'}}]\n"}
    lines = said(users, {}, tmp_path)
    assert [line for line in lines if line.startswith("FILE_RIVALS")] == [
        "FILE_RIVALS group_vars/all/resources.yml/kafka_users: hosts.yml sets this variable too: one of the two "
        "files silently overrides the other; set the variable in one of the two"
    ]
    single = {first: f"{first}    ansible_user: root\n"}
    assert [line for line in said(single, {}, tmp_path / "single") if line.startswith("FILE_RIVALS")] == []
