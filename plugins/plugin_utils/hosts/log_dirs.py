"""What the log dirs of a broker hold: each replica once, and none where it is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import futures, named, replicas
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.disks import LOG_DIRS, NEVER, Probe, whole_disk
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

NO_START = "no broker starts with a replica in two log dirs"
LISTED = "docs/reassign.md says how to list them"


def of_a_broker(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """No replica is in two log dirs, and none in one that is taken out."""
    are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
    whole = [path for path in broker.log_dirs if whole_disk(probe["mounts"][path], are_mounts)]
    yield from _duplicates(broker, probe, whole)
    yield from _dropped(broker, probe)


def _duplicates(broker: Broker, probe: Probe, paths: Sequence[str]) -> Iterator[Problem]:
    """No replica is in two log dirs: no broker starts so (LogManager.loadLog).

    Two paths that lead to one directory hold the same, and nothing is to be moved.
    """
    of: dict[object, list[str]] = {}
    for path in paths:
        of.setdefault(_directory(path, probe["mounts"][path]), []).append(path)
    for same in of.values():
        if len(same) > 1 and not broker.inputs.on("kafka_log_dirs_are_mounts"):  # else DEVICE_SHARED
            wrong = "one directory, and no broker starts with a log dir twice"
            advice = "name it once, or correct a path"
            yield broker.problem(LOG_DIRS, "LOG_DIR_DUPLICATE", ", ".join(same), wrong, advice)
    paths = [same[0] for same in of.values()]
    for kind, state in ((replicas, ""), (futures, " on its way")):
        where: dict[Place, list[str]] = {}
        for path in paths:
            for place in kind(probe["mounts"][path].get("names", [])):
                where.setdefault(place, []).append(path)
        for both in sorted({tuple(found) for found in where.values() if len(found) > 1}):
            yield _duplicate(
                broker, probe, both, named(place for place in where if tuple(where[place]) == both) + state
            )


def _directory(path: str, mount: Mapping[str, Any]) -> object:
    """Return what two paths have in common that lead to one directory."""
    return (mount["device"], mount["inode"]) if "inode" in mount else path


def _duplicate(broker: Broker, probe: Probe, both: Sequence[str], shown: str) -> Problem:
    """Return what is said of log dirs that hold the same.

    A log dir that was taken out with its disk, and is put in again with what it held then, is said by a code of its
    own: no harm comes of it where the broker's file is not written.
    """
    installed, serves = (
        [path for path in both if os.path.normpath(path) in {os.path.normpath(one) for one in probe.get(known, ())}]
        for known in ("log_dirs", "serves")
    )
    aside = f"to a place that is no log dir ({LISTED}); {NEVER}"
    back = [path for path in both if path not in installed]
    if installed and back:
        wrong = f"put in, and holds {shown}, which the broker has in {', '.join(installed)}: {NO_START}"
        advice = f"move these folders out of {', '.join(back)}, {aside}"
        return broker.problem(LOG_DIRS, "LOG_DIR_RETURNED", ", ".join(back), wrong, advice)
    rest = [path for path in both if path not in serves]
    which = "the one whose disk was away, else of the one with the older files"
    if serves and rest:
        which = f"{', '.join(rest)}, for the broker serves from {serves[0]}"
    advice = f"move these folders out of {which}, {aside}"
    return broker.problem(LOG_DIRS, "LOG_DIR_DUPLICATE", ", ".join(both), f"hold {shown} each: {NO_START}", advice)


def _dropped(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """A log dir that the broker is not to have any more holds no replica; one that it gave up is of no use anyway."""
    kept = {_directory(path, probe["mounts"][path]): probe["mounts"][path].get("names", []) for path in broker.log_dirs}
    for path, mount in probe["dropped"].items():
        held = set() if path in probe.get("given_up", ()) else replicas(mount.get("names", []))
        others = [names for place, names in kept.items() if place != _directory(path, mount)]
        twice = held & replicas(name for names in others for name in names)
        if twice:
            wrong = f"taken out, and it holds {named(twice)}, which other log dirs of the broker hold, too"
            advice = f"move these folders out of it, to a place that is no log dir ({LISTED}); {NEVER}"
            yield broker.problem(LOG_DIRS, "LOG_DIR_DROPPED", path, wrong, advice)
        if held - twice:
            number = broker.inputs.values.get("kafka_broker_id")
            wrong = f"taken out, and it holds {named(held - twice)}: the broker would come back without them"
            advice = f"empty it first (playbooks/reassign.yml -e empty={number}:{path} -e rate=50MB); {NEVER}"
            yield broker.problem(LOG_DIRS, "LOG_DIR_DROPPED", path, wrong, advice)
