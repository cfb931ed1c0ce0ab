"""Hosts with one network: what stands for no address and no subnet, and the advice that makes it so."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, VAULT, spoil
from model.said import check

EMPTY = "replication_address: empty, which overrides the default (client_address); remove it, or, if the host has two"
ONE = "if the hosts of this datacenter have only one network, "


def lines(folder: Path, inventory: str, variables: dict[str, Any], without: str = "") -> list[str]:
    """Return the report on an inventory in which hosts whose names match `without` have no replication_address."""
    site = spoil(folder / "inventory", replace(LAB, inventory=inventory, variables=variables))
    file = site / "hosts.yml"
    if without:
        file.write_text(re.sub(rf"({without}: .*?), replication_address: [\d.]+", r"\1", file.read_text()))
    return [line for line in check(site, {"vault": VAULT})[1] if not line.startswith("RACK_UNEVEN")]


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("place", ["all", "dc1-kafka1"])
def test_an_empty_address_is_one_mistake(place: str, value: str | None, tmp_path: Path) -> None:
    """The certificates and addresses that follow from it are not reported as well."""
    (line,) = lines(tmp_path, "lab_one_network", {place: {"replication_address": value}})
    assert line.startswith("ADDRESS_INVALID ") and EMPTY in line


@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_subnet_is_none(value: str | None, tmp_path: Path) -> None:
    assert lines(tmp_path, "lab_one_network", {"all": {"replication_network": value}}) == []


@pytest.mark.parametrize(
    ("inventory", "without", "advice"),
    [
        ("stretch3", r"dc3-\w+", "set `replication_network: null` in the group of datacenter dc3"),
        (
            "stretch3",
            "dc3-kafka1",
            "remove every replication_address of these hosts and set `replication_network: null` in the group of "
            "datacenter dc3",
        ),
        ("lab", "dc1-kafka1", "remove replication_network and every replication_address"),
        ("dc1", r"dc1-\w+", "remove replication_network"),
    ],
)
def test_the_advice_for_a_datacenter_with_one_network(
    inventory: str, without: str, advice: str, tmp_path: Path
) -> None:
    (line,) = lines(tmp_path, inventory, {}, without)
    assert line.startswith("ADDRESS_MISSING ") and line.endswith(f"{ONE}{advice}")


@pytest.mark.parametrize("value", [None, ""])
def test_the_advice_works(value: str | None, tmp_path: Path) -> None:
    assert lines(tmp_path, "stretch3", {"dc3": {"replication_network": value}}, r"dc3-\w+") == []
