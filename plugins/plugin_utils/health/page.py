"""Writes the health page of check.yml, as text and as JSON, from the results of other modules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.jobs import listed, spark_jobs
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import (
    Section,
    brokers,
    by_rack,
    log_dirs,
    names_of,
    racks,
    table,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.mirrors import mirrors

# A fuller file system is a problem: Kafka takes a log dir offline at the first write that fails.
FULL = 0.85
# Stands for the inventory's facts of a host without a function.
NOTHING: Mapping[str, Any] = {"functions": (), "broker_id": None, "rack": None, "listeners": {}, "disks": ()}


# What to do if the last run of a unit that a timer starts has failed, by unit: it stays `failed` until the next run.
REMEDIES = {
    "millrace-rebalance.service": ": `journalctl -u millrace-rebalance` on that host shows why, and what to do; then "
    "run `systemctl reset-failed millrace-rebalance`; its next successful run also clears this line"
}


@dataclass(frozen=True)
class Certificates:
    """Results about certificates: `answer` of the action plugin `certificates`, `served` of the module tls_served.

    A certificate that is valid for fewer than `days` days is a problem.
    """

    answer: Mapping[str, Any] = field(default_factory=dict)
    served: Sequence[Mapping[str, Any]] = ()
    days: int = 14


def page(
    declared: Mapping[str, Any],
    probes: Mapping[str, Any],
    cluster: Mapping[str, Any],
    certificates: Certificates | None = None,
    others: Mapping[str, int] | None = None,
    copies: Mapping[str, Any] | None = None,
) -> tuple[str, list[str]]:
    """Return (text of the health page, list of its problems as texts).

    - `declared`: {host: {functions, broker_id, rack, listeners, disks}};
    - `probes`: {host: result of the module host_probe}. A host that did not answer is absent, or its result has the key
      `silent`;
    - `cluster`: the result of the module kafka_cluster;
    - `others`: {function: number of its hosts that --limit leaves out};
    - `copies`: the result of the module kafka_mirrors.
    """
    others = others or {}
    problems = [f"{host} does not answer" for host in declared if probes.get(host, {"silent": True}).get("silent")]
    lines: list[str] = []
    for section in (
        zookeeper(having(declared, "zookeeper"), probes, others.get("zookeeper", 0)),
        brokers(having(declared, "kafka"), cluster),
        racks(having(declared, "kafka"), cluster),
        log_dirs(having(declared, "kafka"), cluster, probes),
        disks(declared, probes),
        jobs(declared, probes),
        spark_jobs(declared, probes),
        mirrors(copies or {}),
        certificates_section(certificates or Certificates(), datetime.now(UTC)),
    ):
        lines += [*section[0], ""] if section[0] else []
        problems += section[1]
    not_checked = [f"{number} of {function}" for function, number in others.items() if number]
    scope = f", as far as these hosts show; not checked: {', '.join(not_checked)}" if not_checked else ""
    lines.append(
        f"HEALTHY{scope}"
        if not problems
        else f"NOT HEALTHY{scope}\n" + "\n".join(f"  - {problem}" for problem in problems)
    )
    return "\n".join(lines), problems


def with_timer(
    declared: Mapping[str, Any], probes: Mapping[str, Any], admin: str, units: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (declared, probes) with the systemd timers of the host `admin` added to the units of that host.

    `units` is {unit: state} on the host `admin`. The service of a timer runs only when the timer starts it, so the
    service is added only if its last run failed. If `admin` is in `declared` but did not answer, its result keeps the
    key `silent`.
    """
    shown_units = {name: state for name, state in units.items() if name.endswith(".timer") or state == "failed"}
    probe = probes.get(admin, {"silent": admin in declared})
    answered = {**probe, "units": {**probe.get("units", {}), **shown_units}}
    return {**declared, admin: declared.get(admin, NOTHING)}, {**probes, admin: answered}


def having(declared: Mapping[str, Any], function: str) -> dict[str, Any]:
    """Return the entries of `declared`, {host: facts}, of the hosts that have a function."""
    return {host: facts for host, facts in declared.items() if function in facts["functions"]}


