"""Numbers that YAML reads as others: said where they are written, and only then."""

from dataclasses import replace
from pathlib import Path

import pytest

from model.mistakes.base import LAB, spoil
from model.said import check


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "kafka_unit_overrides: {Service: {UMask: 0027}}",
            "kafka_unit_overrides[Service][UMask] = 0027: YAML reads a number with a leading 0 in base 8, here as 23",
        ),
        (
            "kafka_config: {socket.request.max.bytes: 1:40:00}",
            "kafka_config[socket.request.max.bytes] = 1:40:00: YAML reads it as 6000",
        ),
        (
            "kafka_users: [{name: lab, password: '{{ vault.passwords.lab }}', iterations: 010000}]",
            "kafka_users[lab][iterations] = 010000: YAML reads a number with a leading 0 in base 8, here as 4096",
        ),
        ("kafka_unit_overrides: {Service: {UMask: '0027'}}", ""),
        ("kafka_limit_nofile: 100_000", ""),
        ("kafka_limit_nofile: 0x20000", ""),
        ("kafka_restart_margin: 00", ""),
        ("mode_of_ours: 0640", ""),
    ],
)
def test_numbers(written: str, said: str, tmp_path: Path) -> None:
    folder = spoil(tmp_path / "inventory", LAB)
    (folder / "group_vars").mkdir()
    (folder / "group_vars" / "kafka.yml").write_text(f"{written}\n")
    lines = [line for line in check(folder)[1] if line.startswith("NUMBER_OTHER")]
    assert len(lines) == bool(said), lines
    assert all(line.startswith(f"NUMBER_OTHER group kafka/{said}") for line in lines), lines


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "rebalance_timer: {on_calendar: 22:30, rate: 50MB, at_most: 20GB, run: true}",
            "NUMBER_OTHER group all/rebalance_timer[on_calendar] = 22:30: YAML reads it as 1350, in base 60",
        ),
        (
            "java_package: openjdk-11-jre-headless",
            "JAVA_PACKAGE group all/java_package = openjdk-11-jre-headless: Java",
        ),
    ],
)
def test_it_is_said_once_of_the_group_that_says_it(written: str, said: str, tmp_path: Path) -> None:
    """Some hosts have no function and do not read it; and the number that YAML makes of it is not judged as well."""
    admin = {"  children:\n    zookeeper:\n": "  children:\n    admin: {hosts: {admin1: {}}}\n    zookeeper:\n"}
    folder = spoil(tmp_path / "inventory", replace(LAB, hosts=admin))
    (folder / "group_vars" / "all").mkdir(parents=True, exist_ok=True)
    (folder / "group_vars" / "all" / "z.yml").write_text(f"{written}\n")
    lines = check(folder)[1]
    assert len(lines) == 1, lines
    assert lines[0].startswith(said)
