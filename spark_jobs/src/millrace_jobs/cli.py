"""The console script: `millrace-jobs JOB --config FILE`, and the commands of the dict `_COMMANDS`.

Exit status: 0 after success or a stop by SIGTERM or SIGINT, 1 if the job or command failed (`status`: if a job has a
problem), 2 if the configuration or the arguments are refused.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from millrace_jobs import commands, status
from millrace_jobs.config import JOBS, Config, load
from millrace_jobs.errors import BrokersUnavailable, ConfigError, JobError, Stopped
from millrace_jobs.parts import PostgresSink

_LOG = logging.getLogger(__name__)
_COMMANDS = {
    "status": "show all jobs of this host: state, last batch, lag",
    "new-job": "write the two files of a new job",
    "reposition": "make a job continue from other offsets; without --apply only show the records",
    "class-data": "load the classes of jobs, for a JVM that writes a class-data archive",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job or command that `argv` names and return the exit status; the default is the command line."""
    arguments = _parser().parse_args(argv)
    if arguments.job == "new-job":
        return _new_job(arguments.name)
    if arguments.job == "class-data":
        return _class_data(arguments.jars)
    if arguments.job == "status":
        return _status(arguments.directory, arguments.runtime, arguments.json)
    name = arguments.of if arguments.job == "reposition" else arguments.job
    try:
        config = load(name, arguments.config)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.job == "reposition":
        return _reposition(config, arguments)
    if arguments.check:
        return 0
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s millrace: %(message)s")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it would repeat each failure that the JVM reports
    try:
        with commands.started(name, arguments.config):
            if getattr(arguments, "migrate", False):
                _migrate(config, arguments.rights_of, arguments.pending)
            else:
                with status.reported(arguments.config.stem, config.trigger_seconds):
                    _run(config)
    except Stopped as reason:
        _LOG.info("%s: %s", config.job, reason)
    except JobError as error:
        _LOG.error("%s: %s", config.job, error)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:18} {job.summary}" for name, job in JOBS.items())
    commands = "\n".join(f"  {name:18} {summary}" for name, summary in _COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="millrace-jobs",
        description=f"PySpark jobs that feed and read Kafka topics.\n\njobs:\n{listing}\n\ncommands:\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True)
    for name, job in JOBS.items():
        command = jobs.add_parser(name, description=f"{name}: {job.summary}.")
        command.add_argument("--config", type=Path, required=True, metavar="FILE", help="the job's JSON file")
        command.add_argument("--check", action="store_true", help="only report what is wrong with FILE")
        if any(isinstance(part, PostgresSink) for part in job.outputs):
            help_text = "only bring the database's schema to the version of this release"
            command.add_argument("--migrate", action="store_true", help=help_text)
            help_text = "with --migrate: the user that runs the job; it is granted the rights that it needs"
            command.add_argument("--rights-of", metavar="USER", help=help_text)
            command.add_argument(
                "--pending", action="store_true", help="with --migrate: only report what would be changed"
            )
    new = jobs.add_parser("new-job", description="new-job: write the module and the test of a new job.")
    new.add_argument("name", metavar="NAME", help="a verb and a noun, like count_words")
    description = "class-data: run a job on files of its own, load every class of the jars, and end."
    archive = jobs.add_parser("class-data", description=description)
    archive.add_argument("--jars", type=Path, required=True, metavar="DIRECTORY", help="jars_directory of the jobs")
    _add_status(jobs)
    _add_reposition(jobs)
    return parser


def _add_status(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    description = "status: show all jobs of this host. Exit status 0: all are well, 1: a job has a problem."
    command = commands.add_parser("status", description=description)
    command.add_argument("--json", action="store_true", help="print a JSON list, for programs")
    help_text = "the jobs' configuration files (default: %(default)s)"
    command.add_argument("--directory", type=Path, default="/etc/spark-job", metavar="DIRECTORY", help=help_text)
    help_text = "the jobs' status files (default: %(default)s)"
    command.add_argument("--runtime", type=Path, default="/run/spark-job", metavar="DIRECTORY", help=help_text)


def _add_reposition(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    description = "reposition: show which records a job would read with a fresh checkpoint; with --apply create it."
    command = commands.add_parser("reposition", description=description)
    command.add_argument("of", choices=[name for name, job in JOBS.items() if job.inputs], metavar="JOB")
    command.add_argument("--config", type=Path, required=True, metavar="FILE", help="the job's JSON file")
    to = command.add_mutually_exclusive_group()
    to.add_argument(
        "--to-group", metavar="GROUP", help="start at the offsets of a consumer group, such as one of a mirror"
    )
    to.add_argument("--to-time", metavar="TIME", help="start at a time with a time zone, like 2026-01-31T12:00:00Z")
    to.add_argument("--to-earliest", action="store_true", help="start at the first remaining records")
    to.add_argument("--to-latest", action="store_true", help="start at the end: skip all existing records")
    command.add_argument("--apply", action="store_true", help="set the old checkpoint aside; the job must be stopped")


def _reposition(config: Config, arguments: argparse.Namespace) -> int:
    from millrace_jobs import reposition

    try:
        start = reposition.start_argument(arguments)
        moves = reposition.moves(config, start)
        print("\n".join(reposition.table(moves)))
        if arguments.apply:
            old = reposition.apply(config, moves)
            print(f"the old checkpoint is {old}" if old else "there was no checkpoint")
            print("the next start begins at these offsets; they override the start in the configuration")
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except JobError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _new_job(name: str) -> int:
    from millrace_jobs.new_job import new_job

    try:
        print("\n".join(str(file) for file in new_job(name, Path.cwd())))
    except JobError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _status(directory: Path, runtime: Path, as_json: bool) -> int:
    from millrace_jobs import host_status

    try:
        jobs = host_status.read(directory, runtime)
    except JobError as error:
        print(error, file=sys.stderr)
        return 2
    print(host_status.as_json(jobs) if as_json else "\n".join(host_status.table(jobs)))
    return int(any(job["problem"] for job in jobs))


def _class_data(jars: Path) -> int:
    from millrace_jobs.class_data import load

    try:
        load(jars)
    except JobError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run(config: Config) -> None:
    from millrace_jobs import lease, reposition
    from millrace_jobs.signals import stop_on_signals
    from millrace_jobs.topics import wait_for_topics

    job, stopping = JOBS[config.job], Event()
    stop_on_signals(stopping)
    wait_for_topics(config.topics, config.topic_wait_seconds, stopping)
    if stopping.is_set():
        return
    if job.loop is not None:
        status.current().enter(status.RUNNING)
        job.loop(config.parameters, config.outputs, stopping)
    else:
        reposition.finish(config)
        with lease.lock(config.checkpoint):
            _run_queries(config, stopping)


def _run_queries(config: Config, stopping: Event) -> None:
    # Imported here because Spark takes a second: --help, --check and jobs without Spark do not need it.
    from millrace_jobs import runtime, session
    from millrace_jobs.activity import SparkActivity
    from millrace_jobs.groups import GroupCommitter
    from millrace_jobs.lifecycle import BatchLog, await_end, errors_of_spark
    from millrace_jobs.outage import KafkaWatch
    from millrace_jobs.signals import stop_on_signals
    from millrace_jobs.topics import admin_properties, wait_for_topics

    client, queries = admin_properties(config.kafka), len(JOBS[config.job].outputs)
    group = GroupCommitter(client, config.group, queries) if config.group else None
    input_topics = [topic.name for source in config.inputs.values() for topic in source.topics]
    watch = KafkaWatch(client, input_topics or [config.topics[0].name]) if config.topics else None
    with errors_of_spark():
        spark = session.build(config)
        try:
            stop_on_signals(stopping)  # again: a new session replaces the handler of SIGINT
            status.current().watch(SparkActivity(spark))
            log = BatchLog(group)
            spark.streams.addListener(log)
            while not stopping.is_set():
                ending = Event()
                running = runtime.start(spark, config, stopping, ending)
                log.add_queries(running)
                status.current().enter(status.RUNNING)
                try:
                    await_end(running, stopping, ending, watch if input_topics else None)
                except BrokersUnavailable as error:
                    _LOG.warning("%s; the job continues once they answer", error)
                    assert watch is not None
                    watch.await_answer(stopping)
                    wait_for_topics(config.topics, config.topic_wait_seconds, stopping)
                finally:
                    if group is not None:
                        log.report_last(running)
        finally:
            if watch is not None:
                watch.close()
            if group is not None:
                group.close()
            status.current().watch(None)
            spark.stop()


def _migrate(config: Config, user: str | None, pending: bool) -> None:
    import psycopg

    from millrace_jobs.ends import Database
    from millrace_jobs.migration import migrate

    for part in JOBS[config.job].outputs:
        end = config.outputs[part.name]
        if isinstance(part, PostgresSink) and isinstance(end, Database):
            try:
                lines = migrate(end, part, user, pending)
            except psycopg.Error as error:
                raise JobError(f"database: {' '.join(str(error).split())}") from error
            print("\n".join(lines) or "nothing to apply")
