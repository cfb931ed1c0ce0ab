"""Filters for the files, directories and systemd units of the Spark jobs of a host."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.filter.host import drop_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_text import job_text
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import has_secret

Job = Mapping[str, Any]
HOME = PurePosixPath("/var/lib/spark-job")
WATCHDOG = 600
"""Default of the key `watchdog` of a job, in seconds, and WatchdogSec of the unit of all jobs."""


def present(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs whose state is not absent: they are installed, and run or are stopped."""
    return [job for job in jobs if job.get("state") != "absent"]


def absent(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs whose state is absent: they are removed from the host."""
    return [job for job in jobs if job.get("state") == "absent"]


def spark_job_config(job: Job, jars: str) -> str:
    """Return the text (JSON) of a job's configuration file: the job's `config`, and `jars`.

    `jars` is the directory that contains the jar files.
    """
    return job_text({"jars_directory": jars, **job["config"]}, indent=2) + "\n"


def spark_job_drop_in(job: Job) -> str:
    """Return the text of the systemd drop-in of one job, from its key unit_overrides."""
    return drop_in(job.get("unit_overrides") or {}, "spark_job", f"unit_overrides of {job['name']} in spark_job_jobs")


def drop_in_path(job: Job, name: str = "unit_overrides") -> PurePosixPath:
    """Return the path of a drop-in file for systemd of a job.

    systemd reads drop-ins in the order of their names. So unit_overrides.conf overrides overrides.conf, which applies
    to all jobs, and both override 10-watchdog.conf.
    """
    return PurePosixPath(f"/etc/systemd/system/spark-job@{job['name']}.service.d/{name}.conf")


def spark_job_watchdog(job: Job) -> str:
    """Return the text of the drop-in with the watchdog of a job; "" if the job has the default of the unit."""
    seconds = job.get("watchdog")
    if seconds is None or str(seconds) == str(WATCHDOG):
        return ""
    return drop_in({"Service": {"WatchdogSec": seconds}}, "spark_job", f"watchdog of {job['name']} in spark_job_jobs")


def spark_job_environment(job: Job, release: str, jars: str, unit: str) -> str:
    """Return the text of a job's environment file: JOB, the name of the program to run, CONFIG_DIGEST, and variables.

    The variables are those of a job on the Spark cluster (the key `environment`, spark_cluster.cluster_jobs).

    The digest is over everything with which the job's process is started: the program's name, its `release`, the text
    `unit` of the systemd unit, the drop-in, and the configuration with `jars`, the directory of jar files.
    """
    name, watchdog = job.get("job") or job["name"], spark_job_watchdog(job)
    environment = [f"{key}={value}" for key, value in (job.get("environment") or {}).items()]
    drop_ins = [*([spark_job_drop_in(job)] if job.get("unit_overrides") else []), *filter(None, [watchdog])]
    more = [*drop_ins, *environment]
    digest = hashlib.sha256("\n".join([name, release, unit, spark_job_config(job, jars), *more]).encode()).hexdigest()
    return f"JOB={name}\nCONFIG_DIGEST={digest}\n" + "".join(f"{line}\n" for line in environment)


def spark_job_migrations(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """Return dicts {name, job, user, config} of the jobs whose database schema the run has to migrate.

    - name: of the job; job: the name of its program; user: the database user with which the job itself runs;
    - config: JSON with the password of the database user that may create tables; pass it only to standard input.
    """
    migrations = []
    for job in present(jobs):
        database = job["config"].get("database")
        if job.get("migrate") and isinstance(database, Mapping):
            config = {**job["config"], "database": {**database, **job["migrate"]}}
            kind = job.get("job") or job["name"]
            migrations.append({"name": job["name"], "job": kind, "user": database["user"], "config": job_text(config)})
    return migrations


def spark_job_migrating(hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the hosts that have a job with a database schema to migrate; `hostvars` is {host: variables}."""
    return [
        host
        for host in hosts
        if host in hostvars and any(job.get("migrate") for job in present(hostvars[host].get("spark_job_jobs") or []))
    ]


def spark_job_files(jobs: Sequence[Job], release: str, jars: str, unit: str) -> list[dict[str, Any]]:
    """Return the files of all jobs as entries of the option `files` of host_state.

    `release`, `jars` (directory of jar files) and `unit` (text of the systemd unit) determine the environment file. A
    configuration that contains a password is a secret: it is not shown in diffs and not logged in the host's journal.
    """
    files: list[dict[str, Any]] = [
        {"path": f"/etc/spark-job/{job['name']}.{kind}", "state": "absent"}
        for job in absent(jobs)
        for kind in ("json", "env")
    ]
    for job in jobs:
        state = "present" if job in present(jobs) and job.get("unit_overrides") else "absent"
        files.append({"path": str(drop_in_path(job)), "content": spark_job_drop_in(job), "state": state})
        watchdog = spark_job_watchdog(job) if job in present(jobs) else ""
        state = "present" if watchdog else "absent"
        files.append({"path": str(drop_in_path(job, "10-watchdog")), "content": watchdog, "state": state})
    for job in present(jobs):
        base = {"owner": "root", "group": "spark", "mode": "0640"}
        secret = has_secret(job["config"])
        config = spark_job_config(job, jars)
        content = {"secret_base64": base64.b64encode(config.encode()).decode()} if secret else {"content": config}
        files.append({**base, "path": f"/etc/spark-job/{job['name']}.json", **content, "secret": secret})
        files.append(
            {
                **base,
                "path": f"/etc/spark-job/{job['name']}.env",
                "content": spark_job_environment(job, release, jars, unit),
            }
        )
    return files


def spark_job_directories(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """Return the directories of all jobs as entries of the option `directories` of host_state.

    These are /etc/spark-job, and for each job its home, checkpoint, input and output directory. Directories of absent
    jobs are not listed, so they stay: they contain the job's progress and data. Directories on the shared file system
    of a Spark cluster are not listed either: there, root may be an ordinary user. Jobs create their checkpoints.
    """
    owned = {"owner": "spark", "group": "spark", "mode": "0750"}
    directories = [
        {"path": "/etc/spark-job", "owner": "root", "group": "spark", "mode": "0750"},
        {"path": str(HOME), **owned},
    ]
    for job in present(jobs):
        directories.append({"path": str(HOME / job["name"]), **owned})
        if job.get("unit_overrides") or spark_job_watchdog(job):
            directories.append({"path": str(drop_in_path(job).parent)})
        directories += [
            {"path": job["config"][key], **owned}
            for key in ("checkpoint", "input_directory", "output_directory")
            if (path := job["config"].get(key)) and not _is_shared(job, str(path))
        ]
    return directories


def _is_shared(job: Job, path: str) -> bool:
    """Tell whether a path is on the shared file system of the job's Spark cluster."""
    shared = str(job.get("shared") or "")
    return bool(shared) and PurePosixPath(shared) in (PurePosixPath(path), *PurePosixPath(path).parents)


def spark_job_units(jobs: Sequence[Job], release: str, jars: str, unit: str) -> list[dict[str, Any]]:
    """Return the systemd units of all jobs as entries of the option `units` of host_state.

    `release`, `jars` (directory of jar files) and `unit` (text of the systemd unit) are parts of the digest of each
    unit. If the digest changes, host_state restarts the job, which stops between two batches.
    """
    return [
        {
            "name": f"spark-job@{job['name']}.service",
            "digest": spark_job_environment(job, release, jars, unit).split("CONFIG_DIGEST=")[1].splitlines()[0],
            "enabled": job.get("state") != "stopped",
            "state": "stopped" if job.get("state") == "stopped" else "converged",
        }
        for job in present(jobs)
    ] + [{"name": f"spark-job@{job['name']}.service", "enabled": False, "state": "absent"} for job in absent(jobs)]


def spark_job_running(jobs: Sequence[Job]) -> list[str]:
    """Return the names of the systemd units of the jobs that must run: neither absent nor stopped."""
    return [f"spark-job@{job['name']}.service" for job in present(jobs) if job.get("state") != "stopped"]


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "spark_job_files": spark_job_files,
            "spark_job_directories": spark_job_directories,
            "spark_job_units": spark_job_units,
            "spark_job_migrating": spark_job_migrating,
            "spark_job_migrations": spark_job_migrations,
            "spark_job_running": spark_job_running,
        }
