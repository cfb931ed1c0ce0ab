"""Values of PostgreSQL's settings: what the server takes is taken, what it refuses is refused before."""

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import wrong_value


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
def test_what_the_server_takes(name: str, text: str) -> None:
    assert wrong_value(definitions("15")[name], text) == ""


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("shared_buffers", "5XB", "XB is none of the units B, kB, MB, GB, TB"),
        ("shared_buffers", "5gb", "gb is none of the units B, kB, MB, GB, TB"),
        ("shared_buffers", "5min", "min is none of the units B, kB, MB, GB, TB"),
        ("shared_buffers", "64kB", "not from 16 to 1073741823 of 8kB"),
        ("shared_buffers", "much", "no number"),
        ("checkpoint_timeout", "5MB", "MB is none of the units us, ms, s, min, h, d"),
        ("checkpoint_timeout", "2d", "not from 30 to 86400 of s"),
        ("checkpoint_timeout", "1m", "m is none of the units us, ms, s, min, h, d"),
        ("max_connections", "5kB", "kB is no part of a plain number"),
        ("max_connections", "0", "not from 1 to 262143"),
        ("unix_socket_permissions", "0888", "no number"),
        ("ssl_min_protocol_version", "TLSv2", "none of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3"),
        ("wal_level", "on", "none of minimal, replica, logical"),
        ("jit", "maybe", "neither on nor off"),
    ],
)
def test_what_the_server_refuses(name: str, text: str, wrong: str) -> None:
    assert wrong_value(definitions("15")[name], text) == wrong
