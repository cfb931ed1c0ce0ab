"""The console script: `millrace-jobs JOB --config FILE`.

Exit status: 0 after a stop by SIGTERM or SIGINT, 1 when the job failed, 2 when the configuration is refused.
"""

import argparse
import importlib
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from millrace_jobs.config import JOBS, Config, load
from millrace_jobs.errors import ConfigError, JobError

_LOG = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job until it is stopped; return the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        config = load(arguments.job, arguments.config)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.check:
        return 0
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s millrace: %(message)s")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # repeats each failure that the JVM reports
    try:
        _run(config)
    except JobError as error:
        _LOG.error("%s: %s", config.job, error)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:15} {job.summary}" for name, job in JOBS.items())
    parser = argparse.ArgumentParser(
        prog="millrace-jobs",
        description=f"PySpark jobs that feed and read Kafka topics.\n\njobs:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True)
    for name, job in JOBS.items():
        command = jobs.add_parser(name, description=f"{name}: {job.summary}.")
        command.add_argument("--config", type=Path, required=True, metavar="FILE", help="the job's JSON file")
        command.add_argument("--check", action="store_true", help="only say what is wrong with FILE")
    return parser


def _run(config: Config) -> None:
    # Spark takes a second to import: not for --help and --check.
    from millrace_jobs import session
    from millrace_jobs.lifecycle import BatchLog, await_end, errors_of_spark, stop_on_signals
    from millrace_jobs.topics import wait_for_topics

    stopping = Event()
    stop_on_signals(stopping)
    wait_for_topics(config.topics, config.topic_wait_seconds, stopping)
    if stopping.is_set():
        return
    with errors_of_spark():
        spark = session.build(config)
        try:
            stop_on_signals(stopping)  # again: a new session takes SIGINT for itself
            spark.streams.addListener(BatchLog())
            if not stopping.is_set():
                query = importlib.import_module(f"millrace_jobs.jobs.{config.job}").run(spark, config)
                await_end(query, stopping)
        finally:
            spark.stop()
