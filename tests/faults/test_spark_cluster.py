"""A job on the Spark cluster counts exactly while executors, workers, the master and the driver are killed with -9."""

import json
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from .lab import Lab, until_none
from .word_counts import JOBS, LastCounts, publish

pytestmark = pytest.mark.campaign
MASTER, WORKER, DRIVER = "spark-master.service", "spark-worker.service", JOBS["spark_consumer"]
ROUNDS = 20
PATIENCE = 300
"""Seconds until a test gives up; no promise to users."""
EXECUTOR = "'[C]oarseGrainedExecutorBackend'"  # does not match the shell that looks for it
PAGE = 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8080/json/").read().decode())'
# A driver as anybody on a host of jobs could write one; `timeout` because it would try for ever.
STRANGER = """
cd /tmp && timeout 40 env HOME=/tmp SPARK_LOCAL_IP={address} /opt/spark-job/current/bin/python - <<'END'
from pyspark.sql import SparkSession
properties = {{"spark.master": "spark://{master}", "spark.driver.host": "{address}", "spark.driver.port": "7300"}}
SparkSession.builder.config(map=properties).getOrCreate()
print("registered")
END
"""


@pytest.fixture(autouse=True)
def cluster(lab: Lab) -> None:
    """The lab has a Spark cluster."""
    if not lab.inventory.hosts("spark_masters"):
        pytest.fail("no group spark_masters; run this with inventories/lab_spark_cluster", pytrace=False)


def overview(lab: Lab) -> dict[str, Any]:
    """Return what the master's page tells programs; {} while it does not answer."""
    text = lab.inventory.run(lab.inventory.hosts("spark_masters")[0], f"python3 -c '{PAGE}' 2>/dev/null || true")
    page: dict[str, Any] = json.loads(text) if text.strip() else {}
    return page


def not_whole(lab: Lab) -> list[str]:
    """Return what the master tells, unless it knows two workers, and one application with both their cores."""
    page = overview(lab)
    applications, workers = page.get("activeapps", []), page.get("workers", [])
    running = [app for app in applications if app["state"] == "RUNNING"]
    if page.get("status") == "ALIVE" and page["aliveworkers"] == 2 and page["coresused"] == 2 and len(running) == 1:
        return []
    return [
        f"master {page.get('status')}",
        *(f"application {app['id']}: {app['state']}, {app['cores']} cores" for app in applications),
        *(f"worker {worker['host']}: {worker['state']}, {worker['coresused']} cores used" for worker in workers),
    ]


def kill(lab: Lab, victim: str, dice: random.Random) -> str:
    """Kill one process of a kind with -9; return where it was."""
    of_worker = victim in ("executor", "worker")
    group = {"master": "spark_masters", "driver": "spark_consumer"}.get(victim, "spark_workers")
    hosts = [
        host
        for host in lab.inventory.hosts(group)
        if not of_worker or lab.inventory.run(host, f"pgrep -f {EXECUTOR} || :")
    ]
    host = dice.choice(hosts)
    if victim == "executor":
        lab.inventory.run(host, f"pkill -KILL -o -f {EXECUTOR}")
    else:
        unit = {"master": MASTER, "worker": WORKER, "driver": DRIVER}[victim]
        lab.inventory.run(host, f"systemctl kill --signal=KILL {unit}")
    return host