def zookeeper(hosts: Mapping[str, Any], probes: Mapping[str, Any], others: int = 0) -> Section:
    """Return (lines of the section on ZooKeeper, problems): the mode of each server; exactly one server must lead.

    `hosts` are the declared ZooKeeper hosts. `probes` is {host: result of the module host_probe}. `others` is the
    number of ZooKeeper servers that --limit leaves out: the leader may be among them.
    """
    if not hosts:
        return [], []
    modes = {host: probes.get(host, {}).get("zookeeper_mode", "unreachable") for host in hosts}
    problems = [
        f"ZooKeeper on {host}: {mode}"
        for host, mode in modes.items()
        if mode not in ("leader", "follower", "observer", "standalone")
    ]
    leaders = sum(mode in ("leader", "standalone") for mode in modes.values())
    if leaders > 1 or (leaders == 0 and not others):
        problems.append(f"ZooKeeper ensemble has {leaders} leaders")
    for host in hosts:
        if undeclared := probes.get(host, {}).get("zookeeper_undeclared"):
            problems.append(
                f"ZooKeeper on {host}, the leader, serves {undeclared} server{'s' if undeclared > 1 else ''} that the "
                "inventory does not have: stop and disable zookeeper.service there, or add the host to the group "
                f"zookeeper again (`ss -tn` on {host} shows the connections)"
            )
    return ["ZooKeeper", *table(("server", "mode"), modes.items())], problems


