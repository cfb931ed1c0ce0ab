"""Creates and updates the tables of a read model from numbered SQL files, each applied once, in order."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

import psycopg

from millrace_jobs.errors import JobError

# The database of each read model also contains the positions of the queries that write to it.
POSITIONS = "positions"
_TABLE = """
CREATE TABLE IF NOT EXISTS job_migrations (
  model text NOT NULL, version integer NOT NULL, digest text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (model, version)
)
"""


@dataclass(frozen=True)
class Migration:
    """One version of the tables of the read model `model`; `sql` updates the tables from the version before."""

    model: str
    version: int
    sql: str

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the SQL in hexadecimal; it shows whether a released version was changed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(model: str) -> list[Migration]:
    """Return all versions for a read model, in order: those of the table of offsets, then those of its own tables."""
    versions = []
    for name in (POSITIONS, model):
        for file in sorted(files("millrace_jobs.migrations").joinpath(name).iterdir(), key=lambda file: file.name):
            number = re.match(r"(\d{4})_\w+\.sql", file.name)
            if number:
                versions.append(Migration(name, int(number[1]), file.read_text(encoding="utf-8")))
    return versions


def migrate(connection: psycopg.Connection, model: str) -> list[str]:
    """Apply the versions that the database does not have yet for the read model `model`, in one transaction.

    Return the applied versions, such as `orders 1`.

    Raises:
        JobError: the database has a version that this release does not know, or a version that was applied from another
            SQL text than this release has.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('job_migrations'))")
        connection.execute(_TABLE)
        applied = _applied_versions(connection)
        _refuse_unknown(applied, model)
        new = []
        for migration in migrations(model):
            if (migration.model, migration.version) not in applied:
                connection.execute(migration.sql.encode())
                row = (migration.model, migration.version, migration.digest)
                connection.execute("INSERT INTO job_migrations (model, version, digest) VALUES (%s, %s, %s)", row)
                new.append(f"{migration.model} {migration.version}")
    return new


def check(connection: psycopg.Connection, model: str) -> None:
    """Check that the database has exactly the versions for the read model `model` that this release has.

    Raises:
        JobError: a version is missing in the database, unknown to this release, or was applied from another SQL text.
    """
    if missing := missing_versions(connection, model):
        raise JobError(
            f"database: its schema has no {', '.join(missing)}; run the job once with --migrate, as a user that may "
            "create tables"
        )


def missing_versions(connection: psycopg.Connection, model: str) -> list[str]:
    """Return the versions for the read model `model` that the database does not have, such as `orders 1`.

    Nothing is written.

    Raises:
        JobError: the database has a version that this release does not know, or a version that was applied from another
            SQL text than this release has.
    """
    with connection.transaction():
        table_exists = connection.execute("SELECT to_regclass('job_migrations') IS NOT NULL").fetchone()
        applied = _applied_versions(connection) if table_exists and table_exists[0] else {}
    _refuse_unknown(applied, model)
    return [
        f"{migration.model} {migration.version}"
        for migration in migrations(model)
        if (migration.model, migration.version) not in applied
    ]


def _refuse_unknown(applied: dict[tuple[str, int], str], model: str) -> None:
    known = {(migration.model, migration.version): migration.digest for migration in migrations(model)}
    for (name, version), digest in sorted(applied.items()):
        if name not in (model, POSITIONS):
            continue
        if (name, version) not in known:
            raise JobError(
                f"database: its schema is at {name} {version}, which this release does not know; deploy the "
                "release that applied it"
            )
        if known[name, version] != digest:
            raise JobError(
                f"database: {name} {version} was applied from another text than in this release; an applied migration "
                "must not change: deploy the release that applied it, or add a new version"
            )


def _applied_versions(connection: psycopg.Connection) -> dict[tuple[str, int], str]:
    rows = connection.execute("SELECT model, version, digest FROM job_migrations").fetchall()
    return {(model, version): digest for model, version, digest in rows}
