"""Elections of preferred leaders: of all, or of what brokers prefer to lead that were just restarted.

No Ansible import, no Kafka library.
"""

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
"""Seconds that those of a roll may take; what they do not reach, the one at its end does."""
CONNECTED = 0.8
"""Seconds in which followers connect to a leader that has just started; nobody says when they have."""
ANSWER = 1.0
"""Seconds until an election is answered, where nothing is in its way."""
FOLLOWED = 0.4
"""Seconds in which they follow it with what it was elected for, where they are connected."""


class Elections:
    """What is elected in one cluster, as often as somebody asks for it.

    Brokers that were just restarted lead nothing, and their followers have no connection to them. So they get what
    clients write to by itself, last, when these are there: after one partition as soon as they are in sync with it, and
    after the other internal ones. Of brokers without any, one that clients write to goes with these.
    """

    def __init__(self, cluster: Cluster, brokers: Collection[int] | None = None) -> None:
        """`brokers`: those that were restarted; None for an election of all that others lead."""
        self.cluster, self.brokers = cluster, brokers
        self.led_since, self.tried, self.last = -math.inf, set[int](), State()
        self.asked, self.given, self.refused = set[str](), set[str](), dict[str, str]()
        """Names of partitions: asked for, answered, and why not."""
        self.unanswered = list[Admin]()

    @property
    def moved(self) -> set[str]:
        """Return the names of what was elected: as was answered, or as somebody sees it that was not."""
        return self.given | (self.asked & _led(self.last) - self.refused.keys())

    def state(self) -> State:
        """Ask once; who is in sync with an internal partition then leads that one, once. Raises ClusterError.

        Followers connect to it while the rest is waited for. Who leads something is given none.
        """
        state = self._seen(self.cluster.state())
        if self.led_since < 0 and any(p.leader in (self.brokers or ()) for p in state.partitions):
            self.led_since = waits.now()
        first = [p for p in self._first() if _internal(p) and p.replicas[0] not in self.tried]
        if first and state.controller >= 0:
            self.tried |= {p.replicas[0] for p in first}
            with suppress(AdminError):  # they get it with the rest
                if (refused := self._ask(first)(ANSWER)) is None:
                    self._ask_another()
                else:
                    self._take(first, refused)
                    self.led_since = waits.now() if self.given else self.led_since
        return state

    def hold(self, timeout: float) -> list[Partition]:
        """Elect the preferred leaders, and wait until they lead, for `timeout` seconds; return what others still lead.

        `moved` has the others by then. A question without an answer is asked again in that time. Raises ClusterError:
        for a refusal at once, else after all was tried.
        """
        wait, failed = waits.Wait(timeout), list[ClusterError]()
        rest = self._others(self._look(wait))
        if not rest:
            return []
        if self.brokers:
            first = self._first()
            ahead = [p for p in rest if _internal(p) or p in first]
            if 0 < len(ahead) < len(rest):
                self._hold(ahead, waits.Wait(wait.left() / 2), failed)
                connected = waits.now() if first else self.led_since
                self.led_since = max(connected, waits.now() + FOLLOWED - CONNECTED)
                rest = [p for p in rest if p not in ahead]
            waits.rest(min(max(0.0, self.led_since + CONNECTED - waits.now()), max(0.0, wait.left())))
        self._hold(rest, waits.Wait(max(ANSWER, wait.left())), failed)
        if failed:
            with suppress(ClusterError):  # its answer may have been late
                self._seen(self.cluster.state())
        left = [p for p in self._others(self.last) if str(p) not in self.moved]
        if failed and left:
            raise failed[0]
        return left

    def lead_again(self) -> tuple[list[str], str]:
        """Have the brokers lead what they prefer to; return all that they were given, and why others lead the rest."""
        try:
            why = told(self.hold(ELECTION), self.refused)
        except ClusterError as error:
            why = f"{error}. Others lead in their place until leaders are elected once more"
        return sorted(self.moved), why

    def _hold(self, asked: Sequence[Partition], wait: waits.Wait, failed: list[ClusterError]) -> None:
        """Have these elected; `failed` gets why nobody knows whether they were. Raises ClusterError for a refusal.

        The answer comes when they lead; one that is late says nothing against it.
        """
        names, found, apart, pace = {str(p) for p in asked}, State(), False, waits.TICK
        try:
            answered = self._ask(asked)
            while True:
                why = ""
                try:
                    if (refused := answered(ANSWER)) is not None:
                        return self._take(asked, refused)
                except Unanswered as error:
                    why = str(error)
                if why or not apart:
                    self._ask_another(owed=not why)
                    apart = True
                with suppress(ClusterError):
                    found = self._seen(self.cluster.state())
                if found.partitions and names & {str(p) for p in found.partitions} <= _led(found):
                    return None
                if wait.left() <= 0:
                    words = why or f"no answer within {wait.timeout:.0f} s"
                    return failed.append(ClusterError(f"election of preferred leaders: {words}"))
                if why:
                    waits.rest(pace)
                    pace = min(2 * pace, 2.0)
                    answered = self._ask(asked)
        except AdminError as error:
            raise ClusterError(f"election of preferred leaders: {error}") from error

    def _ask(self, asked: Sequence[Partition]) -> Callable[[float], dict[str, str] | None]:
        names = {str(p) for p in asked}
        self.asked |= names
        self.given -= names
        self.refused = {name: why for name, why in self.refused.items() if name not in names}
        return next(iter(self.cluster.clients.values())).elect(asked)

    def _ask_another(self, owed: bool = True) -> None:
        """Have another client ask from now on: a broker reads nothing from who still waits for an answer."""
        name, client = next(iter(self.cluster.clients.items()))
        with suppress(ClientError):  # what it needs is gone: the one that is there goes on
            self.cluster.clients = {**self.cluster.clients, name: Admin(client.properties)}
            self.unanswered += [client] * owed  # or it would take its question back

    def _take(self, asked: Sequence[Partition], refused: Mapping[str, str]) -> None:
        """Note what was answered."""
        self.refused.update(refused)
        self.given |= {str(p) for p in asked} - refused.keys()

    def _seen(self, state: State) -> State:
        """Note who leads; one without a partition has just started, and knows nothing."""
        if state.partitions:
            self.last = state
        return state

    def _look(self, wait: waits.Wait) -> State:
        while True:
            try:
                return self._seen(self.cluster.state())
            except ClusterError:
                if wait.left() <= 0:
                    raise
            waits.rest(0.2)

    def _others(self, state: State) -> list[Partition]:
        return [p for p in state.led_by_another() if self.brokers is None or p.replicas[0] in self.brokers]

    def _first(self) -> list[Partition]:
        """Return for each broker that leads nothing one partition to lead, an internal one if it can be."""
        found = {p.replicas[0]: p for p in sorted(self.last.led_by_another(), key=_internal)}
        leads = {p.leader for p in self.last.partitions}
        return [found[one] for one in sorted({*(self.brokers or ())} & {*found} - leads)]


def told(left: Sequence[object], refused: Mapping[str, str]) -> str:
    """Say which partitions others lead still, and why where that was answered; '' where none."""
    if not left:
        return ""
    names = f"{', '.join(map(str, left[:5]))}{', ...' if left[5:] else ''}"
    are = "partitions are" if left[1:] else "partition is"
    why = next((f": {refused[str(one)]}" for one in left if str(one) in refused), "")
    return f"{len(left)} {are} still led by another replica than the preferred one ({names}){why}"


def _led(state: State) -> set[str]:
    return {str(p) for p in state.partitions if p.replicas and p.leader == p.replicas[0]}


def _internal(partition: Partition) -> bool:
    return partition.topic.startswith("__")
