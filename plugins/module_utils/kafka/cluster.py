"""The state of a Kafka cluster: brokers, controller, partitions, and the reasons why the cluster is not healthy."""

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

UNKNOWN = "?"
"""The rack of a registered broker that does not report it."""
PATIENCE = 3.0
"""Seconds for which a replica has to be out of sync before reassignments are read; also the interval of these reads."""


class ClusterError(Exception):
    """The cluster did not answer, or its answer is unusable; the text has the reason."""


@dataclass(frozen=True)
class State:
    """The state of a cluster as one broker reported it: brokers, controller and partitions.

    `brokers`: {id: {'rack': rack, LISTENER: 'host:port'}} of the registered brokers.
    `controller`: the id of the controller, -1 if there is none.
    `mute`: registered brokers that left several requests unanswered.
    `adding`: {TOPIC-NUMBER: ids of the brokers on which a reassignment adds a replica}.
    """

    brokers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    controller: int = -1
    partitions: Sequence[Partition] = ()
    mute: Collection[int] = ()
    adding: Mapping[str, Collection[int]] = field(default_factory=dict)

    def offline(self) -> list[Partition]:
        """Return the partitions whose leader is not a registered broker."""
        return [p for p in self.partitions if p.leader not in self.brokers]

    def alone(self) -> dict[int, list[str]]:
        """Return {broker: offline partitions (TOPIC-NUMBER) of which the broker is the only in-sync replica}.

        No other broker can lead such a partition without a loss of records.
        """
        by_broker: dict[int, list[str]] = {}
        for partition in self.offline():
            if len(partition.isr) == 1:
                by_broker.setdefault(partition.isr[0], []).append(str(partition))
        return by_broker

    def under_replicated(self, sick: Collection[int] = ()) -> list[Partition]:
        """Return the partitions with a replica out of sync.

        Replicas on brokers in `sick` (with a failed disk) do not count, nor do replicas that a reassignment is adding.
        """
        return [p for p in self.partitions if self.lacks(p) - set(sick)]

    def lacks(self, partition: Partition) -> set[int]:
        """Return the ids of the brokers whose replica of a partition is out of sync.

        Replicas that a reassignment is adding do not count.
        """
        return set(partition.replicas) - set(partition.isr) - set(self.adding.get(str(partition), ()))

    def out_of_sync(self) -> dict[int, int]:
        """Return {registered broker: number of its replicas that are out of sync with a leader that answers}.

        Replicas whose leader does not answer are not counted: such a leader has to return, and restarting the follower
        does not help.
        """
        answering = set(self.brokers) - set(self.mute)
        counts = Counter(replica for p in self.partitions if p.leader in answering for replica in self.lacks(p))
        return {broker: counts[broker] for broker in sorted(counts) if broker in self.brokers}

    def led_by_another(self) -> list[Partition]:
        """Return the partitions whose preferred leader could lead, but does not.

        The preferred leader is the first replica; it could lead if it is registered and in sync.
        """
        registered = [p for p in self.partitions if p.replicas and p.replicas[0] in self.brokers]
        return [p for p in registered if p.leader != p.replicas[0] and p.replicas[0] in p.isr]

    def to_elect(self, restarted: Collection[int]) -> list[Partition]:
        """Return the partitions that a preferred leader election will move after the brokers in `restarted` restarted.

        Brokers are restarted one at a time; while a preferred leader is down, another in-sync replica leads. A
        partition without any other in-sync replica needs no election.
        """
        now = {str(p) for p in self.led_by_another()}
        theirs = {str(p) for p in self.partitions if p.replicas[:1] and p.replicas[0] in restarted and p.isr[1:]}
        return [p for p in self.partitions if str(p) in now | theirs]

    def leaders(self) -> dict[int, int]:
        """Return {registered broker: number of partitions that it leads}."""
        counts = dict.fromkeys(self.brokers, 0)
        for partition in self.partitions:
            if partition.leader in counts:
                counts[partition.leader] += 1
        return counts

    def replicas(self) -> dict[int, int]:
        """Return {registered broker: number of replicas that it holds}."""
        held = Counter(replica for p in self.partitions for replica in p.replicas)
        return {broker: held[broker] for broker in self.brokers}

    def undeclared(self, declared: Collection[int]) -> dict[int, int]:
        """Return {id of a broker that is not in `declared`: number of its replicas}.

        Such a broker is registered, or a partition names it as a replica.
        """
        held = [replica for p in self.partitions for replica in p.replicas]
        return {broker: held.count(broker) for broker in sorted({*self.brokers, *held} - {*declared})}

    def problems(self, expected: Sequence[int], sick: Collection[int] = ()) -> list[str]:
        """Return the reasons why the cluster is not healthy, one line each; [] if it is healthy.

        Reasons are an `expected` broker that is not registered, a registered broker that does not answer, a missing
        controller, and offline or under-replicated partitions. Replicas out of sync on `sick` brokers (with a failed
        disk) do not count.
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
    """A connection to one cluster, with a client for each of its listeners."""

    def __init__(self, listeners: Mapping[str, Mapping[str, Any]]) -> None:
        """`listeners` is {name: librdkafka properties}: bootstrap.servers, and what the listener's security requires.

        Raises ClientError for properties with which no client can be created, ImportError without confluent-kafka.
        """
        self.clients = {name: Admin(properties) for name, properties in listeners.items()}
        self.lacking_since = self.asked_at = -1.0
        self.adding: Mapping[str, Collection[int]] = {}

    def state(self, timeout: float = 5.0, patience: float = PATIENCE) -> State:
        """Return the state of the cluster, without the racks of brokers (None).

        If a replica is out of sync for longer than `patience` seconds, running reassignments are read as well, because
        one of them may be adding that replica. Raises ClusterError if a listener does not answer within `timeout`
        seconds.
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
        """Return `state`, with the replicas that are being added if one is out of sync for `patience` seconds."""
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
        """Return `state` with the rack of each broker.

        The rack is None if the broker has none, and UNKNOWN if it does not report it within `timeout` seconds.
        """
        try:
            known = racks(next(iter(self.clients.values())), state.brokers, timeout)
        except AdminError:  # as without the right to read settings
            known = {}
        return replace(
            state,
            brokers={number: {**facts, "rack": known.get(number, UNKNOWN)} for number, facts in state.brokers.items()},
        )

    def wait(
        self,
        expected: Sequence[int],
        timeout: float,
        sick: Collection[int] = (),
        confirm: Callable[[State], Sequence[State]] = lambda state: (state,),
    ) -> tuple[State, list[str]]:
        """Wait until the cluster is healthy, at most `timeout` seconds (0: check once); return (state, its problems).

        `expected` and `sick` are described in State.problems. When the answer of one broker shows no problem, `confirm`
        reads the views of the other brokers; the cluster is healthy if these show no problem either.
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
