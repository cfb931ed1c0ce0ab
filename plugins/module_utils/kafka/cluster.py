"""The state of a Kafka cluster: brokers, controller, partitions, and what keeps it from being healthy."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import moves
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import racks

PATIENCE = 3.0
"""Seconds for which a replica has to be out of sync before moves are read; also the interval of reading them again."""


class ClusterError(Exception):
    """The cluster did not answer; the message contains the client's error."""


@dataclass(frozen=True)
class State:
    """One answer: brokers `{id: {rack, <listener>: host:port}}`, the controller's id (-1: none) and all partitions.

    `mute` are registered brokers that did not answer several requests; `adding` are, by partition (TOPIC-NUMBER), the
    replicas that a reassignment is adding.
    """

    brokers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    controller: int = -1
    partitions: Sequence[Partition] = ()
    mute: Collection[int] = ()
    adding: Mapping[str, Collection[int]] = field(default_factory=dict)

    def offline(self) -> list[Partition]:
        """Return partitions without a live leader."""
        return [p for p in self.partitions if p.leader not in self.brokers]

    def alone(self) -> dict[int, list[str]]:
        """Return by broker the partitions without a live leader whose last in-sync replica is on that broker only."""
        by_broker: dict[int, list[str]] = {}
        for partition in self.offline():
            if len(partition.isr) == 1:
                by_broker.setdefault(partition.isr[0], []).append(str(partition))
        return by_broker

    def under_replicated(self, sick: Collection[int] = ()) -> list[Partition]:
        """Return partitions with a replica out of sync, except replicas on `sick` brokers (with a failed disk)."""
        return [p for p in self.partitions if self.lacks(p) - set(sick)]

    def lacks(self, partition: Partition) -> set[int]:
        """Return the replicas of a partition that are out of sync, without those that a reassignment is adding."""
        return set(partition.replicas) - set(partition.isr) - set(self.adding.get(str(partition), ()))

    def out_of_sync(self) -> dict[int, int]:
        """Return by registered broker how many of its replicas are out of sync with a leader that answers.

        Replicas without such a leader do not count: the leader has to come back, a restart of a follower does not help.
        """
        answering = set(self.brokers) - set(self.mute)
        counts = Counter(replica for p in self.partitions if p.leader in answering for replica in self.lacks(p))
        return {broker: counts[broker] for broker in sorted(counts) if broker in self.brokers}

    def led_by_another(self) -> list[Partition]:
        """Return partitions whose preferred leader (the first replica) is registered and in sync, but does not lead."""
        registered = [p for p in self.partitions if p.replicas and p.replicas[0] in self.brokers]
        return [p for p in registered if p.leader != p.replicas[0] and p.replicas[0] in p.isr]

    def to_elect(self, restarted: Collection[int]) -> list[Partition]:
        """Return the partitions that an election moves after these brokers were restarted one at a time.

        Another in-sync replica leads while the preferred one is down; without another, no election is needed.
        """
        now = {str(p) for p in self.led_by_another()}
        theirs = {str(p) for p in self.partitions if p.replicas[:1] and p.replicas[0] in restarted and p.isr[1:]}
        return [p for p in self.partitions if str(p) in now | theirs]

    def leaders(self) -> dict[int, int]:
        """Return the number of partitions that each registered broker leads."""
        counts = dict.fromkeys(self.brokers, 0)
        for partition in self.partitions:
            if partition.leader in counts:
                counts[partition.leader] += 1
        return counts

    def replicas(self) -> dict[int, int]:
        """Return the number of replicas that each registered broker holds."""
        held = Counter(replica for p in self.partitions for replica in p.replicas)
        return {broker: held[broker] for broker in self.brokers}

    def undeclared(self, declared: Collection[int]) -> dict[int, int]:
        """Return the number of replicas of each broker that is registered or holds replicas but is not declared."""
        held = [replica for p in self.partitions for replica in p.replicas]
        return {broker: held.count(broker) for broker in sorted({*self.brokers, *held} - {*declared})}

    def problems(self, expected: Sequence[int], sick: Collection[int] = ()) -> list[str]:
        """Return what keeps the cluster from being healthy: a missing broker or controller, a replica out of sync.

        Replicas out of sync on `sick` brokers (with a failed disk) do not count.
        """
        missing = sorted(set(expected) - set(self.brokers))
        lines = [f"broker {broker} is not registered" for broker in missing]
        lines += [f"broker {broker} is registered but does not answer" for broker in sorted(self.mute)]
        if self.controller < 0:
            lines.append("no controller")
        for what, partitions in (("offline", self.offline()), ("under-replicated", self.under_replicated(sick))):
            if partitions:
                names = ", ".join(str(p) for p in partitions[:5])
                lines.append(f"{len(partitions)} {what} partitions ({names}{', ...' if len(partitions) > 5 else ''})")
        return lines


