"""Checks settings of ZooKeeper and brokers with which acknowledged data can be lost.

With such a setting, data is not synced to the disk, or is deleted too early.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import SPANS, TINY, UNLIMITED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ensemble import settings_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import seconds, tiny, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

ZOOKEEPER_UNSAFE = ProblemKind(
    "ZOOKEEPER_UNSAFE", "the server acknowledges data that a power failure would lose", "remove it"
)
ZOOKEEPER_UNSAFE_EMPTY = ZOOKEEPER_UNSAFE.variant(
    message="a server that has lost its snapshots starts empty, and may become leader"
)
# Settings of a ZooKeeper server: the values that lose data, and the kind of problem.
ZOOKEEPER = {
    "forceSync": (("no", "false"), ZOOKEEPER_UNSAFE),
    "snapshot.trust.empty": (("true", "yes"), ZOOKEEPER_UNSAFE_EMPTY),
}
PURGE_OFF = ProblemKind(
    "PURGE_OFF",
    "the server never deletes old snapshots and logs: the disk fills up, and the server stops",
    "remove it (default: 24), or set a number of hours",
    warning=True,
)
# The smallest values that keep a record longer than an outage of its readers, in the unit of the name.
HOUR = 3_600_000
LEAST = {
    "log.retention.ms": HOUR,
    "log.retention.minutes": 60,
    "log.retention.hours": 1,
    "log.retention.bytes": 2**20,
    "log.cleaner.delete.retention.ms": HOUR,
    "offsets.retention.minutes": 1440,
}


def zookeeper(model: Model) -> Iterator[Problem]:
    """Yield a problem for each ZooKeeper setting that can lose acknowledged data (forceSync, snapshot.trust.empty).

    Also yield a warning if autopurge is off, because old snapshots would fill the disk.
    """
    for server in model.servers:
        for variable, name, value, shown in settings_of(server):
            if name == "autopurge.purgeInterval" and (whole(value) or 0) < 1:
                yield server.report(PURGE_OFF, variable, shown)
            unsafe_values, kind = ZOOKEEPER.get(name, ((), ZOOKEEPER_UNSAFE))
            if value.lower() in unsafe_values:
                yield server.report(kind, variable, shown)


RETENTION_SHORT = ProblemKind(
    "RETENTION_SHORT",
    "less than {least}: records can be deleted before a reader returns after an outage",
    "raise it, or keep it if that is intended",
    warning=True,
)
CLEANER_OFF = ProblemKind(
    "CLEANER_OFF",
    "compacted topics such as __consumer_offsets grow until disks are full",
    "remove it (default: true)",
    warning=True,
)


def retention(model: Model) -> Iterator[Problem]:
    """Yield a warning for each retention of records or offsets that is shorter than a usual outage of a consumer.

    Also yield a warning if the log cleaner is off, because compacted topics would fill the disk.
    """
    for broker in model.brokers:
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        for variable, layer in broker.layers:
            for name, least in LEAST.items():
                value = whole(layer.get(name))
                other_unit = (name in SPANS and seconds(value)) or (name in TINY and tiny(value))  # LIMIT_MEANT
                if value is None or not 0 <= value < least or other_unit:
                    continue
                is_rejected = value == 0 and name in UNLIMITED and not name.endswith("bytes")  # LIMIT_MEANT
                if not is_rejected and not list(definitions.judge("broker", {name: layer[name]})):
                    yield broker.report(RETENTION_SHORT, f"{variable}[{name}]", value, least=least)
            name = "log.cleaner.enable"
            if text(layer.get(name)).lower() == "false":
                yield broker.report(CLEANER_OFF, f"{variable}[{name}]", False)
