"""One Spark session and one broker for all tests of a run."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from millrace_jobs.session import DEFAULTS
from pyspark.sql import SparkSession

from .broker import Broker, running_broker
from .built import BUILD, unpacked
from .database import Server, running_server
from .helpers import CLASS_DATA, MILLRACE, environment, eventually, put, spark_properties, write_config


def pytest_configure(config: pytest.Config) -> None:
    """Measure the CPU seconds of each test, as the other folders of tests do."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from costs import Costs

    config.pluginmanager.register(Costs(config))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the seed of what is chosen by chance, and how much of it; how long outages last."""
    parser.addoption("--kills-seed", type=int, default=1, metavar="N", help="chooses who is killed, and when (1)")
    parser.addoption("--kills-rounds", type=int, default=50, metavar="N", help="how often (50)")
    parser.addoption("--outage-seconds", type=int, default=600, metavar="N", help="how long an outage lasts (600)")


@pytest.fixture(scope="session", autouse=True)
def class_data(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where this Spark and this Java have no class-data archive yet, one job is run for it."""
    if CLASS_DATA.file.exists():
        return
    folder = tmp_path_factory.mktemp("class-data")
    config = write_config(folder)
    put(folder / "in", "one.txt", "a b a\n")
    said = folder / "stderr"
    with (
        said.open("w") as stream,
        subprocess.Popen(
            [MILLRACE, "count_words", "--config", str(config)],
            stderr=stream,
            env=environment(),
            start_new_session=True,
        ) as job,
    ):
        try:
            eventually((folder / "checkpoint" / "commits" / "0").exists, True, 300)
            job.send_signal(signal.SIGTERM)
            job.wait(120)
            eventually(lambda: running(job.pid), False)  # the JVM writes its class data in the end
        finally:
            with suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            print(said.read_text())  # shown where a test cannot begin
    CLASS_DATA.keep()


def running(group: int) -> bool:
    """Whether any process of a group still runs."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            state, _, its_group, *_ = file.read_text().rpartition(")")[2].split()
            if its_group == str(group) and state != "Z":
                return True
    return False


@pytest.fixture(scope="session")
def spark(class_data: None) -> Iterator[SparkSession]:
    """Two tasks at a time, UTC, nothing listening but on loopback; the Kafka connector, if `make archives` built it."""
    connector = (
        unpacked("spark-jars-*.tgz").glob("*.jar") if list((BUILD / "archives").glob("spark-jars-*.tgz")) else ()
    )
    options = {
        **spark_properties(),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.jars": ",".join(map(str, connector)),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        **{name: value for name, value in DEFAULTS.items() if ".stateStore." in name},
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.config(map=dict(options)).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker; each test makes topics of its own."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A real PostgreSQL; each test makes a database of its own."""
    with running_server() as running:
        yield running
