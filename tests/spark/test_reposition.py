"""A checkpoint begun anew elsewhere: what the dry run says is what the next start reads."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from millrace_jobs.cli import main
from millrace_jobs.groups import GroupCommitter
from pyspark.sql import SparkSession

from .broker import Broker
from .streams import configured, run

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z in ms


@pytest.fixture
def topics(broker: Broker) -> tuple[str, str]:
    """Where words come from, one an hour in each of two partitions, and where counts go."""
    source = broker.topic(partitions=2)
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for number in (0, 1):
        for hour in range(4):
            producer.produce(source, f"p{number}h{hour}", timestamp=BEGIN + hour * 3_600_000, partition=number)
    assert producer.flush(30) == 0
    return source, broker.topic()


def said(capsys: pytest.CaptureFixture[str], file: Path, *arguments: str) -> tuple[int, list[list[str]], str]:
    """Exit status, the lines on stdout as words, stderr."""
    status = main(["reposition", "count_words", "--config", str(file), *arguments])
    shown = capsys.readouterr()
    return status, [line.split() for line in shown.out.splitlines()], shown.err


def test_a_dry_run_says_what_a_start_reads(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a time and by a group; nothing is changed without --apply, and then the old checkpoint is kept."""
    data = configured(broker, tmp_path / "c", input_topic=topics[0], output_topic=topics[1])
    file = tmp_path / "job.json"
    file.write_text(json.dumps(data))
    run(spark, "count_words", data)
    head = ["topic", "partition", "from", "to", "records", "again", "left", "out"]
    by_time = [
        head,
        [topics[0], "0", "2", "4", "2", "2", "0"],
        [topics[0], "1", "2", "4", "2", "2", "0"],
        ["4", "records", "to", "read,", "4", "of", "them", "again,", "0", "left", "out"],
    ]
    assert said(capsys, file, "--to-time", "2026-01-01T02:00:00Z") == (0, by_time, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "job.json"]

    broker.send(topics[0], ["new"])
    group = GroupCommitter({"bootstrap.servers": broker.servers}, f"g-{topics[0]}")
    group.offer("q", {(topics[0], 0): 5, (topics[0], 1): 3})
    group.close()
    status, lines, problem = said(capsys, file, "--to-group", f"g-{topics[0]}", "--apply")
    assert (status, problem) == (0, "")
    assert lines[1:4] == [
        [topics[0], "0", "5", "5", "0", "0", "1"],
        [topics[0], "1", "3", "4", "1", "1", "0"],
        ["1", "records", "to", "read,", "1", "of", "them", "again,", "1", "left", "out"],
    ]
    (old,) = tmp_path.glob("c.before-*")
    assert (old / "commits" / "0").exists()
    before = len(broker.records(topics[1]))
    broker.send(topics[0], ["newer"])
    run(spark, "count_words", data)
    assert sorted((one.key, one.value) for one in broker.records(topics[1])[before:]) == [("newer", "1"), ("p1h3", "1")]


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--to-time", "yesterday"], 2, "--to-time.timestamp: is no time with its zone; write it like 2026-01-31T"),
        (["--to-group", "nobody"], 1, "group nobody: has no offsets of topic "),
    ],
)
def test_a_start_that_is_none_is_refused(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    arguments: list[str], status: int, problem: str,
) -> None:  # fmt: skip
    """Said, and nothing is changed."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps(configured(broker, tmp_path / "c", input_topic=topics[0], output_topic=topics[1])))
    found, _, shown = said(capsys, file, *arguments, "--apply")
    assert (found, shown[: len(problem)]) == (status, problem)
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]


def test_records_that_are_gone_are_no_start(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A group that stands before the first record that is left."""
    group = GroupCommitter({"bootstrap.servers": broker.servers}, f"g-{topics[0]}")
    group.offer("q", {(topics[0], 0): 1})
    group.close()
    broker.delete_before(topics[0], 3)
    file = tmp_path / "job.json"
    file.write_text(json.dumps(configured(broker, tmp_path / "c", input_topic=topics[0], output_topic=topics[1])))
    status, _, shown = said(capsys, file, "--to-group", f"g-{topics[0]}")
    assert (status, shown) == (
        1,
        f"input: topic {topics[0]} partition 0 holds offsets 3 to 4, and 1 is asked for; give another start\n",
    )
