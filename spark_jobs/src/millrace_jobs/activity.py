"""Asks a Spark session which tasks run and how many executors it has, for the status of the job."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


class SparkActivity:
    """The activity of a session. Each method asks the JVM, which takes about a millisecond."""

    def __init__(self, spark: SparkSession) -> None:
        """Set the session."""
        self._context = spark.sparkContext
        self._local = str(self._context.master).startswith("local")

    def tasks(self) -> object:
        """Return the running stages with the numbers of their ended tasks and of records.

        Spark updates the numbers of records while a task runs, at each heartbeat (10 s).
        """
        store: Any = self._context._jsc.sc().statusStore()
        stages = (store.lastStageAttempt(number) for number in self._context.statusTracker().getActiveStageIds())
        return [
            (
                stage.stageId(),
                stage.numCompleteTasks(),
                stage.inputRecords() + stage.outputRecords(),
                stage.shuffleReadRecords() + stage.shuffleWriteRecords(),
            )
            for stage in stages
        ]

    def executors(self) -> int | None:
        """Return the number of executors on the cluster; None if all tasks run in this process."""
        if self._local:
            return None
        storage: Any = self._context._jsc.sc().getExecutorMemoryStatus()
        return int(storage.size()) - 1  # the driver is one of them
