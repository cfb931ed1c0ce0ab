"""The status of a running job: its file, what systemd's watchdog is sent, and what tasks and executors are asked."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from millrace_jobs import postgres, status
from millrace_jobs.activity import SparkActivity
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.lag import QueryFacts
from millrace_jobs.outage import KafkaWatch
from millrace_jobs.status import Status, Watchdog, watchdog_of
from millrace_jobs.topics import wait_for_topics
from pyspark.sql import SparkSession

from .broker import Broker
from .helpers import MILLRACE, environment, eventually, put, write_config
from .streams import configured, reported, run

ALIVE = b"WATCHDOG=1"


class Fake:
    """A clock, a Spark session and a watchdog; `sent` has the messages that systemd would have got."""

    def __init__(self, watchdog: float = 600, trigger: float = 1) -> None:
        """Begin at second 1000."""
        self.now, self.sent, self.done, self.running = 1000.0, list[bytes](), 0, cast("int | None", None)
        self.status = Status("words", None, trigger, Watchdog(watchdog, self.sent.append), lambda: self.now)
        self.status.watch(self)

    def tasks(self) -> object:
        """How many tasks are done."""
        return self.done

    def executors(self) -> int | None:
        """How many executors there are."""
        return self.running

    def after(self, seconds: float) -> int:
        """Let time pass, let it look once; return how many messages were sent by then."""
        self.now += seconds
        self.status.step()
        return len(self.sent)


@pytest.fixture
def job() -> Fake:
    """A job whose queries run; its start was told to systemd."""
    fake = Fake()
    assert fake.after(0) == 1
    fake.status.enter(status.RUNNING)
    assert fake.after(1) == 2
    return fake


def test_a_job_without_progress_is_not_alive(job: Fake, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is sent from then on; the journal tells once why the restart comes."""
    assert [job.after(10) for _ in range(31)] == [2] * 31
    (line,) = [record.getMessage() for record in caplog.records]
    assert "for 311 s; after 600 s systemd restarts the job" in line
    assert job.after(200) == 2
    assert len(caplog.records) == 1


def test_what_counts_as_progress(job: Fake) -> None:
    """A batch, an idle event, a task."""
    job.status.report("words", {"batch": 1})
    assert (job.after(10), job.after(10)) == (3, 3)
    job.status.seen()
    assert job.after(100) == 4
    assert job.after(100) == 4, "the first look only learns how many are done"
    job.done += 1
    assert (job.after(100), job.after(100)) == (5, 5)
    job.status.sent(7)
    assert (job.after(10), job.after(10)) == (6, 6)


@pytest.mark.parametrize("reason", [status.BROKERS, status.TOPICS, status.DATABASE])
def test_a_job_that_waits_is_alive(job: Fake, reason: str) -> None:
    job.status.wait(reason)
    assert [job.after(300) for _ in range(3)] == [3, 4, 5]
    assert job.status.state == reason
    job.status.end_wait(reason)
    assert (job.status.state, job.after(300), job.after(300)) == ("running", 6, 6)


def test_a_job_without_executors_waits_for_cores(job: Fake) -> None:
    job.running = 0
    assert (job.after(20), job.status.state) == (3, "waiting for cores of the cluster")
    assert job.after(900) == 4
    job.running = 2
    assert (job.after(10), job.status.state) == (5, "running")


