"""The console script: `millrace-jobs JOB --config FILE`, and the commands `new-job`, `reposition`, `class-data`.

Exit status: 0 after a stop by SIGTERM or SIGINT, 1 when the job failed, 2 when the configuration is refused.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from millrace_jobs.config import JOBS, Config, load
from millrace_jobs.errors import Away, ConfigError, JobError, Stopped
from millrace_jobs.parts import PostgresSink

_LOG = logging.getLogger(__name__)
_COMMANDS = {
    "new-job": "write the two files of a new job",
    "reposition": "let a job read on from other offsets; first say which records that means",
    "class-data": "load what jobs load, for the class-data archive of a JVM that makes one",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job until it is stopped; return the exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.job == "new-job":
        return _new_job(arguments.name)
    if arguments.job == "class-data":
        return _class_data(arguments.jars)
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
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # repeats each failure that the JVM reports
    try:
        if getattr(arguments, "migrate", False):
            _migrate(config, arguments.rights_of, arguments.pending)
        else:
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
        command.add_argument("--check", action="store_true", help="only say what is wrong with FILE")
        if any(isinstance(part, PostgresSink) for part in job.outputs):
            text = "only bring the database's schema to what this release knows"
            command.add_argument("--migrate", action="store_true", help=text)
            text = "beside --migrate: who runs the job, and is given the rights that it needs"
            command.add_argument("--rights-of", metavar="USER", help=text)
            command.add_argument("--pending", action="store_true", help="beside --migrate: only say what lacks")
    new = jobs.add_parser("new-job", description="new-job: write the module and the test of a new job.")
    new.add_argument("name", metavar="NAME", help="a verb and a noun, as count_words")
    text = "class-data: run a job on files of its own, load every class of the jars, and end."
    archive = jobs.add_parser("class-data", description=text)
    archive.add_argument("--jars", type=Path, required=True, metavar="DIRECTORY", help="jars_directory of the jobs")
    _add_reposition(jobs)
    return parser


def _add_reposition(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    text = "reposition: say which records a job would read with a fresh checkpoint, and with --apply give it one."
    command = commands.add_parser("reposition", description=text)
    command.add_argument("of", choices=[name for name, job in JOBS.items() if job.inputs], metavar="JOB")
    command.add_argument("--config", type=Path, required=True, metavar="FILE", help="the job's JSON file")
    to = command.add_mutually_exclusive_group()
    to.add_argument("--to-group", metavar="GROUP", help="begin where a consumer group stands, as one of a mirror")
    to.add_argument("--to-time", metavar="TIME", help="begin at a time with its zone, as 2026-01-31T12:00:00Z")
    to.add_argument("--to-earliest", action="store_true", help="begin with the first records that are left")
    to.add_argument("--to-latest", action="store_true", help="leave out all that is there")
    command.add_argument("--apply", action="store_true", help="put the checkpoint aside; the job has to be stopped")


def _reposition(config: Config, arguments: argparse.Namespace) -> int:
    from millrace_jobs import reposition

    try:
        start = reposition.asked(arguments)
        found = reposition.moves(config, start)
        print("\n".join(reposition.table(found)))
        if arguments.apply:
            old = reposition.apply(config, found)
            print(f"the checkpoint that was there is {old}" if old else "there was no checkpoint")
            print("the next start begins there, whatever the configuration's start says")
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
        job.loop(config.parameters, config.outputs, stopping)
    else:
        reposition.finish(config)
        with lease.held(config.checkpoint):
            _run_queries(config, stopping)


def _run_queries(config: Config, stopping: Event) -> None:
    # Spark takes a second to import: not for --help and --check, and not for a job without it.
    from millrace_jobs import runtime, session
    from millrace_jobs.groups import GroupCommitter
    from millrace_jobs.lifecycle import BatchLog, await_end, errors_of_spark
    from millrace_jobs.outage import KafkaWatch
    from millrace_jobs.signals import stop_on_signals
    from millrace_jobs.topics import admin_properties, wait_for_topics

    client, queries = admin_properties(config.kafka), len(JOBS[config.job].outputs)
    group = GroupCommitter(client, config.group, queries) if config.group else None
    reads = [topic.name for one in config.inputs.values() for topic in one.topics]
    watch = KafkaWatch(client, reads or [config.topics[0].name]) if config.topics else None
    with errors_of_spark():
        spark = session.build(config)
        try:
            stop_on_signals(stopping)  # again: a new session takes SIGINT for itself
            log = BatchLog(group)
            spark.streams.addListener(log)
            while not stopping.is_set():
                ending = Event()
                running = runtime.start(spark, config, stopping, ending)
                log.know(running)
                try:
                    await_end(running, stopping, ending, watch if reads else None)
                except Away as away:
                    _LOG.warning("%s; it begins again once they answer", away)
                    assert watch is not None
                    watch.await_answer(stopping)
                    wait_for_topics(config.topics, config.topic_wait_seconds, stopping)
                finally:
                    if group is not None:
                        log.tell_last(running)
        finally:
            if watch is not None:
                watch.close()
            if group is not None:
                group.close()
            spark.stop()


def _migrate(config: Config, user: str | None, pending: bool) -> None:
    import psycopg

    from millrace_jobs.ends import Database
    from millrace_jobs.migration import migrate

    for part in JOBS[config.job].outputs:
        end = config.outputs[part.name]
        if isinstance(part, PostgresSink) and isinstance(end, Database):
            try:
                done = migrate(end, part, user, pending)
            except psycopg.Error as error:
                raise JobError(f"database: {' '.join(str(error).split())}") from error
            print("\n".join(done) or "nothing to apply")
