"""What `--migrate` does to a real PostgreSQL: the schema by its owner, and the rights of who runs the job."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from .database import Server, rows
from .helpers import MILLRACE, environment

RIGHTS = "SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = 'worker'"
WORKS = {
    ("job_migrations", "SELECT"),
    *(
        (table, right)
        for table in ("orders_v1", "job_positions", "job_dead_letters")
        for right in ("SELECT", "INSERT", "UPDATE")
    ),
}


@pytest.fixture
def database(server: Server) -> Iterator[dict[str, str]]:
    """A database that has nothing, and a user that may nothing there."""
    made = server.database()
    with psycopg.connect(autocommit=True, **made) as connection:
        connection.execute("CREATE ROLE worker LOGIN")
        yield made
        connection.execute("DROP OWNED BY worker")
        connection.execute("DROP ROLE worker")


def migrate(folder: Path, database: dict[str, str], *options: str) -> "subprocess.CompletedProcess[str]":
    """Run the command as the database's owner, the configuration on its standard input."""
    config = {"checkpoint": str(folder), "kafka": {"bootstrap.servers": "127.0.0.1:1"}, "database": database}
    command = [MILLRACE, "project_orders", "--config", "/dev/stdin", "--migrate", *options]
    return subprocess.run(command, input=json.dumps(config), capture_output=True, text=True, env=environment())


def test_schema_and_rights_by_the_owner(database: dict[str, str], tmp_path: Path) -> None:
    """Said before, done once, and then nothing is left to do; the job's user has what it needs and no more."""
    told = ("--rights-of", "worker")
    before = migrate(tmp_path, database, *told, "--pending").stdout.splitlines()
    assert before[:3] == ["applied positions 1", "applied orders 1", "applied orders 2"]
    assert rows(database, "SELECT to_regclass('job_migrations') IS NULL") == [(True,)]
    assert migrate(tmp_path, database, *told).stdout.splitlines() == before
    assert set(rows(database, RIGHTS)) == WORKS
    for options in ((*told, "--pending"), told):
        assert migrate(tmp_path, database, *options).stdout == "nothing to apply\n"


def test_a_right_that_was_taken_is_given_again(database: dict[str, str], tmp_path: Path) -> None:
    migrate(tmp_path, database, "--rights-of", "worker")
    with psycopg.connect(autocommit=True, **database) as connection:
        connection.execute("REVOKE UPDATE ON orders_v1 FROM worker")
    again = migrate(tmp_path, database, "--rights-of", "worker")
    assert again.stdout == "granted UPDATE on orders_v1 to worker\n"
    assert set(rows(database, RIGHTS)) == WORKS


def test_who_may_make_no_tables_is_told_so(database: dict[str, str], tmp_path: Path) -> None:
    """In one line, and with an exit status."""
    done = migrate(tmp_path, {**database, "user": "worker"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "database: permission denied for schema public" in done.stderr
    assert "Traceback" not in done.stderr
