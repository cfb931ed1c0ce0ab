"""The page of check.yml for programs; no Ansible import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health import Certificates, having, page
from ansible_collections.millrace.kafka.plugins.plugin_utils.health_kafka import by_rack
from ansible_collections.millrace.kafka.plugins.plugin_utils.health_lines import names_of

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
            "kafka": kafka(having(declared, "kafka"), cluster),
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


def kafka(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any] | None:
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
