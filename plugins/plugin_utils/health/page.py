"""The one page of check.yml, from answers that other modules collected; no Ansible import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import (
    Section,
    brokers,
    by_rack,
    log_dirs,
    names_of,
    racks,
    table,
)

# A log dir fuller than this is a problem: Kafka stops a log dir at the first write that fails.
FULL = 0.85
# What is declared of a host that has no function.
NOTHING: Mapping[str, Any] = {"functions": (), "broker_id": None, "rack": None, "listeners": {}, "disks": ()}


# By unit that only runs now and then, what is done where its last run has failed: it stays so until the next.
MENDS = {
    "millrace-rebalance.service": ": `journalctl -u millrace-rebalance` there says why, and what to do; then "
    "`systemctl reset-failed millrace-rebalance`, or its next run that ends well, takes this line away"
}


@dataclass(frozen=True)
class Certificates:
    """What is known of certificates.

    The answers of the action certificates and the module tls_served, and the fewest days to be left.
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
) -> tuple[str, list[str]]:
    """Return the page's text and what is wrong, in one line each.

    `declared` is {host: {functions, broker_id, rack, listeners, disks}}, `probes` {host: answer of host_probe} (a
    host that did not answer is missing, or is `silent` and has no more than what `with_timer` knows), `cluster` the
    answer of kafka_cluster, `others` how many hosts of each function are not looked at (--limit).
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
        certificates_section(certificates or Certificates(), datetime.now(UTC)),
    ):
        lines += [*section[0], ""] if section[0] else []
        problems += section[1]
    unseen = [f"{number} of {function}" for function, number in others.items() if number]
    where = f", as far as these hosts show; not looked at: {', '.join(unseen)}" if unseen else ""
    lines.append(
        f"HEALTHY{where}"
        if not problems
        else f"NOT HEALTHY{where}\n" + "\n".join(f"  - {problem}" for problem in problems)
    )
    return "\n".join(lines), problems


def with_timer(
    declared: Mapping[str, Any], probes: Mapping[str, Any], admin: str, units: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is declared and was answered, with the units of a host's timer; its service only runs now and then.

    That is named where its last run has failed. A host that is declared, and did not answer, stays silent.
    """
    shown = {name: state for name, state in units.items() if name.endswith(".timer") or state == "failed"}
    probe = probes.get(admin, {"silent": admin in declared})
    answered = {**probe, "units": {**probe.get("units", {}), **shown}}
    return {**declared, admin: declared.get(admin, NOTHING)}, {**probes, admin: answered}


def having(declared: Mapping[str, Any], function: str) -> dict[str, Any]:
    """Return the hosts that have a function, one of several perhaps."""
    return {host: facts for host, facts in declared.items() if function in facts["functions"]}


def zookeeper(hosts: Mapping[str, Any], probes: Mapping[str, Any], others: int = 0) -> Section:
    """Mode of each server; exactly one leads, one of `others` perhaps, who were not asked."""
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
        if more := probes.get(host, {}).get("zookeeper_strangers"):
            problems.append(
                f"ZooKeeper on {host}, the leader, has {more} more server{'s' if more > 1 else ''} than the inventory: "
                f"what was taken out of the group zookeeper still runs; stop and disable zookeeper.service there, or "
                f"put the host back (`ss -tn` on {host} shows whom it serves)"
            )
    return ["ZooKeeper", *table(("server", "mode"), modes.items())], problems


def disks(hosts: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Use of each data file system, and whether it works; log dirs that a running broker has given up."""
    rows, problems = [], []
    for host, facts in hosts.items():
        given_up = probes.get(host, {}).get("given_up", [])
        problems += [
            f"the broker on {host} has given up {path}: repair the disk, then restart kafka.service; or mount a new "
            "one, then replace_disk.yml"
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
    """State of each service and job."""
    rows = [(host, unit, state) for host in hosts for unit, state in probes.get(host, {}).get("units", {}).items()]
    problems = [f"{unit} on {host} is {state}{MENDS.get(unit, '')}" for host, unit, state in rows if state != "active"]
    problems += [
        f"{unit} on {host} runs with an older configuration than is on its disk: site.yml restarts it"
        for host in hosts
        for unit in probes.get(host, {}).get("behind", [])
    ]
    problems += [
        f"{unit} on {host} has not been told all settings that are on its disk: site.yml tells it, or says what "
        "is in the way"
        for host in hosts
        for unit in probes.get(host, {}).get("untold", [])
    ]
    problems += [
        f"{unit} on {host} is still to be restarted: restart.yml was cut off, and goes on where it is run anew"
        for host in hosts
        for unit in probes.get(host, {}).get("to_restart", [])
    ]
    return (["Units", *table(("host", "unit", "state"), rows)], problems) if rows else ([], [])


def certificates_section(found: Certificates, now: datetime) -> Section:
    """Days left of each certificate, and ports that serve another than the one on their disk."""
    rows, problems = [], [*found.answer.get("problems", [])]
    for host, answer in found.answer.get("hosts", {}).items():
        for name, held in answer["held"].items():
            left = (datetime.fromisoformat(held["until"]).replace(tzinfo=UTC) - now).days
            rows.append((host, name, held["subject"], held["until"], left))
            if left < found.days:
                problems.append(
                    f"the certificate {name} of {host} ends on {held['until']}: {left} days are left, "
                    f"fewer than {found.days}"
                )
    problems += [
        f"{port['host']} {port['address']}:{port['port']}: {port['differs']}"
        for port in found.served
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
) -> str:
    """Return one line of JSON, of what `page` takes.

    {healthy, problems: [text], not_looked_at: {function: hosts}, zookeeper: {host: mode}, kafka: null or {controller,
    partitions, offline, under_replicated, leaders: {host: partitions}, registered: {host: bool},
    undeclared: {id: replicas}, racks: {rack: {brokers, leaders, replicas, bytes}}, log_dirs: [{broker, host, path,
    replicas, bytes, largest, size, free, given_up}], strays: [{broker, host, path, bytes, partitions: [name]}]},
    disks: [{host, path, size, free, error}] in bytes, units: [{host, unit, state}], certificates: [{host, name,
    subject, until}]}. What is not known is null.
    """
    problems = page(declared, probes, cluster, certificates, others)[1]
    held = ((certificates or Certificates()).answer.get("hosts") or {}).items()
    return json.dumps(
        {
            "healthy": not problems,
            "problems": problems,
            "not_looked_at": {function: number for function, number in (others or {}).items() if number},
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
                {"host": host, "unit": unit, "state": state}
                for host in declared
                for unit, state in probes.get(host, {}).get("units", {}).items()
            ],
            "certificates": [
                {"host": host, "name": name, "subject": one["subject"], "until": one["until"]}
                for host, answer in held
                for name, one in answer["held"].items()
            ],
        }
    )


def kafka_numbers(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return numbers of the cluster, and those of each declared broker; None where none is declared."""
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


def with_hosts(names: Mapping[str, str], found: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Return what is said of brokers' log dirs, each with its host, null where none is declared or looked at."""
    return None if found is None else [{**one, "host": names.get(str(one["broker"]))} for one in found]
