"""Elects the preferred leaders of all partitions, or of those whose preferred leader was restarted."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    Admin,
    AdminError,
    Partition,
    Unanswered,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError

ELECTION = 10.0
"""Seconds for an election during a rolling restart; partitions left over are elected at the end of the restart."""
CONNECTED = 0.8
"""Seconds that followers need to connect to a leader that has just started; their connections cannot be observed."""
ANSWER = 1.0
"""Seconds until an election is answered, if nothing delays it."""
FOLLOWED = 0.4
"""Seconds that connected followers need to start following a new leader."""


class Elections:
    """Elects preferred leaders of one cluster; `state` and `elect` can be called repeatedly.

    A broker that was just restarted leads nothing, and followers have no connection to it. As soon as the broker is in
    sync, it is elected for one internal partition, so that followers connect. Then it is elected for its other internal
    partitions, and last for partitions that clients write to. A broker without internal partitions begins with one
    partition that clients write to.
    """

    def __init__(self, cluster: Cluster, brokers: Collection[int] | None = None) -> None:
        """`brokers` are the ids of restarted brokers; None elects the preferred leaders of all partitions."""
        self.cluster, self.brokers = cluster, brokers
        self.led_since, self.tried, self.last = -math.inf, set[int](), State()
        self.asked, self.given, self.refused = set[str](), set[str](), dict[str, str]()
        """Names of partitions: requested, answered, and rejected with the reason."""
        self.unanswered = list[Admin]()

    @property
    def moved(self) -> set[str]:
        """Return the partitions (TOPIC-NUMBER) whose preferred leader was elected.

        Sources are the brokers' answers to the elections, and the last state of the cluster that was read.
        """
        return self.given | (self.asked & _led(self.last) - self.refused.keys())

    def state(self) -> State:
        """Return the cluster's state; as a side effect, elect each restarted broker for one internal partition.

        The election is requested once for each broker that leads nothing and is in sync with an internal partition that
        it should lead. Followers connect to the broker while the caller waits. Raises ClusterError if the cluster does
        not answer.
        """
        state = self._seen(self.cluster.state())
        if self.led_since < 0 and any(p.leader in (self.brokers or ()) for p in state.partitions):
            self.led_since = waits.now()
        first = [p for p in self._first() if _internal(p) and p.replicas[0] not in self.tried]
        if first and state.controller >= 0:
            self.tried |= {p.replicas[0] for p in first}
            with suppress(AdminError):  # they are elected with the rest
                if (refused := self._ask(first)(ANSWER)) is None:
                    self._ask_another()
                else:
                    self._record(first, refused)
                    self.led_since = waits.now() if self.given else self.led_since
        return state

    def elect(self, timeout: float) -> list[Partition]:
        """Elect the preferred leaders and wait until they lead, at most `timeout` seconds.

        Return the partitions that are still led by another replica. Requests without an answer are repeated within that
        time. Raises ClusterError at once if a request is rejected, or at the end if the result of an election is
        unknown.
        """
        wait, failed = waits.Wait(timeout), list[ClusterError]()
        rest = self._others(self._look(wait))
        if not rest:
            return []
        if self.brokers:
            first = self._first()
            ahead = [p for p in rest if _internal(p) or p in first]
            if 0 < len(ahead) < len(rest):
                self._elect(ahead, waits.Wait(wait.left() / 2), failed)
                connected = waits.now() if first else self.led_since
                self.led_since = max(connected, waits.now() + FOLLOWED - CONNECTED)
                rest = [p for p in rest if p not in ahead]
            waits.rest(min(max(0.0, self.led_since + CONNECTED - waits.now()), max(0.0, wait.left())))
        self._elect(rest, waits.Wait(max(ANSWER, wait.left())), failed)
        if failed:
            with suppress(ClusterError):  # the answer may have been late
                self._seen(self.cluster.state())
        left = [p for p in self._others(self.last) if str(p) not in self.moved]
        if failed and left:
            raise failed[0]
        return left

    def lead_again(self) -> tuple[list[str], str]:
        """Elect the preferred leaders within ELECTION seconds; return (partitions, reason).

        The partitions (TOPIC-NUMBER) are led by their preferred leaders again. The reason is why other partitions are
        not led by theirs, '' if there are no others.
        """
        try:
            why = not_elected(self.elect(ELECTION), self.refused)
        except ClusterError as error:
            why = f"{error}. Other replicas lead until the next election (kafka_leaders)"
        return sorted(self.moved), why

    def _elect(self, asked: Sequence[Partition], wait: waits.Wait, failed: list[ClusterError]) -> None:
        """Elect the preferred leaders of the partitions in `asked`, and return when they lead or `wait` is over.

        Kafka answers when they lead; a late answer does not mean that the election failed. An election whose result is
        unknown is added to `failed`. Raises ClusterError if the request is rejected.
        """
        names, state, separate, pace = {str(p) for p in asked}, State(), False, waits.TICK
        try:
            answered = self._ask(asked)
            while True:
                why = ""
                try:
                    if (refused := answered(ANSWER)) is not None:
                        return self._record(asked, refused)
                except Unanswered as error:
                    why = str(error)
                if why or not separate:
                    self._ask_another(pending=not why)
                    separate = True
                with suppress(ClusterError):
                    state = self._seen(self.cluster.state())
                if state.partitions and names & {str(p) for p in state.partitions} <= _led(state):
                    return None
                if wait.left() <= 0:
                    reason = why or f"no answer within {wait.timeout:.0f} s"
                    return failed.append(ClusterError(f"election of preferred leaders: {reason}"))
                if why:
                    waits.rest(pace)
                    pace = min(2 * pace, 2.0)
                    answered = self._ask(asked)
        except AdminError as error:
            raise ClusterError(f"election of preferred leaders: {error}") from error

    def _ask(self, asked: Sequence[Partition]) -> Callable[[float], dict[str, str] | None]:
        """Request the election of the partitions in `asked`; return the function that waits for the answer."""
        names = {str(p) for p in asked}
        self.asked |= names
        self.given -= names
        self.refused = {name: why for name, why in self.refused.items() if name not in names}
        return next(iter(self.cluster.clients.values())).elect(asked)

    def _ask_another(self, pending: bool = True) -> None:
        """Use another client from now on: a broker reads no request from a connection that waits for an answer.

        `pending` keeps the previous client, because closing it would cancel its request.
        """
        name, client = next(iter(self.cluster.clients.items()))
        with suppress(ClientError):  # a file that it needs is gone: keep the existing client
            self.cluster.clients = {**self.cluster.clients, name: Admin(client.properties)}
            self.unanswered += [client] * pending  # keep it: its end would cancel the request

    def _record(self, asked: Sequence[Partition], refused: Mapping[str, str]) -> None:
        """Record the answer to an election; `refused` is {partition of `asked` that was not elected: reason}."""
        self.refused.update(refused)
        self.given |= {str(p) for p in asked} - refused.keys()

    def _seen(self, state: State) -> State:
        """Return `state`; store it as the last one if it has partitions (a broker that just started reports none)."""
        if state.partitions:
            self.last = state
        return state

    def _look(self, wait: waits.Wait) -> State:
        """Return the cluster's state; repeat requests without an answer until `wait` is over."""
        while True:
            try:
                return self._seen(self.cluster.state())
            except ClusterError:
                if wait.left() <= 0:
                    raise
            waits.rest(0.2)

    def _others(self, state: State) -> list[Partition]:
        """Return the partitions to elect: led by another replica although their preferred leader could lead."""
        return [p for p in state.led_by_another() if self.brokers is None or p.replicas[0] in self.brokers]

    def _first(self) -> list[Partition]:
        """Return one partition for each restarted broker that leads nothing, as its first to lead.

        An internal partition is preferred, since no client writes to it.
        """
        by_broker = {p.replicas[0]: p for p in sorted(self.last.led_by_another(), key=_internal)}
        leads = {p.leader for p in self.last.partitions}
        return [by_broker[broker] for broker in sorted({*(self.brokers or ())} & {*by_broker} - leads)]


def not_elected(left: Sequence[object], refused: Mapping[str, str]) -> str:
    """Return a message about `left`, the partitions that are still led by another replica; '' if there are none.

    `refused` is {partition: why its election was rejected}; the message has the first of these reasons that concerns
    `left`.
    """
    if not left:
        return ""
    names = f"{', '.join(map(str, left[:5]))}{', ...' if left[5:] else ''}"
    are = "partitions are" if left[1:] else "partition is"
    why = next((f": {refused[str(one)]}" for one in left if str(one) in refused), "")
    return f"{len(left)} {are} not led by the preferred replica ({names}){why}"


def _led(state: State) -> set[str]:
    """Return the partitions (TOPIC-NUMBER) that are led by their preferred leader."""
    return {str(p) for p in state.partitions if p.replicas and p.leader == p.replicas[0]}


def _internal(partition: Partition) -> bool:
    """Tell whether a partition belongs to an internal topic of Kafka."""
    return partition.topic.startswith("__")
