"""The configuration: what comes out of a good one, and how a file of it is read."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import millrace_jobs
import pytest
from millrace_jobs.config import load, parse
from millrace_jobs.ends import Directory, Topic
from millrace_jobs.errors import ConfigError

from .configured import COUNT, KAFKA, PEM, PUBLISH, SCRAM


def test_a_node_against_kafka() -> None:
    """Little is needed; the topics have the names of Kafka's own word count."""
    config = parse("count_words", COUNT)
    assert config.inputs["input"].end == Topic("streams-plaintext-input", KAFKA)
    assert config.outputs["output"] == Topic("streams-wordcount-output", KAFKA)
    assert config.topics == [config.inputs["input"].end, config.outputs["output"]]
    assert config.checkpoint == "/var/lib/millrace/count"
    assert (config.jars_directory, config.trigger_interval, config.shuffle_partitions) == (None, "1 second", None)
    assert (config.topic_wait_seconds, config.spark) == (300, {})
    assert (config.inputs["input"].max_offsets, config.inputs["input"].max_files) == (200_000, 100)


def test_a_laptop_on_files() -> None:
    """No topic, no Kafka, nothing to wait for."""
    data = {"checkpoint": "/c", "input_directory": "/in", "output_directory": "/out"}
    for job in ("count_words", "publish_lines"):
        config = parse(job, data)
        assert (config.inputs["input"].end, config.outputs["output"]) == (Directory("/in"), Directory("/out"))
        assert config.topics == []


def test_values_that_are_given_are_taken() -> None:
    """Properties become text, spelt as in a properties file; a zero stays a zero."""
    data = {
        **PUBLISH,
        "kafka": {**KAFKA, **SCRAM, **PEM, "security.protocol": "SASL_SSL", "linger.ms": 5, "fetch.max.bytes": 1e7},
        "output_topic": "lines.v1",
        "jars_directory": "/opt/jars",
        "spark": {"spark.ui.enabled": True, "spark.driver.memory": "1g", "spark.memory.fraction": 0.5},
        "trigger_interval": "500 milliseconds",
        "topic_wait_seconds": 0,
    }
    config = parse("publish_lines", data)
    assert config.inputs["input"].end == Directory("/in")
    sink = config.outputs["output"]
    assert isinstance(sink, Topic)
    assert sink.name == "lines.v1"
    assert (sink.client["linger.ms"], sink.client["fetch.max.bytes"]) == ("5", "10000000")
    assert config.jars_directory == "/opt/jars"
    assert config.spark == {
        "spark.ui.enabled": "true", "spark.driver.memory": "1g", "spark.memory.fraction": "0.5",
    }  # fmt: skip
    assert (config.trigger_interval, config.topic_wait_seconds) == ("500 milliseconds", 0)
    assert parse("count_words", {**COUNT, "shuffle_partitions": 3}).shuffle_partitions == 3
    assert parse("count_words", {**COUNT, "max_offsets_per_trigger": 7}).inputs["input"].max_offsets == 7
    assert parse("publish_lines", {**PUBLISH, "max_files_per_trigger": 7}).inputs["input"].max_files == 7


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"checkpoint": "/c",\n}', "line 2: is not JSON"),
        (b"[1]", "contains a list; write one JSON object"),
        (b'{"checkpoint": "\xff"}', "is not UTF-8 text; save it as UTF-8"),
        (b'{"checkpoint": "/a", "checkpoint": "/c"}', "checkpoint: is set more than once; keep one"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested too deeply to be read; write one JSON object"),
        (
            b'{"checkpoint": "/c", "topic_wait_seconds": ' + b"9" * 5000 + b"}",
            "contains a number with too many digits; give a smaller one",
        ),
    ],
)
def test_a_file_that_is_not_one_object(tmp_path: Path, content: bytes, problem: str) -> None:
    """Said with the file's name, and the line where there is one."""
    file = tmp_path / "job.json"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load("count_words", file)
    assert refused.value.problems[0].startswith(f"{file}: {problem}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Said with its name."""
    with pytest.raises(ConfigError, match="nowhere: cannot be read"):
        load("count_words", tmp_path / "nowhere")


def test_load_names_the_file_in_each_problem(tmp_path: Path) -> None:
    """And returns the configuration when there is none."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"kafka": KAFKA, "trigger_interval": ""}))
    with pytest.raises(ConfigError) as refused:
        load("count_words", file)
    assert [line.split(": ")[:2] for line in refused.value.problems] == [
        [str(file), "checkpoint"],
        [str(file), "trigger_interval"],
    ]
    file.write_text(json.dumps(COUNT))
    assert load("count_words", file) == parse("count_words", COUNT)


def test_the_wheel_is_enough_to_check(tmp_path: Path) -> None:
    """A preflight imports `millrace_jobs.config` out of the zip, with no PySpark and no Kafka client around."""
    wheel = tmp_path / "millrace_jobs.whl"
    package = Path(millrace_jobs.__file__).parent
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in package.rglob("*.py"):
            archive.write(file, file.relative_to(package.parent))
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "sys.modules['pyspark'] = sys.modules['py4j'] = sys.modules['confluent_kafka'] = None; "
        "import millrace_jobs.config as config; print(config.problems('count_words', {'checkpoint': '/c'})); "
        "print(config.__file__)"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(wheel)]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True).stdout.splitlines()
    assert shown == [
        "['kafka: is missing, but a topic is used; add it with bootstrap.servers']",
        str(wheel / "millrace_jobs" / "config.py"),
    ]
