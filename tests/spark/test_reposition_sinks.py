"""A reposition of a job whose sink holds offsets: what the next start would refuse is refused before."""

import json
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Producer
from millrace_jobs.cli import main
from millrace_jobs.ends import Topic
from millrace_jobs.topics import topic_id

from .broker import Broker
from .database import Server
from .streams import configured

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z in ms
MISSING = "the records between would be missing; give an earlier start, or if they are lost confirm that first: "


@pytest.fixture
def topic(broker: Broker) -> str:
    """Five records, one an hour."""
    name = broker.topic()
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for hour in range(5):
        producer.produce(name, "{}", timestamp=BEGIN + hour * 3_600_000, partition=0)
    assert producer.flush(60) == 0
    return name


def said(job: str, file: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit status and stderr."""
    status = main(["reposition", job, "--config", str(file), *arguments])
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--to-latest"], ["--to-latest", "--apply"], ["--to-time", "2026-01-01T03:00:00Z"]]
)
def test_a_gap_in_a_database_is_refused(
    broker: Broker, topic: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Nothing is changed; a start that leaves none is taken."""
    file = of_database(broker, topic, server.database("orders"), tmp_path, 2)
    to = 5 if "--to-latest" in arguments else 3
    status, problem = said("project_orders", file, capsys, *arguments)
    assert (status, problem) == (
        1,
        f"project_orders: the database holds topic {topic} partition 0 up to offset 2, but the start is {to}: {MISSING}"
        f"UPDATE job_positions SET until_offset = {to} WHERE query = 'project_orders' AND topic = '{topic}' "
        "AND partition = 0\n",
    )
    assert not (tmp_path / "c").exists()
    assert said("project_orders", file, capsys, "--to-time", "2026-01-01T02:00:00Z", "--apply") == (0, "")


def of_database(broker: Broker, topic: str, database: dict[str, str], folder: Path, until: int) -> Path:
    """A configuration whose database holds the first records."""
    with psycopg.connect(**database) as connection:
        connection.execute(
            "INSERT INTO job_positions VALUES ('project_orders', %s, %s, 0, 0, %s)",
            (topic, topic_id(Topic(topic, {"bootstrap.servers": broker.servers})), until),
        )
    file = folder / "job.json"
    file.write_text(json.dumps(configured(broker, folder / "c", input_topic=topic, database=database)))
    return file


def test_the_way_out_of_an_outage_longer_than_retention(
    broker: Broker, topic: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the error says is what to do."""
    database = server.database("orders")
    file = of_database(broker, topic, database, tmp_path, 2)
    broker.delete_before(topic, 4)
    status, problem = said("project_orders", file, capsys, "--to-earliest", "--apply")
    assert (status, problem.count("\n")) == (1, 1)
    with psycopg.connect(**database) as connection:
        connection.execute(problem.partition("confirm that first: ")[2].encode())
    assert said("project_orders", file, capsys, "--to-earliest", "--apply") == (0, "")
    assert json.loads((tmp_path / "c" / f"starts-{topic}").read_text()) == {topic: {"0": 4}}


def test_a_database_without_tables_holds_nothing_and_one_that_is_away_is_asked_again(
    broker: Broker, topic: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.json"
    data = configured(broker, tmp_path / "c", input_topic=topic, database=server.database())
    file.write_text(json.dumps(data))
    assert said("project_orders", file, capsys, "--to-latest") == (0, "")
    file.write_text(json.dumps(data | {"database": {"host": str(tmp_path), "dbname": "d", "user": "u"}}))
    status, problem = said("project_orders", file, capsys, "--to-latest")
    assert (status, problem.partition("(")[0]) == (1, "database: does not answer ")


def test_a_topic_made_anew_is_refused(
    broker: Broker, topic: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the words of the start: no reposition helps."""
    database = server.database("orders")
    file = of_database(broker, topic, database, tmp_path, 2)
    with psycopg.connect(**database) as connection:
        connection.execute("UPDATE job_positions SET topic_id = 'another'")
    status, problem = said("project_orders", file, capsys, "--to-earliest")
    assert (status, problem.partition(" since")[0]) == (
        1,
        f"project_orders: topic {topic} was deleted and recreated",
    )


def test_a_gap_in_an_archive_is_refused(
    broker: Broker, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And so is a topic that was made anew; one that the archive does not know yet is taken."""
    file, out, new = tmp_path / "job.json", tmp_path / "out", broker.topic()
    data = configured(broker, tmp_path / "c", input_topics=[topic, new], output_directory=str(out))
    file.write_text(json.dumps(data))
    (out / "_positions").mkdir(parents=True)
    now = topic_id(Topic(topic, {"bootstrap.servers": broker.servers}))
    (out / "_positions" / topic).write_text(json.dumps({"topic_id": now, "until": {"0": 2}}))
    assert said("archive_events", file, capsys, "--to-latest", "--apply") == (
        1,
        f"archive_events: the archive holds topic {topic} partition 0 up to offset 2, but the start is 5: {MISSING}"
        f'write "0": 5 under "until" of {out}/_positions/{topic}\n',
    )
    assert not (tmp_path / "c").exists()
    assert said("archive_events", file, capsys, "--to-earliest") == (0, "")
    (out / "_positions" / topic).write_text(json.dumps({"topic_id": "another", "until": {"0": 2}}))
    status, problem = said("archive_events", file, capsys, "--to-earliest")
    assert (status, problem.partition(" since")[0]) == (1, f"archive_events: topic {topic} was deleted and recreated")
