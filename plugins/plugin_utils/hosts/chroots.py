"""Checks that a broker stays in its cluster: the same chroot (znode) of the same ZooKeeper servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# model/risks.py adds to the advice when these may be accepted.
ZOOKEEPER_CHROOT_CHANGED = ProblemKind(
    "ZOOKEEPER_CHROOT_CHANGED",
    "server.properties on this host has the chroot {old}. The disks belong to the cluster there, and no broker "
    "starts with the disks of another cluster",
    "set {restore} again: changing this setting does not move a cluster",
)
ZOOKEEPER_SERVERS_CHANGED = ProblemKind(
    "ZOOKEEPER_SERVERS_CHANGED",
    "server.properties on this host names {servers}, and none of these is declared. The disks belong to the cluster "
    "there, and no broker starts with the disks of another cluster",
    "declare the old servers again and replace them one by one, with a run after each",
)


def zookeeper_moved(model: Model, broker: Broker, probe: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if a broker with data would connect to another chroot or another ZooKeeper ensemble.

    `probe` is the result of host_probe. The ensemble counts as another if none of the servers in the installed
    server.properties is declared: a site may add and replace single servers.
    """
    installed, _, path = probe["zookeeper_connect"].partition("/")
    if not installed or not any(meta.get("cluster.id") for meta in probe["meta_properties"].values()):
        return
    old, new = f"/{path}".rstrip("/"), str(broker.inputs.get("kafka_zookeeper_chroot") or "").rstrip("/")
    if old != new:
        restore = old or "''"
        yield broker.report(ZOOKEEPER_CHROOT_CHANGED, "kafka_zookeeper_chroot", new, old=old or "none", restore=restore)
    servers = _hosts(installed.split(","))
    known = {str(address) for server in model.servers for address in (server.name, *server.addresses)}
    if broker.zookeeper_connect and not servers & (known | _hosts(broker.zookeeper_connect)):
        value = ",".join(broker.zookeeper_connect)
        yield broker.report(ZOOKEEPER_SERVERS_CHANGED, "kafka_zookeeper_connect", value, servers=sorted(servers))


def _hosts(entries: list[str]) -> set[str]:
    """Return the host names in a list of `host:port` entries; the port does not identify a server."""
    return {entry.strip().rpartition(":")[0].strip("[]") or entry.strip() for entry in entries}
