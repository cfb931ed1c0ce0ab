"""`millrace-jobs class-data --jars DIRECTORY`: loads the classes of jobs, for a class-data archive of the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from zipfile import ZipFile

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from millrace_jobs import runtime, session
from millrace_jobs.config import parse
from millrace_jobs.lifecycle import BatchLog


def load(jars: Path) -> None:
    """Run a job on files of its own, then load every class of the jars; no broker is needed.

    Raises:
        JobError: there are no jars.
    """
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "in").mkdir()
        (folder / "in" / "one.txt").write_text("a b a\n")
        config = parse(
            "count_words",
            {
                "checkpoint": str(folder / "checkpoint"),
                "input_directory": str(folder / "in"),
                "output_directory": str(folder / "out"),
                "jars_directory": str(jars),
                "spark": {"spark.driver.memory": "512m"},
            },
        )
        spark = session.build(config)
        try:
            spark.streams.addListener(BatchLog())
            (running,) = runtime.start(spark, config, Event())
            running.query.processAllAvailable()
            running.query.stop()
            _load_classes(spark, jars)
        finally:
            spark.stop()


def _load_classes(spark: SparkSession, jars: Path) -> None:
    """Load each class, except those that need a missing library."""
    assert spark._jvm is not None
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in sorted(jars.glob("*.jar")):
        for name in classes(jar):
            with suppress(Py4JError):
                loader.loadClass(name)


def classes(jar: Path) -> Iterator[str]:
    """Return the class names of a jar, without version-specific ones and without module-info."""
    with ZipFile(jar) as file:
        for entry in file.namelist():
            name, dot, kind = entry.rpartition(".")
            if dot and kind == "class" and "-" not in name:
                yield name.replace("/", ".")
