"""Checks the contents of a broker's log dirs: a replica is in one log dir only, and in no log dir that was removed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import futures, named, replicas
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.disks import KEPT, LOG_DIRS, Probe, is_usable
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

NO_START = "no broker starts with a replica in two log dirs"
ASIDE = f"to a place that is no log dir (docs/reassign.md shows how to list them){KEPT}"


def broker_log_dirs(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """Yield a problem for each replica that is in two log dirs, or in a log dir removed from the inventory."""
    are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
    usable = [path for path in broker.log_dirs if is_usable(probe["mounts"][path], are_mounts)]
    yield from _duplicates(broker, probe, usable)
    yield from _removed(broker, probe)


LOG_DIR_DUPLICATE = ProblemKind(
    "LOG_DIR_DUPLICATE",
    f"each contains {{replicas}}: {NO_START}",
    f"move these folders out of the log dir whose disk was away, else out of the one with the older files, {ASIDE}",
)
LOG_DIR_DUPLICATE_SERVES = LOG_DIR_DUPLICATE.variant(
    advice=f"move these folders out of {{others}}, since the broker serves from {{serves}}, {ASIDE}"
)
LOG_DIR_DUPLICATE_PATH = LOG_DIR_DUPLICATE.variant(
    message="one directory, and no broker starts if a log dir is declared twice",
    advice="declare it once, or correct a path",
)
LOG_DIR_RETURNED = ProblemKind(
    "LOG_DIR_RETURNED",
    f"added again, and contains {{replicas}}, which the broker has in {{installed}}: {NO_START}",
    f"move these folders out of {{returned}}, {ASIDE}",
)


def _duplicates(broker: Broker, probe: Probe, paths: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for replicas that are in two of these log dirs: the broker would not start (LogManager.loadLog).

    Two paths of the same directory are reported once for these paths, not for each replica.
    """
    by_directory: dict[object, list[str]] = {}
    for path in paths:
        by_directory.setdefault(_directory(path, probe["mounts"][path]), []).append(path)
    for same in by_directory.values():
        if len(same) > 1 and not broker.inputs.on("kafka_log_dirs_are_mounts"):  # else DEVICE_SHARED
            yield broker.report(LOG_DIR_DUPLICATE_PATH, LOG_DIRS, ", ".join(same))
    paths = [same[0] for same in by_directory.values()]
    for kind, state in ((replicas, ""), (futures, " (being moved)")):
        holders: dict[Place, list[str]] = {}
        for path in paths:
            for replica in kind(probe["mounts"][path].get("names", [])):
                holders.setdefault(replica, []).append(path)
        for both in sorted({tuple(found) for found in holders.values() if len(found) > 1}):
            shown = named(replica for replica in holders if tuple(holders[replica]) == both) + state
            yield _duplicate(broker, probe, both, shown)


def _directory(path: str, mount: Mapping[str, Any]) -> object:
    """Return what identifies the directory at `path`: (device, inode), or the path if these are unknown."""
    return (mount["device"], mount["inode"]) if "inode" in mount else path


def _duplicate(broker: Broker, probe: Probe, both: Sequence[str], shown: str) -> Problem:
    """Return the problem of the log dirs `both`, which contain the same replicas; `shown` is a text with their names.

    The problem is LOG_DIR_RETURNED if a log dir was removed with its disk and is added again with its old contents.
    Those contents do no harm as long as server.properties is not written.
    """
    installed, serves = (
        [path for path in both if os.path.normpath(path) in {os.path.normpath(one) for one in probe.get(key, ())}]
        for key in ("log_dirs", "serves")
    )
    returned = [path for path in both if path not in installed]
    if installed and returned:
        value = ", ".join(returned)
        return broker.report(LOG_DIR_RETURNED, LOG_DIRS, value, replicas=shown, installed=installed, returned=returned)
    others, value = [path for path in both if path not in serves], ", ".join(both)
    if serves and others:
        return broker.report(LOG_DIR_DUPLICATE_SERVES, LOG_DIRS, value, replicas=shown, others=others, serves=serves[0])
    return broker.report(LOG_DIR_DUPLICATE, LOG_DIRS, value, replicas=shown)


LOG_DIR_DROPPED = ProblemKind(
    "LOG_DIR_DROPPED",
    "removed from the inventory, and contains {replicas}: the broker would start without them",
    f"first empty it (playbooks/reassign.yml -e empty={{broker}}:{{path}} -e rate=50MB){KEPT}",
)
LOG_DIR_DROPPED_TWICE = LOG_DIR_DROPPED.variant(
    message="removed from the inventory, and contains {replicas}, which other log dirs of the broker contain too",
    advice=f"move these folders out of it, {ASIDE}",
)
LOG_DIR_DROPPED_OFFLINE = LOG_DIR_DROPPED.variant(
    message="removed from the inventory after its disk failed, and {partitions} have no leader: it may contain the "
    "last in-sync replica",
    advice="repair the disk. Or add the log dir again, mount a new disk, and give the records up ({command})",
)


def _removed(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """Yield a problem for each log dir that was removed from the inventory and still contains replicas.

    A log dir that the running broker took offline, because its disk failed, is skipped.
    """
    kept = {_directory(path, probe["mounts"][path]): probe["mounts"][path].get("names", []) for path in broker.log_dirs}
    for path, mount in probe["dropped"].items():
        held = set() if path in probe.get("given_up", ()) else replicas(mount.get("names", []))
        others = [names for place, names in kept.items() if place != _directory(path, mount)]
        twice = held & replicas(name for names in others for name in names)
        if twice:
            yield broker.report(LOG_DIR_DROPPED_TWICE, LOG_DIRS, path, replicas=named(twice))
        if held - twice:
            number = broker.inputs.values.get("kafka_broker_id")
            yield broker.report(LOG_DIR_DROPPED, LOG_DIRS, path, replicas=named(held - twice), broker=number, path=path)
