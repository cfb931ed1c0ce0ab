"""What class data are made of: the classes that the command `class-data` loads."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from millrace_jobs.class_data import classes

from .built import unpacked
from .helpers import CLASS_DATA, MILLRACE, environment


@pytest.mark.campaign
def test_what_jobs_load_is_loaded(tmp_path: Path) -> None:
    """Of Spark by a job, of Kafka's client and Spark's connector all, without a broker; the JVM ends by itself."""
    loaded = tmp_path / "loaded"
    flags = " ".join(["-XX:TieredStopAtLevel=1", *CLASS_DATA.flags, f"-Xlog:disable -Xlog:class+load:file={loaded}"])
    jars = unpacked("spark-jars-*.tgz")
    done = subprocess.run(
        [MILLRACE, "class-data", "--jars", str(jars)],
        env={**environment(), "SPARK_SUBMIT_OPTS": flags}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = loaded.read_text()
    for name in (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "org.apache.spark.sql.kafka010.KafkaBatchPartitionReader",
        "org.apache.kafka.clients.consumer.KafkaConsumer",
        "org.apache.kafka.common.message.FetchResponseData",
    ):
        assert f"{name} source: " in text


def test_a_folder_without_jars_is_refused(tmp_path: Path) -> None:
    """As by a job."""
    done = subprocess.run(
        [MILLRACE, "class-data", "--jars", str(tmp_path)], env=dict(os.environ), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.partition(";")[0]) == (1, f"jars_directory: {tmp_path} contains no *.jar")


def test_the_classes_of_a_jar(tmp_path: Path) -> None:
    """Not those of one version of Java alone."""
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        for name in ("a/B.class", "a/B$C.class", "META-INF/versions/11/a/B.class", "module-info.class", "a/b.txt"):
            jar.writestr(name, "")
    assert list(classes(tmp_path / "a.jar")) == ["a.B", "a.B$C"]