class Cluster:
    """A connection to one cluster through each of its listeners."""

    def __init__(self, listeners: Mapping[str, Mapping[str, Any]]) -> None:
        """`listeners` maps a listener's name to client properties (bootstrap.servers and what security needs).

        Raises ClientError, ImportError.
        """
        self.clients = {name: Admin(properties) for name, properties in listeners.items()}
        self.lacking_since = self.asked_at = -1.0
        self.adding: Mapping[str, Collection[int]] = {}

    def state(self, timeout: float = 5.0, patience: float = PATIENCE) -> State:
        """Return the state, without racks.

        A replica that is out of sync for longer than `patience` seconds may be one that a reassignment adds, so these
        are read as well. Raises ClusterError if a listener does not answer within `timeout` seconds, and ImportError.
        """
        brokers: dict[int, dict[str, Any]] = {}
        controller, partitions, known = -1, list[Partition](), set[int]()
        try:
            for number, (listener, client) in enumerate(self.clients.items()):
                metadata = client.look(timeout)
                for broker, (host, port) in metadata.brokers.items():
                    brokers.setdefault(broker, {"rack": None})[listener] = f"{host}:{port}"
                if number == 0:
                    # The partition has a leader without this listener: it would look offline, but is not.
                    for unseen in metadata.unseen:
                        raise ClusterError(f"listener {listener}: the leader of {unseen} does not have this listener")
                    controller, known = metadata.controller, set(metadata.brokers)
                    partitions = list(metadata.partitions)
        except AdminError as error:
            raise ClusterError(f"listener {listener}: {error}") from error
        # A broker that has just started may not know the others and their partitions yet: brokers that the first
        # listener's answer does not name are left to the next look.
        registered = {number: facts for number, facts in brokers.items() if number in known}
        return self._with_moves(State(registered, controller, partitions), patience)

    def _with_moves(self, state: State, patience: float) -> State:
        now = time.monotonic()
        if not state.under_replicated():
            self.lacking_since, self.adding = -1.0, {}
            return state
        if self.lacking_since < 0:
            self.lacking_since, self.asked_at = now, -1.0
        if now - self.lacking_since >= patience and (self.asked_at < 0 or now - self.asked_at >= PATIENCE):
            try:
                running = moves.running(next(iter(self.clients.values())))
            except AdminError:  # then the replica counts as out of sync
                running = {}
            self.asked_at = time.monotonic()
            self.adding = {f"{topic}-{number}": move.adding for (topic, number), move in running.items()}
        return replace(state, adding=self.adding)

    def with_racks(self, state: State, timeout: float = 5.0) -> State:
        """Return the state with the rack of each broker, None if a broker does not report it within `timeout` s."""
        try:
            known = racks(next(iter(self.clients.values())), state.brokers, timeout)
        except AdminError:  # as without the right to read settings
            known = {}
        return replace(
            state, brokers={number: {**facts, "rack": known.get(number)} for number, facts in state.brokers.items()}
        )

    def wait(
        self,
        expected: Sequence[int],
        timeout: float,
        sick: Collection[int] = (),
        confirm: Callable[[State], Sequence[State]] = lambda state: (state,),
    ) -> tuple[State, list[str]]:
        """Wait until the cluster is healthy, at most `timeout` seconds (0: check once); `sick` as in State.problems.

        The answer of one broker is confirmed by the others (broker_views.py). Return the last state and its problems.
        """
        deadline, tick = time.monotonic() + timeout, threading.Event()
        while True:
            try:
                state = self.state(patience=min(PATIENCE, timeout))
                problems = state.problems(expected, sick)
            except ClusterError as error:
                state, problems = State(), [str(error)]
            try:
                others = [] if problems else confirm(state)
                problems = next(filter(None, (one.problems(expected, sick) for one in others)), problems)
            except ClusterError as error:
                problems = [str(error)]
            if not problems or time.monotonic() >= deadline:
                return self.with_racks(state), problems
            tick.wait(0.2)
