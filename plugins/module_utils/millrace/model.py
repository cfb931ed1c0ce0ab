"""Checks of the declared model, from the inventory alone; no Ansible import, no host contacted.

The model is a dict `{host: {variable: value}}` of role inputs, and the group of each function. A variable that is missing, or
that could not be computed because a word it stands on is missing, is absent from the host's dict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .problems import Problem

Hosts = Mapping[str, Mapping[str, Any]]
Groups = Mapping[str, Sequence[str]]


def check_model(hosts: Hosts, groups: Groups) -> list[Problem]:
    """Return everything that is wrong with the model, in no order."""
    zookeeper, kafka = groups.get("zookeeper", []), groups.get("kafka", [])
    return [
        *addresses(hosts, [*zookeeper, *kafka]),
        *ids(hosts, zookeeper, "zookeeper_id", 1, 255, "ZOOKEEPER", "every ensemble member needs an id of its own"),
        *ensemble_size(zookeeper),
        *ids(hosts, kafka, "kafka_broker_id", 0, 1000, "KAFKA", "every broker needs an id of its own, and keeps it for life"),
        *racks(hosts, kafka),
        *listeners(hosts, kafka),
        *log_dirs(hosts, kafka),
        *job_names(hosts, groups.get("spark", [])),
    ]


def ids(hosts: Hosts, members: Iterable[str], name: str, low: int, high: int, code: str, advice: str) -> list[Problem]:
    """Ids are declared on each host, whole numbers in range, and unique."""
    problems, holders = [], defaultdict(list)
    for host in members:
        value = hosts[host].get(name)
        if value is None:
            problems.append(Problem(f"{host}/{name}", f"{code}_ID_MISSING", None, "not declared", f"write it on the host's line: {advice}"))
        elif not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            problems.append(Problem(f"{host}/{name}", f"{code}_ID_RANGE", value, f"not a whole number from {low} to {high}", advice))
        else:
            holders[value].append(host)
    for value, same in holders.items():
        if len(same) > 1:
            for host in same:
                others = ", ".join(other for other in same if other != host)
                problems.append(Problem(f"{host}/{name}", f"{code}_ID_DUPLICATE", value, f"also declared on {others}", advice))
    return problems


def ensemble_size(members: Sequence[str]) -> list[Problem]:
    """An ensemble is odd: an even one tolerates no more failures than the odd one below it (ZooKeeper Administrator's Guide)."""
    count = len(members)
    if count and count % 2 == 0:
        return [
            Problem(
                "group zookeeper", "ZOOKEEPER_EVEN", f"{count} hosts", f"an even ensemble survives no more failures than one of {count - 1}",
                f"use {count - 1} or {count + 1} hosts",
            )
        ]  # fmt: skip
    return []


def addresses(hosts: Hosts, members: Sequence[str]) -> list[Problem]:
    """Every ZooKeeper server and broker has one address in each network, and none is used twice."""
    problems, holders = [], defaultdict(list)
    for host in dict.fromkeys(members):
        for name in ("client_address", "replication_address"):
            value = hosts[host].get(name)
            if value is None:
                network = name.removesuffix("_address")
                problems.append(
                    Problem(f"{host}/{name}", "ADDRESS_MISSING", None, f"no address in the {network} network", "write it on the host's line")
                )
            else:
                holders[value].append(f"{host}/{name}")
    for value, places in holders.items():
        if len(places) > 1:
            problems += [
                Problem(place, "ADDRESS_DUPLICATE", value, f"also declared as {', '.join(p for p in places if p != place)}", "give each its own")
                for place in places
            ]
    return problems


def racks(hosts: Hosts, members: Sequence[str]) -> list[Problem]:
    """All brokers name a rack or none does: with some, Kafka refuses to create topics."""
    missing = [host for host in members if not hosts[host].get("kafka_rack")]
    if not missing:
        return []
    return [
        Problem(f"{host}/kafka_rack", "RACK_MISSING", None, "the broker has no rack, so replicas cannot be spread and topic creation fails",
                "put the host into a rack_* group, or set rack")
        for host in missing
    ]  # fmt: skip


def listeners(hosts: Hosts, members: Sequence[str]) -> list[Problem]:
    """Brokers talk to each other through a listener that they have."""
    problems = []
    for host in members:
        names = [item.get("name") for item in hosts[host].get("kafka_listeners") or [] if isinstance(item, Mapping)]
        wanted = hosts[host].get("kafka_inter_broker_listener")
        if wanted and names and wanted not in names:
            problems.append(
                Problem(
                    f"{host}/kafka_inter_broker_listener",
                    "LISTENER_UNKNOWN",
                    wanted,
                    f"kafka_listeners has only {', '.join(str(name) for name in names)}",
                    "name one of them",
                )
            )
    return problems


def log_dirs(hosts: Hosts, members: Sequence[str]) -> list[Problem]:
    """Each entry of log.dirs is named once."""
    problems = []
    for host in members:
        paths = hosts[host].get("kafka_log_dirs") or []
        if isinstance(paths, str):
            continue  # reported with the role's inputs
        if not paths and "kafka_log_dirs" in hosts[host]:
            problems.append(Problem(f"{host}/kafka_log_dirs", "LOG_DIRS_EMPTY", None, "no log directory", "name at least one mount point"))
        problems += [
            Problem(f"{host}/kafka_log_dirs", "LOG_DIRS_DUPLICATE", path, "named twice", "name each file system once")
            for path in sorted({p for p in paths if paths.count(p) > 1})
        ]
    return problems


def job_names(hosts: Hosts, members: Sequence[str]) -> list[Problem]:
    """The name of a job is the name of its unit on the node."""
    problems = []
    for host in members:
        names = [job.get("name") for job in hosts[host].get("spark_job_jobs") or [] if isinstance(job, Mapping)]
        problems += [
            Problem(f"{host}/spark_job_jobs", "JOB_DUPLICATE", name, "two jobs of that name on one node", "give each a name of its own")
            for name in sorted({n for n in names if n and names.count(n) > 1})
        ]
    return problems
