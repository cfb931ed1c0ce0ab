"""What left the inventory, and is needed: brokers, and log dirs of disks that failed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import replicas as replicas_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.disks import whole_disk
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


def brokers(model: Model, probes: Mapping[str, Mapping[str, Any]], undeclared: Mapping[str, int]) -> Iterator[Problem]:
    """A broker that is not declared holds no replica: rules of firewalls would keep it from its followers.

    `undeclared` is what kafka_cluster answers: by id, the replicas of brokers that nobody declares. An id that stands
    on the disks of a declared host is KAFKA_ID_CHANGED of that host.
    """
    hosts = tuple(broker.name for broker in model.brokers)
    disks = [meta for host in hosts for meta in probes.get(host, {}).get("meta_properties", {}).values()]
    renamed = {meta.get("broker.id") for meta in disks}
    for number, replicas in sorted(undeclared.items(), key=lambda item: int(item[0])):
        if replicas and number not in renamed:
            wrong = f"no host has it, and that broker holds {replicas} replicas: firewalls would be closed to it"
            advice = f"put its host back; to remove it, first playbooks/reassign.yml -e drain={number} -e rate=50MB"
            yield Problem(hosts, "kafka_broker_id", "BROKER_DROPPED", int(number), wrong, advice)


def log_dirs(
    model: Model, probes: Mapping[str, Mapping[str, Any]], offline: Sequence[str], alone: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """No log dir that failed is taken out while partitions have no leader: it may hold the last that is in sync.

    Without it the broker would come back with an empty replica, lead, and have the others throw away what they have.
    """
    for broker in model.brokers:
        probe = probes.get(broker.name, {})
        for path, mount in probe.get("dropped", {}).items() if offline else ():
            if path in probe.get("given_up", ()) or "error" in mount or not mount.get("mounted", True):
                shown = _named(offline)
                wrong = f"taken out, its disk failed, and {shown} have no leader: it may hold the last that was in sync"
                verb = _replaced(broker, path, _lacked(broker, probe, alone))
                advice = f"bring the disk back; or put the log dir back, mount a new disk, and give them up ({verb})"
                yield broker.problem("kafka_log_dirs", "LOG_DIR_DROPPED", path, wrong, advice)


def emptied(
    model: Model, probes: Mapping[str, Mapping[str, Any]], alone: Mapping[str, Sequence[str]], lost: Collection[str]
) -> Iterator[Problem]:
    """No broker begins with an empty disk in place of the one that had what nobody else has in sync.

    `alone` is what kafka_cluster answers: by id, the partitions without a leader with which that broker alone was in
    sync. Once it is started, or restarted, it leads them with nothing; those of `lost` may be. What a broker serves
    from under a disk that was mounted over it has a leader still, and none after a restart.
    """
    for broker in model.brokers:
        probe = probes.get(broker.name)
        paths = _new(broker, probe) if probe else []
        if not probe or not paths:
            continue
        serves = {os.path.normpath(path) for path in probe.get("serves", ())}
        for path in paths:
            if os.path.normpath(path) in serves and ".lock" not in probe["mounts"][path].get("names", []):
                wrong = (
                    "empty, and the broker serves still from the disk that was mounted there before: with a restart it "
                    "loses what it has on that"
                )
                advice = (
                    "unmount the new one, and what it serves from is there again; or stop the broker first "
                    f"(playbooks/stop.yml -l {broker.name}), then {_replaced(broker, path)}"
                )
                yield broker.problem("kafka_log_dirs", "LOG_DIR_EMPTY", path, wrong, advice)
        if left := [name for name in _lacked(broker, probe, alone) if name not in lost]:
            wrong = (
                f"empty, and with {_named(left)} this broker alone was in sync: it would lead with nothing, and the "
                "other replicas would throw away what they have"
            )
            if probe["log_dirs"]:
                verb = _replaced(broker, paths[0], left)
            else:  # that takes in a disk of a broker that is installed
                verb = f"playbooks/site.yml -e lost={','.join(left)}"
            advice = f"bring the old disk back; or give their records up ({verb})"
            yield broker.problem("kafka_log_dirs", "LOG_DIR_EMPTY", ", ".join(paths), wrong, advice)


def _replaced(broker: Broker, path: str, lost: Sequence[str] = ()) -> str:
    """Return what takes in a new disk; one partition that it leaves out would be a reason to refuse it."""
    verb = f"playbooks/replace_disk.yml -e broker={broker.inputs.values.get('kafka_broker_id')} -e log_dir={path}"
    return f"{verb} -e lost={','.join(lost)}" if lost else verb


def _lacked(broker: Broker, probe: Mapping[str, Any], alone: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what a broker alone had in sync, and has on none of its log dirs."""
    held = replicas_of(name for mount in probe["mounts"].values() for name in mount.get("names", []))
    kept = {f"{topic}-{one}" for topic, one in held}
    return [name for name in alone.get(str(broker.inputs.values.get("kafka_broker_id")), ()) if name not in kept]


def _new(broker: Broker, probe: Mapping[str, Any]) -> list[str]:
    """Return the log dirs that the broker was installed with, and in which none has served so far.

    All of them where none is installed: its host may have been installed anew, under an id that the cluster knows.
    """
    installed = {os.path.normpath(path) for path in probe["log_dirs"] or broker.log_dirs}
    are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
    return [
        path
        for path in broker.log_dirs
        if os.path.normpath(path) in installed
        and not probe["meta_properties"].get(path)
        and whole_disk(probe["mounts"][path], are_mounts)
    ]


def _named(partitions: Sequence[str]) -> str:
    return ", ".join(partitions[:3]) + (", ..." if len(partitions) > 3 else "")
