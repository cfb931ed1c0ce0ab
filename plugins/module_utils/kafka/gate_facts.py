"""What the gate is told of a running cluster, read through the facade; no Ansible import."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import moves, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Snapshot, held

ANSWER = 3.0
"""Seconds until a broker that is asked by itself has to answer."""
MIN_ISR = "min.insync.replicas"


def snapshot(cluster: Cluster, state: State, stop: Sequence[int]) -> Snapshot:
    """Return all that the gate has to know before these brokers stop. Raises ClusterError, ImportError.

    Who does not answer a part of it keeps the gate closed; where they hold nothing in sync, no part is asked for.
    """
    silent = {broker for broker in stop if alone(state, broker) and mute(cluster, state, broker)}
    used = held(state, stop, silent)
    if not used:
        return Snapshot(state, silent=silent)
    admin = next(iter(cluster.clients.values()))
    try:
        settings = topics.describe(admin, "TOPIC", sorted({p.topic for p in used}))
        moving = {f"{topic}-{number}" for topic, number in moves.partitions(admin)}
    except AdminError as error:
        raise ClusterError(f"the gate stays closed, for not all that it asks was answered: {error}") from error
    found = {name: one[MIN_ISR].value for name, one in settings.items() if MIN_ISR in one}
    return Snapshot(state, {name: int(value) for name, value in found.items() if value}, moving, silent)


def alone(state: State, broker: int) -> bool:
    """Tell whether a broker holds partitions that nobody else has in sync, and nobody follows it."""
    led = [p for p in state.partitions if p.leader == broker]
    return any(p.isr == (broker,) and len(p.replicas) > 1 for p in led) and not any(len(p.isr) > 1 for p in led)


def mute(cluster: Cluster, state: State, broker: int) -> bool:
    """Tell whether a broker answers at none of the addresses at which it is registered."""
    places = {name: place for name, place in state.brokers[broker].items() if name in cluster.clients}
    for name, place in places.items():
        try:
            Admin({**cluster.clients[name].properties, "bootstrap.servers": place}).look(ANSWER)
        except AdminError:
            continue
        return False
    return bool(places)
