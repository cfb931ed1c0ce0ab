"""Builds the Spark session of a job."""

import os
from importlib.resources import files
from pathlib import Path

from pyspark.sql import SparkSession

from millrace_jobs.config import Config
from millrace_jobs.errors import JobError

_STATE = "org.apache.spark.sql.execution.streaming.state"
DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # No extensions from the class path: MLlib's makes Scala use reflection at each start.
    "spark.sql.extensions.test.loadFromCp": "false",
    "spark.sql.adaptive.enabled": "false",  # Spark turns it off for a stateful stream, with a warning
    "spark.sql.streaming.metricsEnabled": "true",
    # State outside the heap, stored as changes. A checkpoint that began with another kind of store keeps it.
    "spark.sql.streaming.stateStore.providerClass": f"{_STATE}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
# Most code of Spark runs a few thousand times: at a start and in the planning of a batch. A threshold three times as
# high avoids compiling it, a quarter of a start's CPU. The code that processes rows is still compiled, a moment later.
_COMPILER = "-XX:CompileThresholdScaling=3"
# Metaspace before the garbage collector first unloads classes. The default, 21 MiB, is reached during a start.
_CLASSES = "-XX:MetaspaceSize=64m"
# The JVM that only builds the command line of the main JVM, and ends.
_LAUNCHER, _LAUNCHER_FLAGS = "SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CLASS_PATH = "SPARK_DIST_CLASSPATH"
# Otherwise the driver listens on the address of the first network card.
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def build(config: Config) -> SparkSession:
    """Return the Spark session for a job; `config.spark` overrides `DEFAULTS`, and the time zone is always UTC.

    Raises:
        JobError: the directory `config.jars_directory` contains no jar.
    """
    properties = {**DEFAULTS, **config.spark}
    if properties["spark.master"].startswith("local"):
        properties = {**_LOCAL, **properties}
    properties["spark.sql.session.timeZone"] = "UTC"
    log_options = f"-Dlog4j2.configurationFile={files('millrace_jobs') / 'log4j2.properties'} -Duser.timezone=UTC"
    properties.setdefault("spark.driver.defaultJavaOptions", f"{log_options} {_CLASSES} {_COMPILER}")
    properties.setdefault("spark.executor.defaultJavaOptions", log_options)  # the same release is on each worker
    os.environ.setdefault(_LAUNCHER, _LAUNCHER_FLAGS)
    if config.jars_directory is not None:
        jars = _jars(config.jars_directory)
        if properties["spark.master"].startswith("local") and os.pathsep not in config.jars_directory:
            # After Spark's own jars. spark.jars would copy each jar at every start, outside of class-data archives.
            os.environ[_CLASS_PATH] = os.pathsep.join([*filter(None, [os.environ.get(_CLASS_PATH)]), *jars])
        else:
            properties["spark.jars"] = ",".join(jars)
    spark = SparkSession.builder.appName(f"millrace {config.job}").config(map=dict(properties)).getOrCreate()
    # A checkpoint keeps the number with which it began. The default of 200 costs seconds a batch on one node.
    partitions = config.shuffle_partitions or spark.sparkContext.defaultParallelism
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    return spark


def _jars(directory: str) -> list[str]:
    jars = sorted(str(jar) for jar in Path(directory).glob("*.jar"))
    if not jars:
        raise JobError(f"jars_directory: {directory} contains no *.jar; put the Kafka connector's jars there")
    return jars
