"""One Spark session for all tests of a run."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from .helpers import SPARK


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two tasks at a time, UTC, nothing listening but on loopback."""
    options = {
        **SPARK,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.config(map=dict(options)).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