def test_a_wait_for_topics_is_shown(broker: Broker) -> None:
    """Topics that are not there, and brokers that do not answer."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        for servers, state in ((broker.servers, status.TOPICS), (nobody, status.BROKERS)):
            with status.reported("words", 1, {}) as current:
                with pytest.raises(JobError):
                    wait_for_topics([Topic("not-there", {"bootstrap.servers": servers})], 0, threading.Event())
                assert current.state == state
                wait_for_topics([Topic(broker.topic(), {"bootstrap.servers": broker.servers})], 60, threading.Event())
                assert current.state == status.STARTING


def test_an_outage_is_shown(broker: Broker) -> None:
    """Until the brokers answer again."""
    topic = broker.topic()
    with status.reported("words", 1, {}) as current:
        watch = KafkaWatch({"bootstrap.servers": broker.servers}, [topic], ask_seconds=0.1, answer_seconds=1)
        try:
            with broker.silent():
                eventually(lambda: current.state, status.BROKERS)
            eventually(lambda: current.state, status.STARTING)
        finally:
            watch.close()


def test_a_database_that_does_not_answer_is_shown() -> None:
    states = list[str]()

    def operation() -> int:
        states.append(status.current().state)
        if len(states) < 3:
            raise psycopg.OperationalError("connection refused")
        return 7

    stopping = cast(threading.Event, SimpleNamespace(wait=lambda seconds: False))
    with status.reported("words", 1, {}) as current:
        assert postgres.retry(operation, stopping) == 7
        assert states == [status.STARTING, status.DATABASE, status.DATABASE]
        assert current.state == status.STARTING


def test_the_next_batch_may_be_due_in_an_hour() -> None:
    fake = Fake(trigger=3600)
    assert [fake.after(seconds) for seconds in (0, 3000, 600, 1)] == [1, 2, 3, 3]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"WATCHDOG_USEC": "60000000"},
        {"NOTIFY_SOCKET": "/run/notify"},
        {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "0"},
        {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"},
    ],
)
def test_without_a_watchdog(variables: dict[str, str]) -> None:
    assert watchdog_of(variables) is None


@pytest.mark.parametrize("abstract", [True, False])
def test_a_message_reaches_systemd(abstract: bool, tmp_path: Path) -> None:
    """In a file or in an abstract socket, as in a container."""
    name = f"@millrace-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name.replace("@", "\0"))
        variables = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}
        watchdog = watchdog_of(variables)
        assert watchdog is not None and watchdog.seconds == 60
        watchdog.send(ALIVE)
        assert systemd.recv(100) == ALIVE


def test_at_most_one_write_a_second_and_each_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others read is a JSON object, also while it is replaced; a directory that is gone ends the writing."""
    written = Status("words", tmp_path / "run")
    (tmp_path / "run").mkdir()
    written.report("words", {"batch": 7, "rows": 3})
    written.step()
    found = json.loads((tmp_path / "run" / "status.json").read_text())
    assert (found["job"], found["state"], found["queries"]) == (
        "words", "starting", [{"query": "words", "batch": 7, "rows": 3}]
    )  # fmt: skip
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["status.json"]
    steps, waits = list[int](), list[float]()
    monkeypatch.setattr(written, "step", lambda: steps.append(1) or (len(steps) == 5 and written.close()))
    monkeypatch.setattr(written._closed, "wait", lambda seconds: waits.append(seconds) or written._closed.is_set())
    monkeypatch.setattr(written._wake, "wait", lambda seconds: True)  # something has always happened
    written.run()
    assert (len(steps), waits) == (5, [1.0] * 5)


@pytest.fixture
def progressed() -> Iterator[Any]:
    """A function that makes the progress of a batch: second at which it began, offsets reached, offsets of the ends."""

    def made(
        second: int, end: dict[str, int], latest: dict[str, int] | None, kind: str = "KafkaV2[Subscribe[t]]"
    ) -> Any:
        source = SimpleNamespace(
            description=kind, endOffset=json.dumps({"t": end}), latestOffset=json.dumps({"t": latest})
        )
        timestamp = f"2026-01-01T00:00:{second:02}.000Z"
        return SimpleNamespace(timestamp=timestamp, batchDuration=500, batchId=second, sources=[source])

    yield made


def test_the_lag_of_a_query(progressed: Any) -> None:
    """Records: what the ends are ahead. Seconds: since the last moment whose end was reached."""
    query, found = QueryFacts(), []
    for second, end, latest in [
        (10, {"0": 5, "1": 0}, {"0": 100, "1": 2}),
        (11, {"0": 90, "1": 2}, {"0": 110, "1": 2}),
        (12, {"0": 105, "1": 2}, {"0": 120, "1": 2}),
        (13, {"0": 120, "1": 2}, {"0": 120, "1": 2}),
    ]:
        facts = query.batch(progressed(second, end, latest), 10, {"state_rows": 4, "state_bytes": 5})
        found.append((facts["lag_records"], facts["lag_seconds"]))
    assert found == [(97, None), (20, None), (15, 2.5), (0, 0.5)]
    assert facts["ended"] == "2026-01-01T00:00:13.500Z"
    assert (facts["batch"], facts["rows"], facts["rows_per_second"], facts["seconds"]) == (13, 10, 20.0, 0.5)
    assert (facts["state_rows"], facts["state_bytes"], facts["watermark"], facts["late"]) == (4, 5, None, None)
    idle = query.idle()
    assert (idle["batch"], idle["lag_records"], idle["lag_seconds"]) == (13, 0, 0.0)


