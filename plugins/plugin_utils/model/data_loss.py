"""Rules on settings with which acknowledged records vanish: not synced, or deleted at once."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import SPANS, TINY
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import seconds, tiny, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

UNSYNCED = "the server acknowledges what a power cut takes away"
TRUSTING = "a server that lost its snapshots starts empty, and may lead"
# Settings of a ZooKeeper server, their values that lose data, and why.
ZOOKEEPER = {"forceSync": ("no", "false", UNSYNCED), "snapshot.trust.empty": ("true", "yes", TRUSTING)}
# The least of each that keeps a record for longer than an outage of its readers, in milliseconds and bytes.
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
    """Servers sync what they acknowledge, and do not start empty."""
    for server in model.servers:
        given = [(f"zookeeper_config[{name}]", str(name), text(value)) for name, value in server.config.items()]
        for variable, told in options(server).items():
            parts = (option.removeprefix("-Dzookeeper.").partition("=") for option in told if "-Dzookeeper." in option)
            given += [(variable, name, value) for name, _, value in parts]
        for variable, name, value in given:
            *bad, wrong = ZOOKEEPER.get(name.removeprefix("zookeeper."), ("",))
            if name == "autopurge.purgeInterval" and (whole(value) or 0) < 1:
                wrong = "snapshots and logs are never deleted, until the disk is full and the server ends"
                yield server.problem(variable, "PURGE_OFF", value, wrong, "leave it out, or say hours", warning=True)
            if value.lower() in bad:
                yield server.problem(variable, "ZOOKEEPER_UNSAFE", f"{name}={value}", wrong, "take it out")


def retention(model: Model) -> Iterator[Problem]:
    """Records and offsets live longer than an outage, and compacted topics are compacted."""
    for broker in model.brokers:
        for variable, layer in broker.layers:
            for name, least in LEAST.items():
                value = whole(layer.get(name))
                meant = (name in SPANS and seconds(value)) or (name in TINY and tiny(value))  # said as LIMIT_MEANT
                if value is not None and 0 <= value < least and not meant:
                    wrong = f"less than {least}: gone before a reader that was down has come back"
                    advice = "raise it, or leave it if that is meant"
                    yield broker.problem(f"{variable}[{name}]", "RETENTION_SHORT", value, wrong, advice, warning=True)
            name = "log.cleaner.enable"
            if text(layer.get(name)).lower() == "false":
                wrong = "compacted topics grow for ever, consumers' offsets among them, until disks are full"
                yield broker.problem(f"{variable}[{name}]", "CLEANER_OFF", False, wrong, "leave it out", warning=True)
