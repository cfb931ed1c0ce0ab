"""The state of a Kafka cluster: is it whole, and who leads? No Ansible import, no Kafka library."""

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
"""Seconds for which a replica has to lack before it is asked whether it is on the move; then from one to the next."""


class ClusterError(Exception):
    """The cluster did not answer; the text carries the client's own words."""


@dataclass(frozen=True)
class State:
    """One answer: brokers `{id: {rack, <listener>: host:port}}`, the controller's id (-1: none) and all partitions.

    `mute` are those of the brokers that were asked themselves, again and again, and answer nobody; `adding` the
    replicas that partitions get because somebody moves them, by partition (TOPIC-NUMBER).
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
        """Return by broker the partitions without a live leader with which it alone is in sync, or was at last."""
        found: dict[int, list[str]] = {}
        for partition in self.offline():
            if len(partition.isr) == 1:
                found.setdefault(partition.isr[0], []).append(str(partition))
        return found

    def under_replicated(self, sick: Collection[int] = ()) -> list[Partition]:
        """Return partitions with a replica out of sync, not counted those on brokers that are known to be `sick`."""
        return [p for p in self.partitions if self.lacks(p) - set(sick)]

    def lacks(self, partition: Partition) -> set[int]:
        """Return the replicas of a partition that are out of sync; those that it only gets are none yet."""
        return set(partition.replicas) - set(partition.isr) - set(self.adding.get(str(partition), ()))

    def out_of_sync(self) -> dict[int, int]:
        """Return by registered broker how many of its replicas are out of sync with a leader that answers.

        Without one there is nobody to follow: what is down then has to come back, and no restart of a follower helps.
        """
        there = set(self.brokers) - set(self.mute)
        found = Counter(replica for p in self.partitions if p.leader in there for replica in self.lacks(p))
        return {broker: found[broker] for broker in sorted(found) if broker in self.brokers}

    def led_by_another(self) -> list[Partition]:
        """Return partitions whose first replica, the preferred leader, is there, is in sync and does not lead."""
        there = [p for p in self.partitions if p.replicas and p.replicas[0] in self.brokers]
        return [p for p in there if p.leader != p.replicas[0] and p.replicas[0] in p.isr]

    def to_elect(self, restarted: Collection[int]) -> list[Partition]:
        """Return the partitions that an election moves after these brokers were restarted one by one.

        Another replica leads while the preferred one is away; where there is none, nobody is elected.
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
        """Return the ids that are not declared, of brokers that are registered and of replicas, with their replicas."""
        held = [replica for p in self.partitions for replica in p.replicas]
        return {one: held.count(one) for one in sorted({*self.brokers, *held} - {*declared})}

    def problems(self, expected: Sequence[int], sick: Collection[int] = ()) -> list[str]:
        """Return what keeps the cluster from being whole: every expected broker there, a controller, every ISR full.

        Not that brokers with a failed disk, the `sick`, are in fewer ISRs.
        """
        missing = sorted(set(expected) - set(self.brokers))
        found = [f"broker {broker} is not registered" for broker in missing]
        found += [f"broker {broker} is registered and answers nobody" for broker in sorted(self.mute)]
        if self.controller < 0:
            found.append("no controller")
        for what, partitions in (("offline", self.offline()), ("under-replicated", self.under_replicated(sick))):
            if partitions:
                names = ", ".join(str(p) for p in partitions[:5])
                found.append(f"{len(partitions)} {what} partitions ({names}{', ...' if len(partitions) > 5 else ''})")
        return found


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
        """Ask once, without the racks.

        What lacks for longer than `patience` seconds may only be on the move: that is asked as well. Raises
        ClusterError when a listener does not answer within `timeout` seconds, ImportError.
        """
        brokers: dict[int, dict[str, Any]] = {}
        controller, partitions, known = -1, list[Partition](), set[int]()
        try:
            for number, (listener, client) in enumerate(self.clients.items()):
                metadata = client.look(timeout)
                for broker, (host, port) in metadata.brokers.items():
                    brokers.setdefault(broker, {"rack": None})[listener] = f"{host}:{port}"
                if number == 0:
                    # There is a leader, and it does not have this listener: what else would look offline is not.
                    for unseen in metadata.unseen:
                        raise ClusterError(f"listener {listener}: the leader of {unseen} does not have it")
                    controller, known = metadata.controller, set(metadata.brokers)
                    partitions = list(metadata.partitions)
        except AdminError as error:
            raise ClusterError(f"listener {listener}: {error}") from error
        # A broker that has just started may not know the others yet, nor their partitions: what it says of those
        # proves nothing.
        there = {number: facts for number, facts in brokers.items() if number in known}
        return self._with_moves(State(there, controller, partitions), patience)

    def _with_moves(self, state: State, patience: float) -> State:
        now = time.monotonic()
        if not state.under_replicated():
            self.lacking_since, self.adding = -1.0, {}
            return state
        if self.lacking_since < 0:
            self.lacking_since, self.asked_at = now, -1.0
        if now - self.lacking_since >= patience and (self.asked_at < 0 or now - self.asked_at >= PATIENCE):
            try:
                found = moves.running(next(iter(self.clients.values())))
            except AdminError:  # then it counts as lacking
                found = {}
            self.asked_at = time.monotonic()
            self.adding = {f"{topic}-{number}": one.adding for (topic, number), one in found.items()}
        return replace(state, adding=self.adding)

    def with_racks(self, state: State, timeout: float = 5.0) -> State:
        """Return the state with the rack of each broker, None where one does not tell it within `timeout` seconds."""
        try:
            found = racks(next(iter(self.clients.values())), state.brokers, timeout)
        except AdminError:  # nobody may ask for settings
            found = {}
        return replace(
            state, brokers={number: {**facts, "rack": found.get(number)} for number, facts in state.brokers.items()}
        )

    def wait(
        self,
        expected: Sequence[int],
        timeout: float,
        sick: Collection[int] = (),
        confirm: Callable[[State], Sequence[State]] = lambda state: (state,),
    ) -> tuple[State, list[str]]:
        """Ask until the cluster is whole, `timeout` seconds at most (0: once); `sick` as for State.problems.

        What one broker says is confirmed by others (views.py). Return the last answer and what is wrong.
        """
        deadline, tick = time.monotonic() + timeout, threading.Event()
        while True:
            try:
                state = self.state(patience=min(PATIENCE, timeout))
                found = state.problems(expected, sick)
            except ClusterError as error:
                state, found = State(), [str(error)]
            try:
                others = [] if found else confirm(state)
                found = next(filter(None, (one.problems(expected, sick) for one in others)), found)
            except ClusterError as error:
                found = [str(error)]
            if not found or time.monotonic() >= deadline:
                return self.with_racks(state), found
            tick.wait(0.2)
