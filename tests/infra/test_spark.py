"""The Spark nodes: jobs run as units of an unprivileged user, from a release of their own."""

import json
import re

from faults.inventory import Inventory
from testinfra.host import Host

from infra.conftest import limit, service_problem
from infra.hardening import assert_hardened


def job(host: Host) -> str:
    """Return the name of one of the node's jobs that start at boot; others are stopped on purpose."""
    names = host.check_output("ls -d /etc/systemd/system/*.wants/spark-job@*.service").split()
    assert names
    return str(names[0]).rpartition("spark-job@")[2].removesuffix(".service")


def test_job_runs_and_starts_at_boot(spark_host: Host) -> None:
    assert service_problem(spark_host, f"spark-job@{job(spark_host)}") == ""


def test_jobs_tell_how_far_they_are(spark_host: Host) -> None:
    """The command knows each job of the node by its files and its unit, and finds nothing wrong."""
    shown = spark_host.run("/opt/spark-job/current/bin/millrace-jobs status --json")
    jobs = {facts["job"]: facts for facts in json.loads(shown.stdout)}
    assert {name: facts["problem"] for name, facts in jobs.items() if facts["problem"]} == {}
    assert shown.rc == 0
    files = spark_host.check_output("ls /etc/spark-job/*.json").split()
    assert sorted(jobs) == sorted(name.rpartition("/")[2].removesuffix(".json") for name in files)
    name = job(spark_host)
    assert (jobs[name]["unit"], jobs[name]["watchdog_seconds"]) == ("active", 600)
    file = spark_host.file(f"/run/spark-job/{name}/status.json")
    assert (file.user, file.mode, json.loads(file.content_string)["job"]) == ("spark", 0o640, name)


def test_job_runs_unprivileged_from_the_current_release(spark_host: Host) -> None:
    pid = spark_host.check_output(f"systemctl show -p MainPID --value spark-job@{job(spark_host)}")
    assert spark_host.check_output(f"ps -o user= -p {pid}") == "spark"
    release = spark_host.file("/opt/spark-job/current").linked_to
    assert (
        spark_host.check_output(f"cat /proc/{pid}/cmdline | tr '\\0' ' '")
        .split()[1]
        .startswith(("/opt/spark-job/current/", release))
    )


def test_checkpoint_belongs_to_the_job(spark_host: Host) -> None:
    config = json.loads(spark_host.file(f"/etc/spark-job/{job(spark_host)}.json").content_string)
    folder = spark_host.file(config.get("checkpoint", f"/var/lib/spark-job/{job(spark_host)}"))  # some need none
    assert (folder.user, folder.mode) == ("spark", 0o750)


def test_producers_and_consumers_differ_in_data_only(inventory: Inventory) -> None:
    """And in who starts from class data, as the inventory says it of hosts."""
    hosts = inventory.hosts("spark")
    files = {host: inventory.run(host, "cat /etc/systemd/system/spark-job@.service") for host in hosts}
    units = {re.sub(r"(?m)^(.*class-data.*|# A JVM falls over .*)\n", "", text) for text in files.values()}
    fast = {host for host in hosts if inventory.variables[host].get("spark_job_class_data_archive")}
    assert {host for host, text in files.items() if "class-data" in text} == fast
    releases = {inventory.run(host, "readlink /opt/spark-job/current") for host in inventory.hosts("spark")}
    assert (len(units), len(releases)) == (1, 1)


def test_limits_and_hardening(spark_host: Host) -> None:
    unit = f"spark-job@{job(spark_host)}"
    assert limit(spark_host, unit, "Max open files") == "16384"
    assert_hardened(spark_host, unit)
