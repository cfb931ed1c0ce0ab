"""Files and plans for a PostgreSQL server, with hashes that a PostgreSQL 15 has made."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import (
    config_lines,
    hba_lines,
    matches,
    plan,
    restart_lines,
    scram_hash,
)

OWNER: dict[str, Any] = {"name": "orders_owner", "password": "one", "database": "orders", "owner": True}
USER: dict[str, Any] = {"name": "project_orders", "password": "two", "database": "orders"}
# Stored by a server after CREATE ROLE ... PASSWORD 'pencil' and 'Bär'.
PENCIL = (
    "SCRAM-SHA-256$4096:82eecbBEBJHF+KRrSyqs8A==$6ereX4MjGvt6uU49"
    "jG/D85As3x2peb1yxc0jQ2LASaY=:kLDuGQsS1moKoqDj0gkPQb7ibG7I7LbCYKoSdCnTvWw="
)
BEAR = (
    "SCRAM-SHA-256$4096:s78QeN5EDDypgYtUCZFc6A==$Yt2GC1veigBZTQVc"
    "HYpmteENvDBl3Z07CWvoWGVLzCg=:juaKxwGSsiJUA46yXHwC/sfJOK9nBl2AXbWk4KN4Mk0="
)


@pytest.mark.parametrize(("stored", "password"), [(PENCIL, "pencil"), (BEAR, "Bär")])
def test_a_password_matches_its_stored_hash(stored: str, password: str) -> None:
    assert matches(stored, password)
    assert not matches(stored, f"{password}s")


@pytest.mark.parametrize("stored", [None, "", "md5c8d8b5e6c1b0d1b5a1b5c1b0d1b5a1b5"])
def test_no_password_matches_another_kind_of_hash(stored: str | None) -> None:
    assert not matches(stored, "pencil")


def test_each_hash_has_its_own_salt() -> None:
    first, second = (plan([USER], {})["users"][0]["hash"] for _ in range(2))
    assert first != second
    assert "two" not in first
    assert matches(first, "two")
    assert scram_hash("two", b"0123456789abcdef").startswith("SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$")


def test_plan_for_a_new_server() -> None:
    """Users, a database with its owner, and no rights of PUBLIC."""
    found = plan([OWNER, USER], {})
    assert [user["name"] for user in found["users"]] == ["orders_owner", "project_orders"]
    assert found["databases"] == [{"name": "orders", "owner": "orders_owner"}]
    assert found["rights"] == [
        'REVOKE ALL ON DATABASE "orders" FROM PUBLIC',
        'GRANT CONNECT, TEMPORARY ON DATABASE "orders" TO "project_orders"',
    ]


HELD: dict[str, Any] = {
    "users": {name: {"password": PENCIL, "plain": True} for name in ("orders_owner", "project_orders", "somebody")},
    "databases": {
        "postgres": {"owner": "postgres", "rights": ["PUBLIC CONNECT"]},
        "orders": {
            "owner": "orders_owner",
            "rights": ["orders_owner CREATE", "project_orders CONNECT", "project_orders TEMPORARY"],
        },
    },
}
SAME = [{**OWNER, "password": "pencil"}, {**USER, "password": "pencil"}]


def test_no_plan_for_a_server_that_is_as_declared() -> None:
    """Other users and databases are not changed."""
    assert plan(SAME, HELD) == {"users": [], "databases": [], "rights": []}


def test_plan_for_changed_passwords_and_rights() -> None:
    powerful = {**HELD, "users": {**HELD["users"], "project_orders": {"password": PENCIL, "plain": False}}}
    assert [user["name"] for user in plan(SAME, powerful)["users"]] == ["project_orders"]
    assert [user["name"] for user in plan([SAME[0], {**USER, "password": "new"}], HELD)["users"]] == ["project_orders"]
    orders = {**HELD["databases"]["orders"], "rights": ["project_orders CONNECT", "PUBLIC TEMPORARY"]}
    assert plan(SAME, {**HELD, "databases": {"orders": orders}})["rights"] == [
        'REVOKE ALL ON DATABASE "orders" FROM PUBLIC',
        'GRANT TEMPORARY ON DATABASE "orders" TO "project_orders"',
    ]


def test_lines_of_pg_hba() -> None:
    """Over TLS, to one database; without `from` the default sources, with an empty `from` no line."""
    reader = {**USER, "name": "reader", "from": ["198.51.100.0/24", "2001:db8::7"]}
    nobody = {**USER, "name": "nobody", "from": []}
    assert hba_lines([USER, reader, nobody], ["198.18.1.32"]) == [
        'hostssl "orders" "project_orders" 198.18.1.32/32 scram-sha-256',
        'hostssl "orders" "reader" 198.51.100.0/24 scram-sha-256',
        'hostssl "orders" "reader" 2001:db8::7/128 scram-sha-256',
    ]


def test_lines_of_postgresql_conf() -> None:
    settings = {"work_mem": "16MB", "jit": False, "search_path": ["a", "b"], "cluster_name": "it's", "port": None}
    assert config_lines(settings) == [
        "cluster_name = 'it''s'",
        "jit = 'off'",
        "search_path = 'a,b'",
        "work_mem = '16MB'",
    ]


@pytest.mark.parametrize("version", ["14", "15", "17", "99"])
def test_settings_that_require_a_restart(version: str) -> None:
    """https://www.postgresql.org/docs/15/runtime-config-connection.html, "This parameter can only be set at server
    start" of max_connections and shared_buffers; work_mem and ssl are taken at once."""
    settings = {"max_connections": 50, "Shared_Buffers": "1GB", "work_mem": "16MB", "ssl": True, "a.b": 1}
    assert restart_lines(settings, version) == ["Shared_Buffers = '1GB'", "max_connections = '50'"]
