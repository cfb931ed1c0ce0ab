"""Values of PostgreSQL settings; each was tried with a real server (15.x) when this table was written."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_values import contradictions
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions, text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import expected_value


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("shared_buffers", "32MB", ""),
        ("shared_buffers", "32 MB", ""),
        ("shared_buffers", "0.5GB", ""),
        ("shared_buffers", 4096, ""),
        ("work_mem", "1e3", ""),
        ("max_connections", "0x10", ""),
        ("vacuum_cost_delay", "1.5ms", ""),
        ("checkpoint_timeout", "15min", ""),
        ("temp_file_limit", -1, ""),
        ("jit", True, ""),
        ("shared_buffers", "32MiB", "a number with one of the units"),
        ("shared_buffers", "32mb", "one of the units"),
        ("shared_buffers", "4G", "one of the units"),
        ("shared_buffers", "28kB", "a number from 16"),
        ("checkpoint_timeout", "10ms", "a number from 30 to 86400 (in units of s)"),
        ("idle_session_timeout", "5m", "one of the units"),
        ("max_connections", "20B", "a number without a unit"),
        ("max_connections", "many", "a number"),
        ("jit", "maybe", "on or off"),
    ],
)
def test_values_as_the_server_reads_them(name: str, value: Any, expected: str) -> None:
    found = expected_value(definitions("15")[name], text_of(value))
    assert bool(found) == bool(expected), found
    assert expected in found


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"max_connections": 20}, ""),
        ({"max_connections": 20, "superuser_reserved_connections": 20}, "superuser_reserved_connections"),
        ({"max_connections": 3}, "max_connections"),
        ({"max_connections": 6, "reserved_connections": 3}, "reserved_connections"),  # from 16 on
        ({"wal_level": "minimal"}, "wal_level"),
        ({"wal_level": "minimal", "max_wal_senders": 0}, ""),
        ({"wal_level": "minimal", "max_wal_senders": 0, "archive_mode": True}, "wal_level"),
        ({"min_wal_size": "16MB"}, "min_wal_size"),
        ({"min_wal_size": "1GB"}, ""),
        ({"max_wal_size": 20}, "max_wal_size"),
        ({"max_wal_size": "plenty"}, ""),  # said of the value itself
        ({"max_connections": None, "max_wal_size": None}, ""),
    ],
)
def test_settings_that_exclude_one_another(said: dict[str, Any], place: str) -> None:
    found = list(contradictions(said, definitions("17")))
    assert [name for name, _, _ in found] == ([place] if place else [])
