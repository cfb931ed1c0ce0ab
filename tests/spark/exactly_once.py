"""What exactly once costs: batches of orders written with the job's guard, without it, and as a plain append.

Prints a line of JSON for each run: how it was written, CPU seconds of Spark and of PostgreSQL, seconds of wall time.
"""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from bench_jobs_programs import cpu_of
from millrace_jobs import codec, postgres, runtime, session
from millrace_jobs.config import JOBS, parse
from millrace_jobs.io import read
from millrace_jobs.parts import PostgresSink
from millrace_jobs.positions import Place, Range
from millrace_jobs.read_model import ReadModel
from psycopg import sql
from pyarrow import csv
from pyspark.sql import DataFrame, SparkSession

from .database import Server, rows, running_server
from .ledger import send, some_events


@dataclass
class Unguarded(ReadModel):
    """The same rows merged into the same table, in a transaction that holds nothing else."""

    def _apply(self, batch: DataFrame, ranges: Mapping[Place, Range]) -> bool:
        made, _ = self._rows(codec.decode(batch, self.contract))
        connection = self._connected()
        with connection.transaction():
            self._write(connection, made)
        return True

    def _write(self, connection: postgres.Connection, made: Any) -> None:
        postgres._merge(connection, self.sink, made)


@dataclass
class Append(Unguarded):
    """The same rows after those that are there, in a table without a key."""

    def _write(self, connection: postgres.Connection, made: Any) -> None:
        text = io.BytesIO()
        csv.write_csv(made, text, csv.WriteOptions(include_header=False))
        columns = sql.SQL(", ").join(map(sql.Identifier, made.column_names))
        into = sql.SQL("COPY appended ({}) FROM STDIN (FORMAT csv)").format(columns)
        with connection.cursor() as cursor, cursor.copy(into) as copy:
            copy.write(text.getbuffer())


WAYS = {"guarded": ReadModel, "unguarded": Unguarded, "append": Append}


def run(spark: SparkSession, server: Server, data: dict[str, object], way: str, folder: Path) -> dict[str, object]:
    """Write all that the topic holds, into a database of its own."""
    database = server.database("orders")
    with psycopg.connect(**database) as connection:
        connection.execute("CREATE TABLE appended (LIKE orders_v1)")
    config = parse("project_orders", {**data, "database": database, "checkpoint": str(folder)})
    job = JOBS["project_orders"]
    (sink,) = job.outputs
    assert isinstance(sink, PostgresSink)
    made = runtime._read_model(config, job, sink, "project_orders", config.checkpoint, threading.Event())
    made.check(threading.Event())
    batches = WAYS[way](**vars(made))
    records = read(spark, config.inputs[job.inputs[0].name], config.checkpoint, headers=True)
    writer = records.writeStream.foreachBatch(batches).option("checkpointLocation", config.checkpoint)
    assert server.process is not None
    pids, began = (os.getpid(), server.process.pid), time.monotonic()
    before = [cpu_of(pid) for pid in pids]
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    used = [cpu_of(pid) - one for pid, one in zip(pids, before, strict=True)]
    took = time.monotonic() - began
    batches._connected().close()
    (held,) = rows(database, f"SELECT sum(events) FROM {'appended' if way == 'append' else 'orders_v1'}")
    return {"way": way, "spark": used[0], "postgresql": used[1], "seconds": took, "events": int(held[0])}


def main(
    servers: str, topic: str, jars: str, master: str, events: str, batch: str, warm_up: str, rounds: str, folder: str
) -> None:
    """Send the events, then write them in turns; the first rounds warm."""
    send(servers, topic, some_events(int(events)))
    data: dict[str, object] = {
        "kafka": {"bootstrap.servers": servers},
        "jars_directory": jars,
        "spark": {"spark.master": master},
        "input_topic": topic,
        "max_offsets_per_trigger": int(batch),
        "dead_letter_topic": f"{topic}-dead",
    }
    any_database = {"host": "/", "dbname": "d", "user": "u"}
    spark = session.build(parse("project_orders", {**data, "database": any_database, "checkpoint": folder}))
    with running_server() as server:
        for number in range(int(warm_up) + int(rounds)):
            for way in list(WAYS)[
                :: 1 if number % 2 else -1
            ]:  # the session still becomes faster: no way is always first
                found = run(spark, server, data, way, Path(folder) / f"{number}-{way}")
                print(json.dumps({"round": number, **found}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
