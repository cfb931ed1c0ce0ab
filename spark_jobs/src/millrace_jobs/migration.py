"""Implements `--migrate`: updates the tables of a read model, and grants the user of the job its rights."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
from psycopg import sql

from millrace_jobs import postgres, schema_versions
from millrace_jobs.ends import Database
from millrace_jobs.parts import PostgresSink

_WRITES = ("SELECT", "INSERT", "UPDATE")


def migrate(database: Database, sink: PostgresSink, user: str | None, pending: bool) -> list[str]:
    """Update the tables of `sink` to this release's version, and grant `user` the rights that the job needs.

    With `user` None no rights are granted. Return a line for each change, such as `applied orders 1`. With `pending`,
    change nothing and return the lines of the changes that a call without `pending` would make.

    Raises:
        JobError: the database has versions that this release does not know.
        psycopg.Error: the database does not answer, or the connected user may not create tables.
    """
    with postgres.connect(database) as connection, connection.transaction():
        if pending:
            versions = schema_versions.missing_versions(connection, sink.migrations)
        else:
            versions = schema_versions.migrate(connection, sink.migrations)
        lines = [f"applied {version}" for version in versions]
        for right, table in _missing_rights(connection, sink, user) if user else ():
            lines.append(f"granted {right} on {table} to {user}")
            if not pending:
                statement = sql.SQL("GRANT {} ON {} TO {}")
                names = sql.SQL(right), sql.Identifier(table), sql.Identifier(user or "")
                connection.execute(statement.format(*names))
    return lines


def _missing_rights(connection: psycopg.Connection, sink: PostgresSink, user: str | None) -> Iterator[tuple[str, str]]:
    needed = [(right, table) for table in (sink.table, "job_positions", "job_dead_letters") for right in _WRITES]
    for right, table in [("SELECT", "job_migrations"), *needed]:
        query = "SELECT coalesce(has_table_privilege(%s, to_regclass(%s)::oid, %s), false)"
        granted = connection.execute(query, (user, table, right)).fetchone()
        if not (granted and granted[0]):
            yield right, table
