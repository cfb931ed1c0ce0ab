"""Elections of preferred leaders: of all, or of what brokers prefer to lead that were just restarted.

No Ansible import, no Kafka library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError, Partition

ELECTION = 10.0
"""Seconds that those of a roll may take; what they do not reach, the one at its end does."""
FIRST = 1.0
"""Seconds that the first one of a broker may take, while the rest is waited for."""
LED = 0.05
"""Seconds until a broker that was elected may be named; then more and more from one look to the next."""
CONNECTED = 0.8
"""Seconds in which followers connect to a leader that has just started; nobody says when they have."""
FOLLOWED = 0.4
"""Seconds in which they follow it with what it was elected for, where they are connected."""


class Elections:
    """What is elected in one cluster, as often as somebody asks for it.

    Brokers that were just restarted lead nothing, and their followers have no connection to them. So they get what
    clients write to by itself, last, when these are there: after one partition as soon as they are in sync with it, and
    after the other internal ones.
    """

    def __init__(self, cluster: Cluster, brokers: Collection[int] | None = None) -> None:
        """`brokers`: those that were restarted; None for an election of all that others lead."""
        self.cluster, self.brokers = cluster, brokers
        self.led_since, self.tried, self.moved = -math.inf, set[int](), set[str]()

    def state(self) -> State:
        """Ask once; who is in sync with an internal partition then leads that one, once. Raises ClusterError.

        Followers connect to it while the rest is waited for. Who leads something is given none.
        """
        state = self.cluster.state()
        if self.led_since < 0 and any(p.leader in (self.brokers or ()) for p in state.partitions):
            self.led_since = waits.now()
        first = [p for p in self._first(state) if _internal(p) and p.replicas[0] not in self.tried]
        if first and state.controller >= 0:
            self.tried |= {p.replicas[0] for p in first}
            with suppress(ClusterError):  # they get it with the rest
                self._elect(first, FIRST)
                self.led_since = waits.now()
        return state

    def hold(self, timeout: float) -> list[Partition]:
        """Elect the preferred leaders, and wait until they lead, for `timeout` seconds; return what others still lead.

        `moved` has the others by then. A question without an answer is asked again in that time. Raises ClusterError,
        after all was tried.
        """
        wait, failed = waits.Wait(timeout), list[ClusterError]()
        state = self._look(wait)
        left = before = self._others(state)
        if self.brokers and before:
            first = self._first(state)
            ahead = [p for p in before if _internal(p) or p in first]
            if 0 < len(ahead) < len(before):
                self._hold(ahead, waits.Wait(wait.left() / 2), failed)
                connected = waits.now() if first else self.led_since
                self.led_since = max(connected, waits.now() + FOLLOWED - CONNECTED)
            waits.rest(min(max(0.0, self.led_since + CONNECTED - waits.now()), max(0.0, wait.left())))
            left = self._others(self._look(wait))
        if left:
            left = self._hold(left, wait, failed)
        if failed:
            raise failed[0]
        return left

    def lead_again(self) -> tuple[list[str], str]:
        """Have the brokers lead what they prefer to; return all that they were given, and why others lead the rest."""
        try:
            left, why = self.hold(ELECTION), ""
        except ClusterError as error:
            left, why = [], f"{error}. Others lead in their place until leaders are elected once more"
        return sorted(self.moved), why or told(left)

    def _hold(self, asked: Sequence[Partition], wait: waits.Wait, failed: list[ClusterError]) -> list[Partition]:
        """Have these elected, and return those of them that others still lead; `failed` gets what went wrong."""
        names, left, pace = {str(p) for p in asked}, list(asked), LED
        try:
            self._elect(asked, max(FIRST, wait.left()))
            while left:
                waits.rest(pace)
                left = [p for p in self._others(self._look(wait)) if str(p) in names]
                self.moved = (self.moved | names) - {str(p) for p in left}
                if wait.left() <= 0:
                    break
                pace = min(2 * pace, 1.0)
        except ClusterError as error:
            failed.append(error)
        return left

    def _elect(self, asked: Sequence[Partition], timeout: float) -> None:
        try:
            next(iter(self.cluster.clients.values())).elect(asked, timeout)
        except AdminError as error:
            raise ClusterError(f"election of preferred leaders: {error}") from error
        self.moved |= {str(p) for p in asked}  # until somebody says otherwise

    def _look(self, wait: waits.Wait) -> State:
        while True:
            try:
                return self.cluster.state()
            except ClusterError:
                if wait.left() <= 0:
                    raise
            waits.rest(0.2)

    def _others(self, state: State) -> list[Partition]:
        return [p for p in state.led_by_another() if self.brokers is None or p.replicas[0] in self.brokers]

    def _first(self, state: State) -> list[Partition]:
        """Return for each broker that leads nothing one partition to lead, an internal one if it can be."""
        found = {p.replicas[0]: p for p in sorted(state.led_by_another(), key=_internal)}
        return [found[one] for one in sorted({*(self.brokers or ())} & {*found} - {p.leader for p in state.partitions})]


def told(left: Sequence[object]) -> str:
    """Say which partitions others lead still; '' where none."""
    if not left:
        return ""
    names = f"{', '.join(map(str, left[:5]))}{', ...' if left[5:] else ''}"
    are = "partitions are" if left[1:] else "partition is"
    return f"{len(left)} {are} still led by another replica than the preferred one ({names})"


def _internal(partition: Partition) -> bool:
    return partition.topic.startswith("__")
