"""What several brokers say of one cluster, each asked by itself; no Ansible import.

One broker alone may say what was: it has just started and knows nothing yet, or the controller does not reach it.
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
"""Seconds until a broker that is asked by itself has to answer."""
AT_ONCE = 16
"""Brokers that are asked at the same time."""
TRIES = 3
"""How often a broker has to stay silent before it counts as one that serves nobody."""
EMPTY = 3.0
"""Seconds for which no broker may name a partition before that is believed.

A new controller tells all of them of one another first, and of partitions after that.
"""


Said = tuple[str, Metadata]
"""A listener, and what a broker says there."""


@dataclass(frozen=True)
class Views:
    """What brokers say that were asked by themselves."""

    states: Mapping[int, State] = field(default_factory=dict)
    """By broker, those that prove something."""
    mute: Collection[int] = ()
    """Those that answered at none of the addresses at which they are registered."""


def views(cluster: Cluster, state: State, brokers: Collection[int]) -> Views:
    """Ask brokers of a cluster, side by side. Raises ImportError."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(zip(brokers, pool.map(lambda one: own_words(cluster, state, one), brokers), strict=True))
    states = {broker: seen_by(state, *said) for broker, (_, said) in answers.items() if said and not said[1].unseen}
    return Views(states, {broker for broker, (answers_us, _) in answers.items() if not answers_us})


def own_words(cluster: Cluster, state: State, broker: int) -> tuple[bool, Said | None]:
    """Return whether a broker answers, and what it says; None where that was not told in time."""
    found = answered(cluster, state, broker)
    if found is None or found[1].said_by == broker:
        return found is not None, found
    listener = found[0]
    try:
        place = str(state.brokers[broker][listener])
        return True, (listener, metadata_of(cluster.clients[listener].properties, place, broker))
    except AdminError:
        return True, None


def answered(cluster: Cluster, state: State, broker: int) -> Said | None:
    """Return what was answered through a broker, and at which of its listeners; None where it answers at none.

    Another one may have said it: the library asks any that the first answer names.
    """
    places = {name: place for name, place in state.brokers[broker].items() if name in cluster.clients}
    for name, place in places.items():
        try:
            return name, Admin({**cluster.clients[name].properties, "bootstrap.servers": place}).look(ANSWER)
        except AdminError:
            continue
    return None


def gone(cluster: Cluster, state: State, broker: int) -> bool:
    """Tell whether a broker answers nobody, however often it is asked."""
    return broker in state.brokers and all(answered(cluster, state, broker) is None for _ in range(TRIES))


def seen_by(state: State, listener: str, metadata: Metadata) -> State:
    """Return what one broker says as a state; what it does not say of other brokers' listeners is that of `state`."""
    brokers = {
        number: {"rack": None, **state.brokers.get(number, {}), listener: f"{host}:{port}"}
        for number, (host, port) in metadata.brokers.items()
    }
    return State(brokers, metadata.controller, metadata.partitions, adding=state.adding)


def confirmed(cluster: Cluster, state: State) -> list[State]:
    """Return what each registered broker says that answers, and in each who does not. Raises ClusterError if none does.

    Where none names a partition, they are asked for a while.
    """
    begun = waits.now()
    while True:
        found = views(cluster, state, set(state.brokers))
        said = list(found.states.values())
        if state.brokers and not said:
            raise ClusterError("no broker answers at the address at which it is registered")
        if any(one.partitions for one in (state, *said)) or waits.now() - begun >= EMPTY:
            mute = {broker for broker in found.mute if gone(cluster, state, broker)}
            return [replace(one, mute=mute) for one in said or [state]]
        waits.rest(waits.TICK)


def with_failed_dirs(cluster: Cluster, state: State, brokers: Collection[int]) -> list[int]:
    """Return those of these brokers that have given up a log dir, as they say; who does not answer has not."""
    listener, client = next(iter(cluster.clients.items()))

    def failed(broker: int) -> bool:
        try:
            return bool(failed_dirs(client.properties, str(state.brokers[broker][listener]), broker))
        except AdminError:
            return False

    there = sorted(broker for broker in brokers if listener in state.brokers.get(broker, {}))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [broker for broker, is_sick in zip(there, pool.map(failed, there), strict=True) if is_sick]
