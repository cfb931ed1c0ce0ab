"""`millrace-jobs class-data --jars DIRECTORY`: loads the Java classes that jobs use.

A JVM that runs this command can archive the loaded classes (class-data sharing, CDS), so that later starts are faster.
"""

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
    """Run the job count_words on temporary files, then load every class of the jars in the directory `jars`.

    The JVM can write these classes to a class-data archive when it ends. No broker is needed.

    Raises:
        JobError: the directory contains no jars.
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
    """Load each class of the jars in a directory; skip a class that needs a missing library."""
    assert spark._jvm is not None
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in sorted(jars.glob("*.jar")):
        for name in classes(jar):
            with suppress(Py4JError):
                loader.loadClass(name)


def classes(jar: Path) -> Iterator[str]:
    """Yield the names of the classes in a jar, such as `org.example.Thing`.

    Classes for a single version of Java (META-INF/versions) and module-info are skipped.
    """
    with ZipFile(jar) as file:
        for entry in file.namelist():
            name, dot, kind = entry.rpartition(".")
            if dot and kind == "class" and "-" not in name:
                yield name.replace("/", ".")
