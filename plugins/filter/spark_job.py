"""What one list of jobs becomes on a node: files, directories and units."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.filter.host import drop_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_text import job_text
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import told

Job = Mapping[str, Any]
HOME = PurePosixPath("/var/lib/spark-job")


def present(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that are installed, started or stopped."""
    return [job for job in jobs if job.get("state") != "absent"]


def absent(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that are to be taken away."""
    return [job for job in jobs if job.get("state") == "absent"]


def spark_job_config(job: Job, jars: str) -> str:
    """Return the frozen configuration file of a job: what is declared, and where this release keeps its jars."""
    return job_text({"jars_directory": jars, **job["config"]}, indent=2) + "\n"


def spark_job_drop_in(job: Job) -> str:
    """Return the drop-in of a job's own unit."""
    return drop_in(job.get("unit_overrides") or {}, "spark_job", f"unit_overrides of {job['name']} in spark_job_jobs")


def drop_in_path(job: Job) -> PurePosixPath:
    """Return where it is; systemd reads it after overrides.conf of all jobs, for the names are in this order."""
    return PurePosixPath(f"/etc/systemd/system/spark-job@{job['name']}.service.d/unit_overrides.conf")


def spark_job_environment(job: Job, release: str, jars: str, unit: str) -> str:
    """Return the environment file of a job; CONFIG_DIGEST covers everything that its process is started with."""
    name = job.get("job") or job["name"]
    more = [spark_job_drop_in(job)] if job.get("unit_overrides") else []
    digest = hashlib.sha256("\n".join([name, release, unit, spark_job_config(job, jars), *more]).encode()).hexdigest()
    return f"JOB={name}\nCONFIG_DIGEST={digest}\n"


def spark_job_migrations(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """Return the jobs whose databases a run keeps: name, job, user that runs it, and the configuration as text.

    The text has the login of who may make tables, and goes to the program's standard input alone.
    """
    found = []
    for job in present(jobs):
        database = job["config"].get("database")
        if job.get("migrate") and isinstance(database, Mapping):
            config = {**job["config"], "database": {**database, **job["migrate"]}}
            kind = job.get("job") or job["name"]
            found.append({"name": job["name"], "job": kind, "user": database["user"], "config": job_text(config)})
    return found


def spark_job_migrating(hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return those hosts that have a job whose database a run keeps: no other is asked anything."""
    return [
        host
        for host in hosts
        if host in hostvars and any(job.get("migrate") for job in present(hostvars[host].get("spark_job_jobs") or []))
    ]


def spark_job_files(jobs: Sequence[Job], release: str, jars: str, unit: str) -> list[dict[str, Any]]:
    """Return the files of all jobs for the module host_state.

    Client properties may hold passwords: no diff of them, and no text that Ansible would note in the host's journal.
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
        secret = told(job["config"])
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
    """Return /etc/spark-job and the directories that jobs own: their home, checkpoint and input.

    Those of a job that is absent are left as they are: they hold its progress and its data.
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
    """Return the units of all jobs; a job whose files or release changed is restarted between batches."""
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
    """Return the units of those jobs that are to run."""
    return [f"spark-job@{job['name']}.service" for job in present(jobs) if job.get("state") != "stopped"]


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "spark_job_files": spark_job_files,
            "spark_job_directories": spark_job_directories,
            "spark_job_units": spark_job_units,
            "spark_job_migrating": spark_job_migrating,
            "spark_job_migrations": spark_job_migrations,
            "spark_job_running": spark_job_running,
        }