def disks(hosts: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Return (lines of the section on disks, problems): how full each data file system is.

    Problems are file systems that fail, are full or are not mounted, and log dirs that a running broker took offline.
    `hosts` is {host: its declared facts}. `probes` is {host: result of the module host_probe}.
    """
    rows, problems = [], []
    for host, facts in hosts.items():
        given_up = probes.get(host, {}).get("given_up", [])
        problems += [
            f"the broker on {host} has taken log dir {path} offline: if it is full, free space on it "
            "and restart kafka.service; if it is broken, mount a new disk and run replace_disk.yml"
            for path in given_up
        ]
        for path, mount in probes.get(host, {}).get("mounts", {}).items():
            if "error" in mount:
                rows.append((host, path, "-", mount["error"]))
                problems.append(f"{host}:{path} fails: {mount['error']}")
                continue
            if "size" not in mount:
                problems.append(f"{host}:{path} does not exist")
                continue
            if path in facts.get("disks", ()) and not mount["mounted"]:
                rows.append((host, path, "-", "not mounted"))
                problems.append(f"{host}:{path}: no file system is mounted there")
                continue
            used = 1 - mount["free"] / mount["size"]
            rows.append((host, path, f"{used:4.0%}", f"{mount['size'] / 2**30:.1f} GiB"))
            if used > FULL:
                problems.append(f"{host}:{path} is {used:.0%} full")
    return (["Disks", *table(("host", "path", "used", "size"), rows)], problems) if rows else ([], [])


def jobs(hosts: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Return (lines of the section on systemd units, problems): the state of each unit of services and jobs.

    Problems are units that do not run, that end again and again while systemd restarts them, that have a pending
    restart, or whose process does not use the present files.
    `hosts` is {host: its declared facts}. `probes` is {host: result of the module host_probe}.
    """
    rows = [(host, unit, state) for host in hosts for unit, state in probes.get(host, {}).get("units", {}).items()]
    failing = {(host, unit): facts for host in hosts for unit, facts in probes.get(host, {}).get("failing", {}).items()}
    problems = [
        f"{unit} on {host} is {state}{REMEDIES.get(unit, '')}"
        for host, unit, state in rows
        if state != "active" and (host, unit) not in failing
    ]
    problems += [
        f"{unit} on {host} ends again and again: systemd started it {facts['starts']} times in the last "
        f"{max(1, round(facts['seconds'] / 60))} min. Its last line was: {facts['line'] or '(nothing)'}. See "
        f"`journalctl -u {unit.removesuffix('.service')}` on that host, and correct the cause"
        for (host, unit), facts in failing.items()
    ]
    problems += [
        f"{unit} on {host} runs with an older configuration than its files: run site.yml to restart it"
        for host in hosts
        for unit in probes.get(host, {}).get("behind", [])
    ]
    problems += [
        f"{unit} on {host} does not use all settings in its files: run site.yml, which applies them or reports what "
        "prevents it"
        for host in hosts
        for unit in probes.get(host, {}).get("untold", [])
    ]
    problems += [
        f"{unit} on {host} has a pending restart: restart.yml was interrupted; run it again to resume"
        for host in hosts
        for unit in probes.get(host, {}).get("to_restart", [])
    ]
    return (["Units", *table(("host", "unit", "state"), rows)], problems) if rows else ([], [])


def certificates_section(certificates: Certificates, now: datetime) -> Section:
    """Return (lines of the section on certificates, problems): the days to expiry of each certificate.

    Problems are certificates that expire soon, and ports that serve another certificate than the file on their host.
    """
    rows, problems = [], [*certificates.answer.get("problems", [])]
    for host, answer in certificates.answer.get("hosts", {}).items():
        for name, certificate in answer["held"].items():
            left = datetime.fromisoformat(certificate["until"]).replace(tzinfo=UTC) - now
            days_left = int(left / timedelta(days=1))  # towards 0: expired for three days and an hour is -3
            rows.append((host, name, certificate["subject"], certificate["until"], days_left))
            if days_left < certificates.days:
                problems.append(
                    f"certificate {name} of {host} expires on {certificate['until']}, in {days_left} days "
                    f"(at least {certificates.days} required)"
                )
    problems += [
        f"{port['host']} {port['address']}:{port['port']}: {port['differs']}"
        for port in certificates.served
        if port["differs"]
    ]
    return (
        (["Certificates", *table(("host", "name", "subject", "until", "days"), rows)], problems)
        if rows
        else ([], problems)
    )


NUMBERS = ("controller", "partitions", "offline", "under_replicated")


def as_json(
    declared: Mapping[str, Any],
    probes: Mapping[str, Any],
    cluster: Mapping[str, Any],
    certificates: Certificates | None = None,
    others: Mapping[str, int] | None = None,
    copies: Mapping[str, Any] | None = None,
) -> str:
    """Return the health page as one line of JSON; the arguments are those of `page`.

    Sizes are in bytes, unknown values are null. The keys are:

    - healthy: bool; problems: [text]; not_checked: {function: number of hosts};
    - zookeeper: {host: mode};
    - kafka: the dict of `kafka_numbers`, or null;
    - disks: [{host, path, size, free, error}];
    - units: [{host, unit, state, starts: automatic starts in the last hour of a unit that ends again and again}];
    - jobs: [{host, and the facts of a job that `millrace-jobs status --json` prints}];
    - mirrors: the key `flows` of the module kafka_mirrors;
    - certificates: [{host, name, subject, until (end date)}].
    """
    problems = page(declared, probes, cluster, certificates, others, copies)[1]
    certificates_by_host = ((certificates or Certificates()).answer.get("hosts") or {}).items()
    return json.dumps(
        {
            "healthy": not problems,
            "problems": problems,
            "not_checked": {function: number for function, number in (others or {}).items() if number},
            "zookeeper": {
                host: probes.get(host, {}).get("zookeeper_mode", "unreachable")
                for host in having(declared, "zookeeper")
            },
            "kafka": kafka_numbers(having(declared, "kafka"), cluster),
            "disks": [
                {"host": host, "path": path, **{name: mount.get(name) for name in ("size", "free", "error")}}
                for host in declared
                for path, mount in probes.get(host, {}).get("mounts", {}).items()
            ],
            "units": [
                {"host": host, "unit": unit, "state": state, "starts": starts_of(probes.get(host, {}), unit)}
                for host in declared
                for unit, state in probes.get(host, {}).get("units", {}).items()
            ],
            "jobs": [{"host": host, **job} for host, job in listed(declared, probes)],
            "mirrors": list((copies or {}).get("flows") or []),
            "certificates": [
                {"host": host, "name": name, "subject": certificate["subject"], "until": certificate["until"]}
                for host, answer in certificates_by_host
                for name, certificate in answer["held"].items()
            ],
        }
    )


def starts_of(probe: Mapping[str, Any], unit: str) -> int:
    """Return how often systemd started a unit of a host that ends again and again; 0 for another unit."""
    return int(probe.get("failing", {}).get(unit, {}).get("starts", 0))


def kafka_numbers(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the numbers about Kafka for the JSON page; None if no broker is declared.

    - controller: broker id; partitions, offline, under_replicated: numbers of partitions;
    - leaders: {host: partitions that its broker leads}; registered: {host: bool};
    - undeclared: {id of a broker that the inventory does not have: number of its replicas};
    - racks: {rack: {brokers, leaders, replicas, bytes}};
    - log_dirs: [{broker, host, path, replicas, bytes, largest, size, free, given_up}]: `largest` is the size of the
      largest replica, `given_up` whether the broker took the log dir offline;
    - strays: [{broker, host, path, bytes, partitions}] of log dirs with replicas that are not assigned to the broker.

    `hosts` is {host: its declared facts}, `cluster` is the result of the module kafka_cluster.
    """
    if not hosts:
        return None
    ids = {host: str(facts["broker_id"]) for host, facts in hosts.items()}
    return {
        **{name: cluster.get(name) for name in NUMBERS},
        "leaders": {host: cluster.get("leaders", {}).get(number, 0) for host, number in ids.items()},
        "undeclared": dict(cluster.get("undeclared", {})),
        "registered": {host: number in cluster.get("brokers", {}) for host, number in ids.items()},
        "racks": by_rack(cluster),
        **{name: with_hosts(names_of(hosts), cluster.get(name)) for name in ("log_dirs", "strays")},
    }


def with_hosts(names: Mapping[str, str], entries: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Return the entries, each with the key `host` added: the host of the entry's `broker`.

    Entries are dicts of log dirs or stray replicas. `names` is {broker id as text: host}. Returns None if `entries` is
    None: then no broker was queried.
    """
    if entries is None:
        return None
    return [{**entry, "host": names.get(str(entry["broker"]))} for entry in entries]