def test_counts_are_exact_after_every_kill(
    lab: Lab, word_counts: LastCounts, run_id: str, pytestconfig: pytest.Config, note: Callable[[str], None]
) -> None:
    """Twenty times, one of the four in the middle of a batch; every word is counted once, and the cluster is whole."""
    dice = random.Random(pytestconfig.getoption("--faults-seed"))
    victims = ["executor", "worker", "master", "driver"] * (ROUNDS // 4)
    dice.shuffle(victims)
    wanted, gaps = publish(lab, run_id, 0), dict[str, list[float]]()
    until_none("the job counts", partial(word_counts.differences, wanted), PATIENCE)
    for number, victim in enumerate(victims, 1):
        until_none("the cluster is whole", partial(not_whole, lab), PATIENCE)
        wanted += publish(lab, run_id, 2 * number)
        host, begun = kill(lab, victim, dice), time.monotonic()
        wanted += publish(lab, run_id, 2 * number + 1)
        until_none(
            f"all is counted after kill -9 of the {victim} on {host}",
            partial(word_counts.differences, wanted),
            PATIENCE,
        )
        gaps.setdefault(victim, []).append(time.monotonic() - begun)
    for victim, seconds in sorted(gaps.items()):
        note(f"{victim}: all counted {min(seconds):.0f} to {max(seconds):.0f} s after kill -9 ({len(seconds)} times)")
    note(f"{len(wanted)} words, {sum(wanted.values())} occurrences, all exact")


def test_a_worker_that_restarts_lets_its_executors_leave(
    lab: Lab, word_counts: LastCounts, run_id: str, note: Callable[[str], None]
) -> None:
    """A worker is decommissioned before it stops, and every word is counted meanwhile."""
    wanted = publish(lab, run_id, 0)
    until_none("the job counts", partial(word_counts.differences, wanted), PATIENCE)
    until_none("the cluster is whole", partial(not_whole, lab), PATIENCE)
    for number, host in enumerate(lab.inventory.hosts("spark_workers"), 1):
        mark = lab.mark(host, WORKER)
        lab.inventory.run(host, f"systemctl restart {WORKER}")
        assert "Decommission" in lab.said(host, WORKER, mark)
        wanted += publish(lab, run_id, number)
        until_none("all is counted", partial(word_counts.differences, wanted), PATIENCE)
        until_none("the cluster is whole", partial(not_whole, lab), PATIENCE)


def test_nobody_without_the_secret(lab: Lab) -> None:
    """A driver on a host that may connect is refused; other hosts reach no port, and no host the pages."""
    master, jobs = lab.inventory.hosts("spark_masters")[0], lab.inventory.hosts("spark_producer")[0]
    worker, broker = lab.inventory.hosts("spark_workers")[0], lab.inventory.hosts("kafka")[0]
    addresses = {host: lab.inventory.addresses(host)[0] for host in (master, jobs, worker)}
    text = STRANGER.format(address=addresses[jobs], master=f"{addresses[master]}:7077")
    done = lab.inventory.run(jobs, f"{{ {text}\n}} 2>&1 || true")
    assert "registered" not in done
    assert "authenticate" in done.lower() or "Failed to connect to master" in done, done
    reach = "timeout 3 bash -c '</dev/tcp/{}/{}' 2>/dev/null && echo open || echo closed"
    tried = [
        (broker, master, 7077),
        (broker, worker, 7078),
        (broker, worker, 7100),
        (jobs, master, 8080),
        (jobs, worker, 8081),
    ]
    assert [
        (source, host, port)
        for source, host, port in tried
        if lab.inventory.run(source, reach.format(addresses[host], port)).strip() == "open"
    ] == []
    assert lab.inventory.run(jobs, reach.format(addresses[master], 7077)).strip() == "open"


def test_the_secret_is_in_no_argument_and_no_log(lab: Lab) -> None:
    """Neither of the master, workers, executors nor of the driver."""
    assert lab.inventory.lab_directory is not None
    secret = (lab.inventory.lab_directory / "secrets/spark_cluster").read_text().split()[0]
    hosts = [host for group in ("spark_masters", "spark_workers", "spark") for host in lab.inventory.hosts(group)]
    look = (
        "{ cat /proc/[0-9]*/cmdline; journalctl -q --no-pager; cat /var/lib/spark-cluster/work/*/*/std*; } 2>/dev/null"
    )
    pattern = "/run/spark-secret"  # in a file: an argument of grep would be found
    count = f"umask 077; cat > {pattern}; {look} | tr '\\0' ' ' | grep -c -F -f {pattern}; rm {pattern}"
    found = {host: lab.inventory.run(host, count, stdin=secret) for host in hosts}
    assert set(map(str.strip, found.values())) == {"0"}, found
