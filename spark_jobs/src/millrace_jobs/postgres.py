"""Writes batches to PostgreSQL: the rows of a table and the offsets of their records, in one transaction."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import sql

from millrace_jobs import status
from millrace_jobs.ends import Database
from millrace_jobs.errors import JobError, Stopped
from millrace_jobs.parts import PostgresSink
from millrace_jobs.positions import Place, Range

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 1.0
_LOG_SECONDS = 60
# Classes of transient errors: connection, transaction, resources, shutdown.
# https://www.postgresql.org/docs/15/errcodes-appendix.html
_TRANSIENT = ("08", "40", "53", "55", "57")
_STAGED = sql.Identifier("staged")


class Moved(Exception):
    """Raised if the stored offsets of a query are not those that the caller read: another process changed them."""


# A lost host is detected after half a minute, also in the middle of a COPY or a COMMIT.
_TIMEOUTS = {
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


def connect(database: Database) -> Connection:
    """Connect to the database in autocommit mode; `connection.transaction()` makes statements one transaction."""
    defaults = {"connect_timeout": "10", "application_name": "millrace-jobs", **_TIMEOUTS}
    return psycopg.connect(autocommit=True, **{**defaults, **database.client})  # type: ignore[arg-type]


def retry(operation: Callable[[], T], stopping: Event) -> T:
    """Return the result of `operation`; while the database does not answer, repeat it and log that once a minute.

    If the connection breaks while `operation` commits, it runs again, so it must first read whether its data is stored.

    Raises:
        Stopped: the database does not answer, and `stopping` was set.
        JobError: the database answers and rejects the operation.
    """
    failing_since, next_log = time.monotonic(), 0.0
    while True:
        try:
            result = operation()
            status.current().end_wait(status.DATABASE)
            return result
        except psycopg.OperationalError as error:
            if error.sqlstate is not None and error.sqlstate[:2] not in _TRANSIENT:
                raise _refused(error) from error
            status.current().wait(status.DATABASE)
            now = time.monotonic()
            if now >= next_log:
                reason = " ".join(str(error).split())
                _LOG.warning("database: no answer for %d s (%s); retrying", now - failing_since, reason)
                next_log = now + _LOG_SECONDS
            if stopping.wait(_RETRY_SECONDS):
                raise Stopped("database: no answer, and a stop was requested") from None
        except psycopg.Error as error:
            raise _refused(error) from error


def _refused(error: psycopg.Error) -> JobError:
    reason = error.diag.message_primary or " ".join(str(error).split())  # the error's details may contain rows
    return JobError(f"database: refused ({reason}); nothing was written")


def applied(connection: Connection, query: str) -> dict[Place, int]:
    """Return {(topic, partition): offset after the last record that the database holds for `query`}."""
    rows = connection.execute("SELECT topic, partition, until_offset FROM job_positions WHERE query = %s", (query,))
    return {(topic, partition): until for topic, partition, until in rows.fetchall()}


def check_topic(connection: Connection, query: str, topic: str, topic_id: str) -> None:
    """Check that the records that `query` has stored came from the topic with the id `topic_id`.

    Raises:
        JobError: the topic was deleted and recreated, so its new records would be skipped as if they were stored
            already.
    """
    row = connection.execute(
        "SELECT topic_id FROM job_positions WHERE query = %s AND topic = %s AND topic_id <> %s",
        (query, topic, topic_id),
    ).fetchone()
    if row:
        raise JobError(
            f"{query}: topic {topic} was deleted and recreated since its records were applied (its id was "
            f"{row[0]} and is {topic_id}), so stored offsets refer to other records; delete the query's rows of "
            "job_positions, the rows of these records, and the checkpoint, and start again"
        )


def apply(
    connection: Connection,
    sink: PostgresSink,
    query: str,
    topic_id: str,
    expected: Mapping[Place, int],
    ranges: Mapping[Place, Range],
    rows: pa.Table,
    dead: Mapping[str, int],
) -> None:
    """Write the rows, the offset ranges of their records and the numbers of dead letters, in one transaction.

    `expected` is the result of `applied` that the caller has read before. `ranges` are the records from which `rows`
    were computed. `dead` is {reason: number of dead letters}.

    Raises:
        Moved: the stored offsets differ from `expected`; nothing was written.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('job_positions'), hashtext(%s))", (query,))
        if applied(connection, query) != expected:
            raise Moved
        _merge(connection, sink, rows)
        positions = [
            (query, topic, topic_id, number, range_.first, range_.until) for (topic, number), range_ in ranges.items()
        ]
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO job_positions (query, topic, topic_id, partition, from_offset, until_offset)"
                " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (query, topic, partition) DO UPDATE"
                " SET from_offset = excluded.from_offset, until_offset = excluded.until_offset, applied_at = now()",
                positions,
            )
            cursor.executemany(
                "INSERT INTO job_dead_letters AS held (query, reason, records) VALUES (%s, %s, %s)"
                " ON CONFLICT (query, reason) DO UPDATE SET records = held.records + excluded.records",
                [(query, reason, number) for reason, number in dead.items() if number],
            )


def _merge(connection: Connection, sink: PostgresSink, rows: pa.Table) -> None:
    """Write rows into the table of `sink`: update the stored row with the same key columns, or insert a new row."""
    from pyarrow import csv

    if not rows.num_rows:
        return
    table = sql.Identifier(sink.table)
    columns = sql.SQL(", ").join(map(sql.Identifier, rows.column_names))
    connection.execute(
        sql.SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(_STAGED, columns, table)
    )
    text = io.BytesIO()
    csv.write_csv(rows, text, csv.WriteOptions(include_header=False))
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(_STAGED, columns)) as copy,
    ):
        copy.write(text.getbuffer())
    changes = [
        sql.SQL("{} = {}").format(
            sql.Identifier(name),
            sql.SQL(sink.merge[name]) if name in sink.merge else sql.Identifier("excluded", name),
        )
        for name in rows.column_names
        if name not in sink.key
    ]
    connection.execute(
        sql.SQL("INSERT INTO {} AS held ({}) SELECT {} FROM {} ON CONFLICT ({}) DO UPDATE SET {}").format(
            table,
            columns,
            columns,
            _STAGED,
            sql.SQL(", ").join(map(sql.Identifier, sink.key)),
            sql.SQL(", ").join(changes),
        )
    )
