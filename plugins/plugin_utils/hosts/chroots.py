"""A broker stays where its cluster is kept: below the same znode, of the same ZooKeeper servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


def kept(model: Model, broker: Broker, probe: Mapping[str, Any]) -> Iterator[Problem]:
    """A broker with data finds its cluster again, whose id its disks name: elsewhere it would not start.

    An ensemble grows and changes server by server; one that has nothing of what the broker was told is another.
    """
    told, _, path = probe["zookeeper_connect"].partition("/")
    if not told or not any(meta.get("cluster.id") for meta in probe["meta_properties"].values()):
        return
    old, new = f"/{path}".rstrip("/"), str(broker.inputs.get("kafka_zookeeper_chroot") or "").rstrip("/")
    elsewhere = "its disks are of the cluster there, and no broker would start elsewhere"
    if old != new:
        wrong = f"the server.properties of this host says {old or 'none'}: {elsewhere}"
        advice = f"say {old or repr('')} again: no change of the configuration moves a cluster to another chroot"
        yield broker.problem("kafka_zookeeper_chroot", "ZOOKEEPER_CHROOT_CHANGED", new, wrong, advice)
    servers = _hosts(told.split(","))
    known = {str(address) for server in model.servers for address in (server.name, *server.addresses)}
    if broker.zookeeper_connect and not servers & (known | _hosts(broker.zookeeper_connect)):
        shown = ", ".join(sorted(servers))
        wrong = f"the server.properties of this host names {shown}, none of which is declared: {elsewhere}"
        advice = "put the servers back, and replace them one by one, with a run after each"
        value = ",".join(broker.zookeeper_connect)
        yield broker.problem("kafka_zookeeper_connect", "ZOOKEEPER_SERVERS_CHANGED", value, wrong, advice)


def _hosts(entries: list[str]) -> set[str]:
    """Return who is named, without ports: another port is the same server."""
    return {entry.strip().rpartition(":")[0].strip("[]") or entry.strip() for entry in entries}
