"""Compares the hosts, as the module host_probe reports them, with the inventory.

Each Python module of this package checks one subject. A check compares a Machine, which is a host in the model, with
the result of host_probe on this host, and yields problems.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import (
    archives,
    chroots,
    connections,
    databases,
    departed,
    disks,
    host_facts,
    log_dirs,
    ports,
    protocol,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import risks
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

Probe = Mapping[str, Any]
Check = Callable[[Model, Machine, Probe], Iterator[Problem]]

MACHINE_CHECKS: tuple[Check, ...] = (
    host_facts.addresses,
    host_facts.clock,
    host_facts.java,
    host_facts.libraries,
    host_facts.limits,
    host_facts.memory,
    connections.firewall,
    disks.function_disks,
    databases.data,
    databases.memory,
)


def check_hosts(
    model: Model,
    probes: Mapping[str, Probe],
    undeclared: Mapping[str, int] | None = None,
    offline: Sequence[str] = (),
    alone: Mapping[str, Sequence[str]] | None = None,
    lost: Collection[str] = (),
    registered: Collection[str] = (),
) -> list[Problem]:
    """Return every difference between the probed hosts and the model, as problems.

    `probes`: {host: result of the module host_probe}; only these hosts are checked (--limit excludes the others).
    `undeclared`: {broker id: number of replicas} of the brokers that are not in the inventory.
    `offline`: partitions without a leader.
    `alone`: {broker id: partitions without a leader of which this broker was the only in-sync replica}.
    `lost`: partitions whose records the user gave up (-e lost=...).
    `registered`: ids of the brokers that are up, as the first admin listener answered.
    """
    problems: list[Problem] = []
    older = {host: connections.ports_with_older_rules(model.machines[host], probe) for host, probe in probes.items()}
    for host, probe in probes.items():
        for check in MACHINE_CHECKS:
            problems += check(model, model.machines[host], probe)
        problems += connections.reachable(model, host, probe, older)
    for broker in model.brokers:
        if broker.name in probes:
            problems += disks.broker_disks(broker, probes[broker.name])
            problems += log_dirs.broker_log_dirs(broker, probes[broker.name])
            problems += chroots.zookeeper_moved(model, broker, probes[broker.name])
    for server in model.servers:
        if server.name in probes:
            problems += disks.server_disks(model, server, probes[server.name])
    problems += [
        *connections.far_datacenters(model, probes),
        *disks.foreign_clusters(model, probes),
        *disks.capacity(model, probes),
        *archives.missing_archives(model, probes),
        *ports.changed_ports(model, probes, registered),
        *protocol.protocol_steps(model, probes, registered),
        *departed.dropped_brokers(model, probes, undeclared or {}),
        *departed.dropped_log_dirs(model, probes, offline, alone or {}),
        *departed.empty_log_dirs(model, probes, alone or {}, lost),
    ]
    return list(risks.with_accepted_risks_of_hosts(model, probes, problems))
