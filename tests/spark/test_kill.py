"""A job of its own process is killed in the middle of a batch; what its consumer group shows meanwhile."""

import json
import signal
import subprocess
from pathlib import Path

import psycopg

from .broker import Broker
from .database import Server, rows
from .helpers import environment, eventually
from .ledger import expected, read_model, send, some_events
from .projected import committed, held, project_orders


def test_exact_after_kill_9_in_a_batch(broker: Broker, server: Server, tmp_path: Path) -> None:
    """Nothing double, nothing missing; the group never says more than the database holds, and in the end as much."""
    database, events = server.database(), some_events(300)
    topic = broker.topic(partitions=2)
    command = project_orders(broker, topic, database, tmp_path)
    made = subprocess.run([*command, "--migrate"], capture_output=True, text=True, env=environment(), check=True)
    assert made.stdout == "applied positions 1\napplied orders 1\napplied orders 2\n"
    send(broker.servers, topic, events[:200])
    with psycopg.connect(autocommit=True, **database) as other, (tmp_path / "log").open("ab") as log:
        # Whoever holds this lock keeps the job's transaction from going on: it stands in the middle of a batch.
        other.execute("SELECT pg_advisory_lock(hashtext('job_positions'), hashtext('project_orders'))")
        with subprocess.Popen(command, stderr=log, env=environment()) as job:
            try:
                waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                eventually(lambda: rows(database, waiting), [(1,)], 300)
            finally:
                job.kill()
    assert read_model(database) == set()
    assert set(committed(broker, topic).values()) == {-1001}
    send(broker.servers, topic, events[200:])
    with (tmp_path / "log").open("ab") as log, subprocess.Popen(command, stderr=log, env=environment()) as job:
        try:
            eventually(lambda: sum(held(database).values()), 300, 300)
            eventually(lambda: committed(broker, topic) == held(database), True)
            job.send_signal(signal.SIGTERM)
            assert job.wait(120) == 0, (tmp_path / "log").read_text()
        finally:
            job.kill()
    assert read_model(database) == expected(events)
    assert committed(broker, topic) == held(database)
    batches = [line for line in (tmp_path / "log").read_text().splitlines() if " millrace: batch " in line]
    facts = [json.loads(line[line.index("{") :]) for line in batches]
    assert [one["query"] for one in facts] == ["project_orders"] * len(facts)
    assert sum(one["rows"] for one in facts) >= 300
    assert facts[-1]["until"] == {f"{topic}-{number}": until for number, until in held(database).items()}


def test_a_stop_does_not_wait_for_the_database(broker: Broker, server: Server, tmp_path: Path) -> None:
    """A job that begins while its database is away asks again until it is stopped; the database stays away."""
    command, log = (
        project_orders(broker, broker.topic(partitions=2), server.database("orders"), tmp_path),
        tmp_path / "log",
    )
    server.stop()
    try:
        with log.open("ab") as file, subprocess.Popen(command, stderr=file, env=environment()) as job:
            try:
                eventually(lambda: "database: no answer for " in log.read_text(), True)
                job.send_signal(signal.SIGTERM)
                assert job.wait(120) == 0, log.read_text()
            finally:
                job.kill()
    finally:
        server.start()
    assert "a stop was requested" in log.read_text()
