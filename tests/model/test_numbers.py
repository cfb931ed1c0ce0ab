"""Numbers that YAML reads as others: said where they are written, and only then."""

from pathlib import Path

import pytest

from model.mistakes.base import LAB, spoil
from model.said import check


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "kafka_unit_overrides: {Service: {UMask: 0027}}",
            "kafka_unit_overrides[Service][UMask] = 0027: YAML reads it as 23",
        ),
        (
            "kafka_config: {socket.request.max.bytes: 1:40:00}",
            "kafka_config[socket.request.max.bytes] = 1:40:00: YAML reads it as 6000",
        ),
        (
            "kafka_users: [{name: lab, password: '{{ vault.passwords.lab }}', iterations: 010000}]",
            "kafka_users[lab][iterations] = 010000: YAML reads it as 4096",
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