def test_files_have_no_lag(progressed: Any) -> None:
    query = QueryFacts()
    facts = query.batch(progressed(1, {"0": 5}, {"0": 9}, "FileStreamSource[file:/in]"), 1, {})
    assert (facts["lag_records"], facts["lag_seconds"]) == (None, None)
    assert query.idle()["lag_records"] is None


def test_old_ends_are_thinned_out(progressed: Any) -> None:
    query = QueryFacts()
    for number in range(1000):
        query.batch(progressed(0, {"0": 0}, {"0": number + 1}), 1, {})
    assert len(query._ends) <= 201


def test_spark_tells_its_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """A task that ends is seen, and that there is no cluster."""
    activity, gate = SparkActivity(spark), tmp_path / "gate"
    assert (activity.executors(), activity.tasks()) == (None, [])

    def work(number: int) -> int:
        while number > 1 and not gate.exists():
            time.sleep(0.05)
        return number

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: spark.sparkContext.parallelize(range(4), 4).map(work).collect())
        try:
            eventually(lambda: [stage[1] for stage in cast(Any, activity.tasks())], [2])
        finally:
            gate.touch()
        assert future.result(300) == [0, 1, 2, 3]


def test_a_batch_and_its_lag_reach_the_status(
    spark: SparkSession, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From a real query: the records that one batch leaves are the lag of the status."""
    source, sink, lags = broker.topic(), broker.topic(), list[object]()
    broker.send(source, ["a", "b", "c"])
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink, max_offsets_per_trigger=2)
    with status.reported("relay", 1, {}) as current, reported(spark, caplog):
        original = current.report
        current.report = lambda query, facts: (lags.append(facts["lag_records"]), original(query, facts))[1]  # type: ignore[method-assign]
        run(spark, "relay", data)
    facts = current.facts()["queries"]
    assert lags[:2] == [1, 0]
    assert [query["query"] for query in cast(Any, facts)] == ["relay"]


def test_a_running_job_reports_itself(tmp_path: Path) -> None:
    """As its unit starts it: a runtime directory, and a socket of systemd's; then the command shows it."""
    config, directory = write_config(tmp_path), tmp_path / "run" / "job"
    directory.mkdir(parents=True)
    put(tmp_path / "in", "one.txt", "a b a\n")
    (tmp_path / "job.env").write_text("JOB=count_words\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(300)
        variables = {"RUNTIME_DIRECTORY": str(directory), "NOTIFY_SOCKET": str(tmp_path / "notify")}
        variables |= {"WATCHDOG_USEC": "60000000"}
        command = [MILLRACE, "count_words", "--config", str(config)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**environment(), **variables}) as job:
            try:
                assert systemd.recv(100) == ALIVE

                def batch() -> object:
                    queries = json.loads((directory / "status.json").read_text())["queries"]
                    return [(query["batch"], query["rows"], query["state_rows"]) for query in queries]

                eventually(batch, [(0, 1, 2)])
                assert systemd.recv(100) == ALIVE
                arguments = ["status", "--json", "--directory", str(tmp_path), "--runtime", str(tmp_path / "run")]
                path = {**environment(), "PATH": "/nowhere"}  # no systemctl: this machine's units are not asked
                shown = subprocess.run([MILLRACE, *arguments], capture_output=True, text=True, env=path, check=True)
                (facts,) = json.loads(shown.stdout)
                assert (facts["job"], facts["program"], facts["runs_on"]) == ("job", "count_words", "local[2]")
                assert (facts["state"], facts["problem"]) == ("running", None)
                job.send_signal(signal.SIGTERM)
                assert job.wait(120) == 0
            finally:
                job.kill()
    assert "password" not in (directory / "status.json").read_text()


def test_nothing_is_written_without_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with status.reported("words", 1, {}) as current:
        assert status.current() is current
        current.step()
    assert list(tmp_path.iterdir()) == []
    assert status.current() is not current
