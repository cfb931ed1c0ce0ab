"""Asks several brokers separately for the state of the cluster, because the answer of one broker may be outdated.

A broker that has just started knows no partitions yet. A broker that the controller cannot reach learns of no
change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.kafka_python import failed_dirs, metadata_of

ANSWER = 3.0
"""Seconds within which a broker has to answer."""
AT_ONCE = 16
"""Number of brokers that are asked in parallel."""
TRIES = 3
"""Number of requests without an answer after which a broker counts as mute."""
EMPTY = 3.0
"""Seconds for which all brokers have to report no partitions before the cluster counts as empty.

A new controller first sends the list of brokers to the brokers, and sends the partitions later.
"""


Answer = tuple[str, Metadata]
"""A listener, and the metadata that a broker returned there."""


@dataclass(frozen=True)
class Views:
    """The answers of several brokers that were asked separately for the state of the cluster."""

    states: Mapping[int, State] = field(default_factory=dict)
    """By broker, its view of the cluster. Left out are views with a leader that does not have the requested
    listener."""
    mute: Collection[int] = ()
    """Brokers that answered at none of the addresses at which they are registered."""


def views(cluster: Cluster, state: State, brokers: Collection[int]) -> Views:
    """Ask each broker in `brokers` for its own view of the cluster, in parallel.

    `state` has the addresses at which the brokers are registered. Brokers that do not answer are in `mute` of the
    result. Raises ImportError without a Kafka library.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(zip(brokers, pool.map(lambda one: ask_broker(cluster, state, one), brokers), strict=True))
    states = {
        broker: seen_by(state, *answer) for broker, (_, answer) in answers.items() if answer and not answer[1].unseen
    }
    return Views(states, {broker for broker, (answers_at_all, _) in answers.items() if not answers_at_all})


def ask_broker(cluster: Cluster, state: State, broker: int) -> tuple[bool, Answer | None]:
    """Return (whether a broker answers, (listener, metadata that this broker itself returned)).

    The second value is None if the broker does not answer, or did not return its own metadata in time.
    """
    found = ask_through(cluster, state, broker)
    if found is None or found[1].said_by == broker:
        return found is not None, found
    listener = found[0]
    try:
        place = str(state.brokers[broker][listener])
        return True, (listener, metadata_of(cluster.clients[listener].properties, place, broker))
    except AdminError:
        return True, None


def ask_through(cluster: Cluster, state: State, broker: int) -> Answer | None:
    """Return (listener, metadata) from a request to one broker; None if the broker answers at none of its listeners.

    The metadata may come from another broker: the client library may repeat the request at any broker in the first
    answer.
    """
    places = {name: place for name, place in state.brokers[broker].items() if name in cluster.clients}
    for name, place in places.items():
        try:
            return name, Admin({**cluster.clients[name].properties, "bootstrap.servers": place}).look(ANSWER)
        except AdminError:
            continue
    return None


def gone(cluster: Cluster, state: State, broker: int) -> bool:
    """Tell whether a broker is registered, but left TRIES requests unanswered at all its listeners."""
    return broker in state.brokers and all(ask_through(cluster, state, broker) is None for _ in range(TRIES))


def seen_by(state: State, listener: str, metadata: Metadata) -> State:
    """Return the metadata that one broker returned at one listener, converted to a State.

    The addresses of brokers at other listeners, and the replicas that a reassignment adds, are taken from `state`.
    """
    brokers = {
        number: {"rack": None, **state.brokers.get(number, {}), listener: f"{host}:{port}"}
        for number, (host, port) in metadata.brokers.items()
    }
    return State(brokers, metadata.controller, metadata.partitions, adding=state.adding)


def confirmed(cluster: Cluster, state: State) -> list[State]:
    """Return the view of each registered broker that answers; `mute` of each view has the brokers that do not answer.

    While no view has any partition, the brokers are asked again, for up to EMPTY seconds. Raises ClusterError if
    brokers are registered and none of them answers.
    """
    begun = waits.now()
    while True:
        found = views(cluster, state, set(state.brokers))
        states = list(found.states.values())
        if state.brokers and not states:
            raise ClusterError("no broker answers at the address at which it is registered")
        if any(one.partitions for one in (state, *states)) or waits.now() - begun >= EMPTY:
            mute = {broker for broker in found.mute if gone(cluster, state, broker)}
            return [replace(one, mute=mute) for one in states or [state]]
        waits.rest(waits.TICK)


def with_failed_dirs(cluster: Cluster, state: State, brokers: Collection[int]) -> list[int]:
    """Return those of `brokers` that answer and report a log dir as offline, sorted."""
    listener, client = next(iter(cluster.clients.items()))

    def failed(broker: int) -> bool:
        """Tell whether a broker reports an offline log dir; False if the broker does not answer."""
        try:
            return bool(failed_dirs(client.properties, str(state.brokers[broker][listener]), broker))
        except AdminError:
            return False

    reachable = sorted(broker for broker in brokers if listener in state.brokers.get(broker, {}))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [broker for broker, is_sick in zip(reachable, pool.map(failed, reachable), strict=True) if is_sick]
