"""Computes the facts of a query that its status shows: its last batch, and how far it is behind its topics."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from pyspark.sql.streaming.listener import StreamingQueryProgress

from millrace_jobs.groups import Offsets, offsets_of
from millrace_jobs.status import seconds_of, time_text

_MOST_ENDS = 200


class QueryFacts:
    """The facts of one query; `batch` and `idle` return them as the status file has them.

    - batch: number of the last batch; ended: its end; rows, rows_per_second, seconds (its duration)
    - lag_records: records that the topics contained when the batch was planned and that it did not read; None if the
      query reads no topic
    - lag_seconds: seconds from the arrival of the oldest of these records to the end of the batch, or more; None if
      that is not known, as after a start until the query has reached the end that the topics had then
    - watermark, late, state_rows, state_bytes: as query_counters.Tally.facts returns them; None without them
    """

    def __init__(self) -> None:
        """Begin without a batch."""
        self._facts: dict[str, object] = {}
        self._ends: deque[tuple[float, Offsets]] = deque()
        self._read_until: float | None = None

    def batch(self, progress: StreamingQueryProgress, rows: int, counters: Mapping[str, object]) -> dict[str, object]:
        """Return the facts after a batch; `rows` is its number of records, `counters` are the facts of a Tally."""
        seconds, began = progress.batchDuration / 1000, seconds_of(progress.timestamp)
        ended = began + seconds
        done, latest = Offsets(), Offsets()
        for source in progress.sources:
            if source.description.startswith("KafkaV2["):
                done |= offsets_of(source.endOffset)
                latest |= offsets_of(source.latestOffset)
        behind = sum(max(0, offset - done.get(place, offset)) for place, offset in latest.items()) if latest else None
        self._count(began, done, latest)
        self._facts = {
            "batch": progress.batchId,
            "ended": time_text(ended),
            "rows": rows,
            "rows_per_second": round(rows / seconds, 1) if seconds else None,
            "seconds": seconds,
            "lag_records": behind,
            "lag_seconds": None if self._read_until is None else round(ended - self._read_until, 3),
            **{name: counters.get(name) for name in ("watermark", "late", "state_rows", "state_bytes")},
        }
        return self._facts

    def idle(self) -> dict[str, object]:
        """Return the facts after an idle event: the topics contain no record that the query has not read."""
        if self._facts.get("lag_records") is not None:
            self._ends.clear()
            self._facts = {**self._facts, "lag_records": 0, "lag_seconds": 0.0}
        return self._facts

    def _count(self, began: float, done: Offsets, latest: Offsets) -> None:
        """Compute the time before which all records that had arrived are read.

        The ends of the topics when a batch was planned include all records that had arrived when the batch began. If
        there are too many ends, every second one is removed.
        """
        if latest:
            self._ends.append((began, latest))
        while self._ends and all(done.get(place, offset) >= offset for place, offset in self._ends[0][1].items()):
            self._read_until = self._ends.popleft()[0]
        if len(self._ends) > _MOST_ENDS:
            self._ends = deque(list(self._ends)[::2])
