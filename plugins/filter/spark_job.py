"""Filters for the files, directories and units of the Spark jobs of a node."""

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


def present(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that are to be installed, running or stopped."""
    return [job for job in jobs if job.get("state") != "absent"]


def absent(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that are to be removed."""
    return [job for job in jobs if job.get("state") == "absent"]


def spark_job_config(job: Job, jars: str) -> str:
    """Return the text of a job's configuration file: the job's `config`, and `jars`, the directory of jar files."""
    return job_text({"jars_directory": jars, **job["config"]}, indent=2) + "\n"


def spark_job_drop_in(job: Job) -> str:
    """Return the text of the systemd drop-in of one job, from its key unit_overrides."""
    return drop_in(job.get("unit_overrides") or {}, "spark_job", f"unit_overrides of {job['name']} in spark_job_jobs")


def drop_in_path(job: Job) -> PurePosixPath:
    """Return the path of a job's drop-in.

    systemd reads drop-ins in the order of their names, so it overrides overrides.conf, which is for all jobs.
    """
    return PurePosixPath(f"/etc/systemd/system/spark-job@{job['name']}.service.d/unit_overrides.conf")


def spark_job_environment(job: Job, release: str, jars: str, unit: str) -> str:
    """Return the text of a job's environment file: JOB, the name of the program to run, and CONFIG_DIGEST.

    The digest changes with everything that the job's process is started with: configuration, release, unit and drop-in.
    """
    name = job.get("job") or job["name"]
    more = [spark_job_drop_in(job)] if job.get("unit_overrides") else []
    digest = hashlib.sha256("\n".join([name, release, unit, spark_job_config(job, jars), *more]).encode()).hexdigest()
    return f"JOB={name}\nCONFIG_DIGEST={digest}\n"


def spark_job_migrations(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """Return dicts {name, job, user, config} of the jobs whose database schema a run migrates.

    `user` is the job's own database user. `config` is JSON with the login that may create tables; pass it only to the
    program's standard input.
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
    """Return the hosts that have a job whose database schema is migrated; no migration task runs on the others."""
    return [
        host
        for host in hosts
        if host in hostvars and any(job.get("migrate") for job in present(hostvars[host].get("spark_job_jobs") or []))
    ]


def spark_job_files(jobs: Sequence[Job], release: str, jars: str, unit: str) -> list[dict[str, Any]]:
    """Return the files of all jobs as the option `files` of host_state.

    A configuration with a password is a secret: it is not shown in diffs and not logged in the host's journal.
    """
    files: list[dict[str, Any]] = [
        {"path": f"/etc/spark-job/{job['name']}.{kind}", "state": "absent"}
        for job in absent(jobs)
        for kind in ("json", "env")
    ]
    for job in jobs:
        state = "present" if job in present(jobs) and job.get("unit_overrides") else "absent"
        files.append({"path": str(drop_in_path(job)), "content": spark_job_drop_in(job), "state": state})
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
    """Return /etc/spark-job and the directories of each job: home, checkpoint, input and output.

    They are the option `directories` of host_state. Those of an absent job are left as they are: they hold its progress
    and its data.
    """
    owned = {"owner": "spark", "group": "spark", "mode": "0750"}
    directories = [
        {"path": "/etc/spark-job", "owner": "root", "group": "spark", "mode": "0750"},
        {"path": str(HOME), **owned},
    ]
    for job in present(jobs):
        directories.append({"path": str(HOME / job["name"]), **owned})
        if job.get("unit_overrides"):
            directories.append({"path": str(drop_in_path(job).parent)})
        directories += [
            {"path": job["config"][key], **owned}
            for key in ("checkpoint", "input_directory", "output_directory")
            if job["config"].get(key)
        ]
    return directories


def spark_job_units(jobs: Sequence[Job], release: str, jars: str, unit: str) -> list[dict[str, Any]]:
    """Return the systemd units of all jobs as the option `units` of host_state.

    The digest of a unit changes with the files or release of its job; then the job is restarted between two batches.
    """
    return [
        {
            "name": f"spark-job@{job['name']}.service",
            "digest": spark_job_environment(job, release, jars, unit).split("CONFIG_DIGEST=")[1].strip(),
            "enabled": job.get("state") != "stopped",
            "state": "stopped" if job.get("state") == "stopped" else "converged",
        }
        for job in present(jobs)
    ] + [{"name": f"spark-job@{job['name']}.service", "enabled": False, "state": "absent"} for job in absent(jobs)]


def spark_job_running(jobs: Sequence[Job]) -> list[str]:
    """Return the names of the systemd units of the jobs that have to run."""
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
