"""Writes the batches of a query to PostgreSQL: decodes and transforms the records that are not stored there yet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Observation

from millrace_jobs import codec, io, postgres, schema_versions
from millrace_jobs.contract import Contract
from millrace_jobs.ends import Database, Topic
from millrace_jobs.parts import PostgresSink
from millrace_jobs.positions import Place, Range, check_sink, in_ranges, ranges_of, start_offsets, unapplied
from millrace_jobs.topics import topic_id

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)


@dataclass
class ReadModel:
    """A query that maintains a PostgreSQL table; Spark calls the object for each batch (foreachBatch).

    Dead letters are sent before the transaction of the batch. If the process is killed between the two, the dead
    letters are sent again with the same offset in their headers; the database counts them once.
    """

    query: str
    job: str
    checkpoint: str
    contract: Contract
    transform: Callable[[DataFrame], DataFrame]
    sink: PostgresSink
    database: Database
    source: Topic
    dead_letters: Topic | None
    ending: Event
    dead: dict[str, int] = field(default_factory=dict)  # since the start, by reason
    _topic_id: str = ""
    _connection: postgres.Connection | None = None

    def check(self, stopping: Event) -> None:
        """Check that the query may continue with this database; while the database does not answer, try again.

        Raises:
            Stopped: the database does not answer, and `stopping` was set.
            JobError: the tables are not of this release's version; the stored records came from a deleted topic of the
                same name; or records that the checkpoint has finished are missing in the database.
        """
        self._topic_id = topic_id(self.source)
        postgres.retry(self._check, stopping)

    def _check(self) -> None:
        schema_versions.check(self._connected(), self.sink.migrations)
        postgres.check_topic(self._connected(), self.query, self.source.name, self._topic_id)
        check_sink(self.checkpoint, postgres.applied(self._connected(), self.query), self.query)

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Write the records of a batch that the database does not hold yet.

        While the database does not answer, try again.

        Raises:
            Stopped: the database does not answer, and `ending` was set.
            JobError: the database rejects the rows, or records before the batch are missing in the database.
        """
        ranges = ranges_of(self.checkpoint, batch_id)
        while not postgres.retry(lambda: self._apply(batch, ranges), self.ending):
            _LOG.warning("%s: another process applies the same records: does the job run twice?", self.query)

    def _apply(self, batch: DataFrame, ranges: Mapping[Place, Range]) -> bool:
        stored = postgres.applied(self._connected(), self.query)
        remaining = unapplied(ranges, stored, start_offsets(self.checkpoint), self.query)
        if not remaining:
            _LOG.info("%s: the database already contains this batch", self.query)
            return True
        decoded = codec.decode(in_ranges(batch, remaining, ranges), self.contract)
        rows, dead = self._rows(decoded)
        if any(dead.values()) and self.dead_letters is not None:
            io.send(codec.dead_letters(decoded, self.contract, self.job), self.dead_letters)
        try:
            postgres.apply(self._connected(), self.sink, self.query, self._topic_id, stored, remaining, rows, dead)
        except postgres.Moved:
            return False
        for reason, count in dead.items():
            self.dead[reason] = self.dead.get(reason, 0) + count
        return True

    def _rows(self, decoded: DataFrame) -> tuple[pa.Table, dict[str, int]]:
        """Return the transformed rows and {reason: number of rejected records}; the records are read only once."""
        observation = Observation()
        valid_rows = codec.valid_rows(decoded.observe(observation, *codec.reason_counts(self.contract)), self.contract)
        rows = self.transform(valid_rows).toArrow()
        return rows, {reason: count for reason, count in observation.get.items() if count}

    def _connected(self) -> postgres.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = postgres.connect(self.database)
        return self._connection
