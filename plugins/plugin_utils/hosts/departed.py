"""Checks brokers, and log dirs on failed disks, that are no longer in the inventory but hold data that is needed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import replicas as replicas_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.disks import is_usable
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.log_dirs import LOG_DIR_DROPPED_OFFLINE
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count_of

BROKER_DROPPED = ProblemKind(
    "BROKER_DROPPED",
    "no host of the inventory has this id, but a broker with this id has {replicas}: the firewalls would "
    "block that broker",
    "declare its host again. To remove the broker, first run playbooks/reassign.yml -e drain={id} -e rate=50MB",
)


def dropped_brokers(
    model: Model, probes: Mapping[str, Mapping[str, Any]], undeclared: Mapping[str, int]
) -> Iterator[Problem]:
    """Yield a problem for each broker that is not declared and still has replicas.

    The new firewall rules would separate such a broker from its followers. `undeclared` is {broker id: number of
    replicas}. If a declared host has data of this id on its disks, KAFKA_ID_CHANGED reports it, and this function does
    not.
    """
    hosts = tuple(broker.name for broker in model.brokers)
    disks = [meta for host in hosts for meta in probes.get(host, {}).get("meta_properties", {}).values()]
    changed = {meta.get("broker.id") for meta in disks}
    for number, replicas in sorted(undeclared.items(), key=lambda item: int(item[0])):
        if replicas and number not in changed:
            yield BROKER_DROPPED.problem(
                hosts, "kafka_broker_id", int(number), replicas=count_of(replicas, "replica"), id=number
            )


def dropped_log_dirs(
    model: Model, probes: Mapping[str, Mapping[str, Any]], offline: Sequence[str], alone: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Yield a problem for each undeclared log dir on a failed disk, if any partitions are without a leader.

    The log dir may contain the last in-sync replica of such a partition. Without it, the broker would start an empty
    replica as the leader, and the followers would truncate their replicas.
    `offline` are the partitions without a leader. `alone` is {broker id: partitions without a leader of which this
    broker was the only in-sync replica}.
    """
    for broker in model.brokers:
        probe = probes.get(broker.name, {})
        for path, mount in probe.get("dropped", {}).items() if offline else ():
            if path in probe.get("given_up", ()) or "error" in mount or not mount.get("mounted", True):
                command = _replace_disk(broker, path, _lost_replicas(broker, probe, alone))
                yield broker.report(
                    LOG_DIR_DROPPED_OFFLINE, "kafka_log_dirs", path, partitions=_first(offline), command=command
                )


LOG_DIR_EMPTY = ProblemKind(
    "LOG_DIR_EMPTY",
    "empty, and this broker was the only in-sync replica of {partitions}: the broker would lead with no records, and "
    "the followers would truncate theirs",
    "mount the old disk again, or give the records up ({command})",
)
LOG_DIR_EMPTY_SERVES = LOG_DIR_EMPTY.variant(
    message="empty, and the broker still serves from the disk that was mounted there before: a restart would lose what "
    "is on that disk",
    advice="unmount the new disk to see the old one again. Or first stop the broker (playbooks/stop.yml -l {host}), "
    "then run {command}",
)


def empty_log_dirs(
    model: Model, probes: Mapping[str, Mapping[str, Any]], alone: Mapping[str, Sequence[str]], lost: Collection[str]
) -> Iterator[Problem]:
    """Yield a problem for each empty log dir with which a broker would lose the only in-sync replica of a partition.

    With an empty replica, the broker would lead the partition, and its records would be lost. `alone` is {broker id:
    partitions without a leader of which this broker was the only in-sync replica}; `lost` are the partitions whose
    records the user gave up.

    Also yield a problem for an empty disk that was mounted over a log dir in use: its replicas are lost at a restart.
    """
    for broker in model.brokers:
        probe = probes.get(broker.name)
        paths = _new_log_dirs(broker, probe) if probe else []
        if not probe or not paths:
            continue
        serves = {os.path.normpath(path) for path in probe.get("serves", ())}
        for path in paths:
            if os.path.normpath(path) in serves and ".lock" not in probe["mounts"][path].get("names", []):
                command = _replace_disk(broker, path)
                yield broker.report(LOG_DIR_EMPTY_SERVES, "kafka_log_dirs", path, host=broker.name, command=command)
        if partitions := [name for name in _lost_replicas(broker, probe, alone) if name not in lost]:
            if probe["log_dirs"]:
                command = _replace_disk(broker, paths[0], partitions)
            else:  # replace_disk.yml needs an installed broker
                command = f"playbooks/site.yml -e lost={','.join(partitions)}"
            yield broker.report(
                LOG_DIR_EMPTY, "kafka_log_dirs", ", ".join(paths), partitions=_first(partitions), command=command
            )


def _replace_disk(broker: Broker, path: str, lost: Sequence[str] = ()) -> str:
    """Return the replace_disk.yml command for a new disk at `path`; the playbook requires all partitions in `lost`."""
    command = f"playbooks/replace_disk.yml -e broker={broker.inputs.values.get('kafka_broker_id')} -e log_dir={path}"
    return f"{command} -e lost={','.join(lost)}" if lost else command


def _lost_replicas(broker: Broker, probe: Mapping[str, Any], alone: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the partitions of which this broker was the only in-sync replica, and that no log dir of it contains.

    `alone` is {broker id: partitions of which the broker was the only in-sync replica}.
    """
    held = replicas_of(name for mount in probe["mounts"].values() for name in mount.get("names", []))
    kept = {f"{topic}-{number}" for topic, number in held}
    return [name for name in alone.get(str(broker.inputs.values.get("kafka_broker_id")), ()) if name not in kept]


def _new_log_dirs(broker: Broker, probe: Mapping[str, Any]) -> list[str]:
    """Return the usable log dirs of a broker that are in its server.properties and have never held data.

    If no broker is installed on the host, all its log dirs count: the host may have been reinstalled, while the cluster
    still knows the broker id.
    """
    installed = {os.path.normpath(path) for path in probe["log_dirs"] or broker.log_dirs}
    are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
    return [
        path
        for path in broker.log_dirs
        if os.path.normpath(path) in installed
        and not probe["meta_properties"].get(path)
        and is_usable(probe["mounts"][path], are_mounts)
    ]


def _first(partitions: Sequence[str]) -> str:
    """Return the first three partitions as text, followed by `...` if there are more."""
    return ", ".join(partitions[:3]) + (", ..." if len(partitions) > 3 else "")
