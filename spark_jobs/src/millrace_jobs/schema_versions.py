"""Applies the schema of a read model: SQL files of the wheel, in order, each once."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

import psycopg

from millrace_jobs.errors import JobError

# Every read model's database also holds the positions of the queries that write to it.
POSITIONS = "positions"
_TABLE = """
CREATE TABLE IF NOT EXISTS job_migrations (
  model text NOT NULL, version integer NOT NULL, digest text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (model, version)
)
"""


@dataclass(frozen=True)
class Migration:
    """One version of a schema."""

    model: str
    version: int
    sql: str

    @property
    def digest(self) -> str:
        """The digest of its text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(model: str) -> list[Migration]:
    """Return all versions of a model and of the positions, in order."""
    found = []
    for name in (POSITIONS, model):
        for file in sorted(files("millrace_jobs.migrations").joinpath(name).iterdir(), key=lambda file: file.name):
            number = re.match(r"(\d{4})_\w+\.sql", file.name)
            if number:
                found.append(Migration(name, int(number[1]), file.read_text(encoding="utf-8")))
    return found


def migrate(connection: psycopg.Connection, model: str) -> list[str]:
    """Apply the missing versions in one transaction; return them, such as `orders 1`.

    Raises:
        JobError: the database has versions that this wheel does not know.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('job_migrations'))")
        connection.execute(_TABLE)
        held = _held(connection)
        _refuse_unknown(held, model)
        done = []
        for one in migrations(model):
            if (one.model, one.version) not in held:
                connection.execute(one.sql.encode())
                row = (one.model, one.version, one.digest)
                connection.execute("INSERT INTO job_migrations (model, version, digest) VALUES (%s, %s, %s)", row)
                done.append(f"{one.model} {one.version}")
    return done


def check(connection: psycopg.Connection, model: str) -> None:
    """Return if the database has exactly the versions of this wheel.

    Raises:
        JobError: a version is missing, unknown, or had another text.
    """
    if found := lacking(connection, model):
        raise JobError(
            f"database: lacks {', '.join(found)} of its schema; run the job once with --migrate, as a user that may "
            "make tables"
        )


def lacking(connection: psycopg.Connection, model: str) -> list[str]:
    """Return the missing versions, such as `orders 1`; nothing is written.

    Raises:
        JobError: the database has a version that this wheel does not know, or one that had another text.
    """
    with connection.transaction():
        there = connection.execute("SELECT to_regclass('job_migrations') IS NOT NULL").fetchone()
        held = _held(connection) if there and there[0] else {}
    _refuse_unknown(held, model)
    return [f"{one.model} {one.version}" for one in migrations(model) if (one.model, one.version) not in held]


def _refuse_unknown(held: dict[tuple[str, int], str], model: str) -> None:
    known = {(one.model, one.version): one.digest for one in migrations(model)}
    for (name, version), digest in sorted(held.items()):
        if name not in (model, POSITIONS):
            continue
        if (name, version) not in known:
            raise JobError(
                f"database: its schema is at {name} {version}, which this release does not know; deploy the "
                "release that made it"
            )
        if known[name, version] != digest:
            raise JobError(
                f"database: {name} {version} was made from another text than this release has; a migration that was "
                "applied is never changed: deploy the release that made it, or add a new version"
            )


def _held(connection: psycopg.Connection) -> dict[tuple[str, int], str]:
    rows = connection.execute("SELECT model, version, digest FROM job_migrations").fetchall()
    return {(model, version): digest for model, version, digest in rows}
