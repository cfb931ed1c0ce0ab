"""A checkpoint begun anew elsewhere: what the dry run says is what the next start reads."""

import json
import os
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from millrace_jobs import commands
from millrace_jobs.cli import main
from millrace_jobs.config import parse
from millrace_jobs.groups import GroupCommitter
from millrace_jobs.lease import lock
from millrace_jobs.positions import has_begun
from millrace_jobs.reposition import finish
from millrace_jobs.starts import stored_start
from pyspark.sql import SparkSession

from .broker import Broker
from .streams import configured, run

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z in ms


@pytest.fixture
def topics(broker: Broker) -> tuple[str, str]:
    """An input topic with one word an hour in each of two partitions, and an output topic."""
    source = broker.topic(partitions=2)
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for number in (0, 1):
        for hour in range(4):
            producer.produce(source, f"p{number}h{hour}", timestamp=BEGIN + hour * 3_600_000, partition=number)
    assert producer.flush(60) == 0
    return source, broker.topic()


def said(capsys: pytest.CaptureFixture[str], file: Path, *arguments: str) -> tuple[int, list[list[str]], str]:
    """Exit status, the lines on stdout as words, stderr."""
    status = main(["reposition", "relay", "--config", str(file), *arguments])
    shown = capsys.readouterr()
    return status, [line.split() for line in shown.out.splitlines()], shown.err


def test_a_dry_run_says_what_a_start_reads(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a time and by a group; nothing is changed without --apply, and then the old checkpoint is kept."""
    data = configured(broker, tmp_path / "c", input_topic=topics[0], output_topic=topics[1])
    file = tmp_path / "job.json"
    file.write_text(json.dumps(data))
    run(spark, "relay", data)
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
    run(spark, "relay", data)
    assert sorted(str(one.value) for one in broker.records(topics[1])[before:]) == ["newer", "p1h3"]


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (
            ["--to-time", "yesterday"],
            2,
            "--to-time.timestamp: is not a time with a time zone; write it like 2026-01-31T",
        ),
        (["--to-time", "1969-12-31T23:59:59.999Z"], 2, "--to-time.timestamp: is before 1970; give a later time, "),
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
        f"input: topic {topics[0]} partition 0 holds offsets 3 to 4, but the start is 1; give another start\n",
    )


def begun(checkpoint: Path, topic: str) -> None:
    """A checkpoint that has read one record of each partition."""
    for folder, text in (("offsets", f'v1\n{{}}\n{{"{topic}":{{"0":1,"1":1}}}}'), ("commits", "v1\n{}")):
        (checkpoint / folder).mkdir(parents=True)
        (checkpoint / folder / "0").write_text(text)


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_killed_reposition_leaves_the_old_or_the_new(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """Never a checkpoint that begins where only the configuration says."""
    file, checkpoint = tmp_path / "job.json", tmp_path / "c"
    data = configured(broker, checkpoint, input_topic=topics[0], output_topic=topics[1])
    file.write_text(json.dumps(data))
    begun(checkpoint, topics[0])
    rename, done = Path.rename, list[Path]()

    def dying(self: Path, target: Path) -> Path:
        if len(done) == renames:
            raise KeyboardInterrupt
        done.append(self)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", dying)
    with pytest.raises(KeyboardInterrupt):
        main(["reposition", "relay", "--config", str(file), "--to-latest", "--apply"])
    monkeypatch.undo()
    config = parse("relay", data)
    finish(config)
    finish(config)
    expected = None if renames < 2 else {topics[0]: {"0": 4, "1": 4}}
    left = stored_start(str(checkpoint), config.inputs["input"])
    assert (left and json.loads(left)) == expected
    assert has_begun(str(checkpoint)) == (renames < 2)
    assert len([*tmp_path.glob("c.before-*")]) == (renames == 2)
    assert not (tmp_path / "c.new").exists()


def test_a_running_job_keeps_its_checkpoint(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would write into a folder that is not its own any more; a second process of it is refused as well."""
    file, checkpoint = tmp_path / "job.json", tmp_path / "c"
    data = {**configured(broker, checkpoint, input_topic=topics[0], output_topic=topics[1]), "spark": {"spark.x": 1}}
    file.write_text(json.dumps(data))
    refused = f"checkpoint: a process uses {checkpoint}; stop the job first\n"
    with lock(str(checkpoint)):
        status, lines, problem = said(capsys, file, "--to-latest", "--apply")
        assert (status, len(lines), problem) == (1, 4, refused)
        assert main(["relay", "--config", str(file)]) == 1
    assert [path.name for path in checkpoint.iterdir()] == [".lease"]
    assert said(capsys, file, "--to-latest", "--apply")[0] == 0


def test_a_new_checkpoint_belongs_to_whom_the_old_one_did(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where root asks for it: the job could not write into root's."""
    file, checkpoint = tmp_path / "job.json", tmp_path / "c"
    file.write_text(json.dumps(configured(broker, checkpoint, input_topic=topics[0], output_topic=topics[1])))
    checkpoint.mkdir(mode=0o750)
    user = 65534 if os.getuid() == 0 else os.getuid()
    os.chown(checkpoint, user, -1)
    assert said(capsys, file, "--to-latest", "--apply")[0] == 0
    assert {path.stat().st_uid for path in (checkpoint, *checkpoint.rglob("*"))} == {user}
    assert (checkpoint / f"starts-{topics[0]}").exists()
    assert checkpoint.stat().st_mode & 0o777 == 0o750


def test_the_order_of_topics_means_nothing(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was left for the next start is found whichever of them is named first, or came since."""
    file, out, more = tmp_path / "job.json", str(tmp_path / "out"), broker.topic()
    data = configured(broker, tmp_path / "c", input_topics=[*topics], output_directory=out)
    file.write_text(json.dumps(data))
    assert main(["reposition", "archive_events", "--config", str(file), "--to-latest", "--apply"]) == 0
    config = parse("archive_events", {**data, "input_topics": [more, topics[1], topics[0]]})
    found = stored_start(str(tmp_path / "c"), config.inputs["input"])
    assert json.loads(found or "") == {topics[0]: {"0": 4, "1": 4}, topics[1]: {"0": 0}, more: {"0": -2}}


UNIT = "0::/system.slice/system-spark\\x2djob.slice/spark-job@words.service\n"


@pytest.mark.parametrize(
    ("groups", "around"),
    [
        (UNIT, "systemctl stop spark-job@words.service && {} && systemctl start spark-job@words.service"),
        (f"2:cpu:/\n1:name=systemd:{UNIT[3:]}",
         "systemctl stop spark-job@words.service && {} && systemctl start spark-job@words.service"),
        ("0::/system.slice/ssh.service\n", "stop the job, {}"),
        ("0::/system.slice/spark-job@others.service\n", "stop the job, {}"),
        ("", "stop the job, {}"),
    ],
)  # fmt: skip
def test_the_command_of_a_message_can_be_pasted(groups: str, around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the whole paths, and the unit if the process runs in one of its own."""
    program, options = "/opt/spark-job/current/bin/millrace-jobs", "--to-earliest --apply"
    monkeypatch.setattr(sys, "argv", [program, "count_words"])
    monkeypatch.setattr(commands, "_text", lambda path: groups)
    with commands.started("count_words", Path("/etc/spark-job/words.json")):
        message = commands.reposition("a query", options)
    assert message == around.format(f"{program} reposition count_words --config /etc/spark-job/words.json {options}")
    assert (
        commands.reposition("relay", options) == f"stop the job, millrace-jobs reposition relay --config FILE {options}"
    )
