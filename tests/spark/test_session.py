"""What the session refuses before it starts a JVM, and what it starts it with."""

import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from millrace_jobs import session
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.session import build

from .helpers import files_config

OTHERS, CLASS_PATH, LAUNCHER = "/opt/others/*", "SPARK_DIST_CLASSPATH", "SPARK_LAUNCHER_OPTS"


@pytest.mark.parametrize("name", ["empty", "nowhere"])
def test_a_jars_directory_without_jars_is_refused(tmp_path: Path, name: str) -> None:
    """Spark itself would only say later that it does not know Kafka."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README").write_text("no jar")
    config = parse("count_words", {**files_config(tmp_path), "jars_directory": str(tmp_path / name)})
    with pytest.raises(JobError, match=rf"^jars_directory: {tmp_path / name} contains no \*\.jar; "):
        build(config)


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """What takes the properties of a session, and starts none."""
    fake = MagicMock()
    monkeypatch.setattr(session, "SparkSession", fake)
    return fake.builder.appName.return_value.config


@pytest.mark.parametrize(
    ("master", "folder", "behind"),
    [("local[2]", "jars", True), ("spark://a:7077", "jars", False), ("local[2]", "a:b", False)],
)
def test_where_jars_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder: MagicMock, master: str, folder: str, behind: bool
) -> None:
    """In one JVM behind its own, so that its class-data archive has them; executors elsewhere get copies.

    A class path cannot name a folder with a colon.
    """
    monkeypatch.setenv(CLASS_PATH, OTHERS)
    (tmp_path / folder).mkdir()
    jars = [str(tmp_path / folder / f"{name}.jar") for name in "ab"]
    for jar in jars:
        Path(jar).touch()
    keys = {"jars_directory": str(tmp_path / folder), "spark": {"spark.master": master}}
    build(parse("count_words", {**files_config(tmp_path), **keys}))
    assert builder.call_args.kwargs["map"].get("spark.jars") == (None if behind else ",".join(jars))
    assert os.environ[CLASS_PATH] == (":".join([OTHERS, *jars]) if behind else OTHERS)


def test_flags_of_the_jvm(tmp_path: Path, builder: MagicMock) -> None:
    """The jobs' own are Spark's default ones, so that what a job adds comes after them."""
    own = "spark.driver.defaultJavaOptions"
    build(parse("count_words", files_config(tmp_path)))
    assert builder.call_args.kwargs["map"][own].split()[-2:] == [
        "-XX:MetaspaceSize=64m",
        "-XX:CompileThresholdScaling=3",
    ]
    build(parse("count_words", {**files_config(tmp_path), "spark": {own: "-Da=b"}}))
    assert builder.call_args.kwargs["map"][own] == "-Da=b"


@pytest.mark.parametrize(
    ("said", "told"), [(None, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"), ("-Xshare:off", "-Xshare:off")]
)
def test_flags_of_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder: MagicMock, said: str | None, told: str
) -> None:
    """The JVM that ends with a command line compiles little; what the environment says wins."""
    monkeypatch.setenv(LAUNCHER, said or "")
    if said is None:
        monkeypatch.delenv(LAUNCHER)
    build(parse("count_words", files_config(tmp_path)))
    assert os.environ[LAUNCHER] == told


@pytest.mark.parametrize(("said", "told"), [({}, "false"), ({"spark.sql.extensions.test.loadFromCp": "true"}, "true")])
def test_extensions_of_the_class_path(tmp_path: Path, builder: MagicMock, said: dict[str, str], told: str) -> None:
    """None unless a job wants them: MLlib's costs each start."""
    build(parse("count_words", {**files_config(tmp_path), "spark": said}))
    assert builder.call_args.kwargs["map"]["spark.sql.extensions.test.loadFromCp"] == told
