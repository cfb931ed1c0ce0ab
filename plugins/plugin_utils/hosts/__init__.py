"""Checks of what the hosts answered (module host_probe) against what the inventory declares; no Ansible import.

One module per subject; a check reads a machine and its answer and yields what is wrong.
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

OF_A_MACHINE: tuple[Check, ...] = (
    host_facts.addresses,
    host_facts.clock,
    host_facts.java,
    host_facts.limits,
    host_facts.memory,
    connections.firewall,
    disks.of_functions,
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
    """Return everything on the probed hosts that contradicts the model.

    `probes` holds the answers of the hosts of this run (with --limit: of some); the others are not judged.
    `undeclared` holds, by id, the replicas of brokers that nobody declares, `offline` the partitions without a leader,
    `alone`, by id, those of them with which that broker alone was in sync, `lost` those whose records are given up,
    `registered` the ids of brokers that live.
    """
    problems: list[Problem] = []
    older = {host: connections.older_ports(model.machines[host], probe) for host, probe in probes.items()}
    for host, probe in probes.items():
        for check in OF_A_MACHINE:
            problems += check(model, model.machines[host], probe)
        problems += connections.reachable(model, host, probe, older)
    for broker in model.brokers:
        if broker.name in probes:
            problems += disks.of_a_broker(broker, probes[broker.name])
            problems += log_dirs.of_a_broker(broker, probes[broker.name])
            problems += chroots.kept(model, broker, probes[broker.name])
    for server in model.servers:
        if server.name in probes:
            problems += disks.of_a_server(model, server, probes[server.name])
    problems += [
        *disks.clusters(model, probes),
        *disks.capacity(model, probes),
        *archives.verified(model, probes),
        *ports.changed(model, probes),
        *protocol.protocols(model, probes, registered),
        *departed.brokers(model, probes, undeclared or {}),
        *departed.log_dirs(model, probes, offline, alone or {}),
        *departed.emptied(model, probes, alone or {}, lost),
    ]
    return list(risks.with_accepted_risks_of_hosts(model, probes, problems))
