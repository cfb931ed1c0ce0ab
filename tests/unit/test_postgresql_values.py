"""Values of PostgreSQL settings: preflight accepts and rejects the same values as the server."""

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import expected_value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shared_buffers", "5GB"),
        ("shared_buffers", "128 MB"),
        ("shared_buffers", "0x4000"),
        ("shared_buffers", "1.5GB"),
        ("checkpoint_timeout", "15min"),
        ("checkpoint_timeout", "1d"),
        ("autovacuum_vacuum_cost_delay", "500us"),
        ("autovacuum_work_mem", "-1"),
        ("log_rotation_age", "24h"),
        ("random_page_cost", "1.1"),
        ("random_page_cost", "1e0"),
        ("unix_socket_permissions", "0777"),
        ("ssl_min_protocol_version", "TLSv1.3"),
        ("ssl_max_protocol_version", "tlsv1.3"),
        ("ssl_max_protocol_version", ""),
        ("synchronous_commit", "remote_apply"),
        ("synchronous_commit", "on"),
        ("wal_level", "Logical"),
        ("jit", "off"),
        ("primary_conninfo", "host=db2"),
    ],
)
def test_accepted_values(name: str, text: str) -> None:
    assert expected_value(definitions("15")[name], text) == ""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("shared_buffers", "5XB", "a number with one of the units B, kB, MB, GB, TB"),
        ("shared_buffers", "5gb", "a number with one of the units B, kB, MB, GB, TB"),
        ("shared_buffers", "5min", "a number with one of the units B, kB, MB, GB, TB"),
        ("shared_buffers", "64kB", "a number from 16 to 1073741823 (in units of 8kB)"),
        ("shared_buffers", "much", "a number"),
        ("checkpoint_timeout", "5MB", "a number with one of the units us, ms, s, min, h, d"),
        ("checkpoint_timeout", "2d", "a number from 30 to 86400 (in units of s)"),
        ("checkpoint_timeout", "1m", "a number with one of the units us, ms, s, min, h, d"),
        ("max_connections", "5kB", "a number without a unit"),
        ("max_connections", "0", "a number from 1 to 262143"),
        ("unix_socket_permissions", "0888", "a number"),
        ("ssl_min_protocol_version", "TLSv2", "one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3"),
        ("wal_level", "on", "one of minimal, replica, logical"),
        ("jit", "maybe", "on or off"),
    ],
)
def test_rejected_values(name: str, text: str, expected: str) -> None:
    assert expected_value(definitions("15")[name], text) == expected
