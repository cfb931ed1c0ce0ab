"""Counts dead letters and late rows of a query since its start, and reads the size of its state."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.streaming.listener import StreamingQueryProgress

from millrace_jobs.runtime import DEAD


def rows_of(progress: StreamingQueryProgress) -> int:
    """Return the number of records of a batch.

    If a second branch of the query writes dead letters, Spark reads and counts each record twice; the result counts
    each record once.
    """
    counted_twice = any(name.startswith(DEAD) for name in progress.observedMetrics)
    return progress.numInputRows // 2 if counted_twice else progress.numInputRows


@dataclass
class Tally:
    """The counters of one query since its start.

    `dead_letters` is {reason: number of records}. `late` is the number of rows whose time was before the watermark when
    they arrived, so Spark dropped them.
    """

    dead_letters: dict[str, int] = field(default_factory=dict)
    late: int = 0
    _batch: int = -1

    def count_batch(self, progress: StreamingQueryProgress) -> None:
        """Add the dead letters and late rows of a batch. A batch that was counted before is ignored."""
        if progress.batchId <= self._batch:
            return
        self._batch = progress.batchId
        for name, row in progress.observedMetrics.items():
            if name.startswith(DEAD):
                for reason, count in row.asDict().items():
                    if count:
                        self.dead_letters[reason] = self.dead_letters.get(reason, 0) + count
        self.late += sum(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)

    def facts(self, progress: StreamingQueryProgress) -> dict[str, object]:
        """Return the counters of the query as a dict for the log.

        A counter that does not apply to the query is absent. Keys of the result:
        dead_letters: {reason: number of records} since the start
        state_rows, state_bytes: size of the state after the batch of `progress`
        watermark: time (text) of the watermark after the batch of `progress`
        late: number of rows since the start that arrived too late for the watermark
        """
        counters: dict[str, object] = {"dead_letters": dict(self.dead_letters)} if self.dead_letters else {}
        if progress.stateOperators:
            counters["state_rows"] = sum(operator.numRowsTotal for operator in progress.stateOperators)
            counters["state_bytes"] = sum(operator.memoryUsedBytes for operator in progress.stateOperators)
        if "watermark" in progress.eventTime:
            counters |= {"watermark": progress.eventTime["watermark"], "late": self.late}
        return counters
