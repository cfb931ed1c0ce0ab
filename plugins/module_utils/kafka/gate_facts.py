"""Reads the facts of a running cluster that the gate decides by, through the facade."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_views import AT_ONCE, Views, gone, views
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python, moves, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    Admin,
    AdminError,
    Metadata,
    Unanswered,
    Uncontrolled,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import (
    Block,
    Rules,
    Snapshot,
    blocks,
    held,
    uncontrolled,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

MIN_ISR = "min.insync.replicas"
HEARD = 5.0
"""Seconds in which all brokers know the next controller, unless there is none, or it cannot reach one of them."""


class UntoldError(ClusterError):
    """No broker reports the settings of topics, and repeating the request would make it worse."""


def snapshot(
    cluster: Cluster, state: State, stop: Sequence[int], one_by_one: bool = False, former: Collection[int] = ()
) -> Snapshot:
    """Return everything that the gate has to know before these brokers stop.

    Each broker that stays is asked: one view may be outdated, and the brokers that stop may be the worst informed. Also
    asked are the controller, whose decisions the others may not know yet, and the `former` one. A broker that does not
    answer keeps the gate closed. If the brokers hold nothing in sync, no further facts are read.

    For restarts `one_by_one`, all brokers are asked, also those that stop unless it is only one. Lasting reasons are
    reported even if some brokers do not answer, since they are rejected before anything starts.

    Raises ClusterError, UntoldError, ImportError.
    """
    stay = set(state.brokers) - (set() if one_by_one and stop[1:] else set(stop))
    found = views(cluster, state, stay or set(state.brokers))
    states = [state, *found.states.values()]
    if not any(seen.partitions for seen in states):
        states = list(views(cluster, state, set(state.brokers)).states.values())
    if any(seen.partitions for seen in states):
        # A broker without partitions has just started, or a new controller has not informed it yet: not an answer.
        found = Views({one: seen for one, seen in found.states.items() if seen.partitions}, found.mute)
        if stay - set(found.mute) and not found.states:
            raise ClusterError("the gate stays closed: the brokers that would stay do not know the partitions yet")
    if stay and not found.states:
        names = ", ".join(map(str, sorted(stay)))
        raise ClusterError(f"the gate stays closed: none of the brokers that would stay ({names}) answers")
    found = with_controller(cluster, state, found, stop, former)
    states = list(found.states.values()) or [state]
    silent = {one for one in stop if all(alone(seen, one) for seen in states) and gone(cluster, state, one)}
    used = [partition for seen in states for partition in held(seen, stop, silent)]
    unheard = set(found.mute) & stay & {broker for p in used for broker in p.isr}
    hung = {one for one in stop if one in silent or gone(cluster, state, one)} if unheard else set[int]()
    answers = Snapshot(state, silent=silent, unheard=unheard, hung=hung, views=found.states)
    if not used or uncontrolled(answers, former) or (unheard and not one_by_one):
        return answers  # decides the gate, whatever else there is
    rest = {one: seen for one, seen in answers.views.items() if one_by_one or one not in stop} or answers.views
    try:
        min_isr = highest_min_isr(cluster, rest, sorted({p.topic for p in used}))
        # A move ends some time: it does not affect the order.
        moving = set[Place]() if one_by_one else moved(cluster, states[0], stop)
    except AdminError as error:
        raise ClusterError(f"the gate stays closed, because a request was not answered: {error}") from error
    return replace(answers, min_isr=min_isr, moving={f"{topic}-{number}" for topic, number in moving})


def highest_min_isr(cluster: Cluster, seen: Mapping[int, State], names: Sequence[str]) -> dict[str, int]:
    """Return min.insync.replicas of topics, the highest that any broker uses. Raises AdminError, UntoldError.

    The topic's own setting is the same on all brokers. Without one, the leader uses its broker's default, which is the
    same for all of those topics: each broker is asked for one of them, all in parallel.
    """
    admin = answering_client(cluster, seen)
    try:
        settings = topics.describe(admin, "TOPIC", names)
    except Unanswered as error:  # a broker that reads ZooKeeper waits for a quorum, even if its client has given up
        raise UntoldError(
            f"the gate stays closed: no broker reports the settings of topics ({error}). Check whether ZooKeeper has a "
            "quorum (check.yml). Without one, each request occupies a thread of a broker (num.io.threads) until there "
            "is a quorum, so the request is not repeated. Repair ZooKeeper, and run this again"
        ) from error
    found = {name: one[MIN_ISR] for name, one in settings.items() if MIN_ISR in one}
    by_default = {name for name, one in found.items() if not one.dynamic}
    known = {one: {p.topic for p in state.partitions} & by_default for one, state in seen.items()}
    asked = {one: min(its) for one, its in known.items() if its and admin.known and one in admin.known.brokers}
    values = [int(value) for value in topics.of_each(admin, asked, MIN_ISR) if value]
    return {
        name: max([int(one.value), *(values if name in by_default else [])]) for name, one in found.items() if one.value
    }


def with_controller(
    cluster: Cluster, state: State, found: Views, stop: Sequence[int], former: Collection[int]
) -> Views:
    """Add the view of the controller if it is to be stopped; after a former controller, the views of all that stop.

    A broker that stops asks the controller that it knows.
    """
    added = {*former, *stop} if former else {seen.controller for seen in found.states.values()} & set(stop)
    named = added & set(state.brokers)
    own = views(cluster, state, named - set(found.states)).states
    return Views({**found.states, **{one: seen for one, seen in own.items() if seen.partitions}}, found.mute)


def judging(
    cluster: Cluster, stop: Sequence[int], rules: Rules, former: Sequence[int] = (), begun: float | None = None
) -> Callable[[State], Sequence[Block]]:
    """Return a function that finds all reasons why brokers may not stop together; it raises what `snapshot` raises.

    `begun` is when the first part of the wait began.
    """
    since, last = waits.now() if begun is None else begun, [broker for broker in former if broker >= 0]

    def over(state: State) -> bool:
        late = bool(last) and waits.now() - since > HEARD
        return late and (others_agree(cluster, state, stop, last) or elected_again(cluster, state, last))

    def judge(state: State) -> Sequence[Block]:
        named = [] if over(state) else last
        return blocks(snapshot(cluster, state, stop, former=named), stop, replace(rules, former=named))

    return judge


def others_agree(cluster: Cluster, state: State, stop: Sequence[int], former: Sequence[int]) -> bool:
    """Tell whether all brokers that stay name a controller that is not a `former` one. Raises ImportError.

    Then the controller cannot reach the broker that stops, which may be restarted for that reason.
    """
    stay = set(state.brokers) - set(stop)
    found = views(cluster, state, stay)
    unknown = stay - set(found.states) - set(found.mute)
    return bool(found.states) and not unknown and not {one.controller for one in found.states.values()} & {*former}


def elected_again(cluster: Cluster, state: State, former: Sequence[int]) -> bool:
    """Tell whether a `former` controller was elected again, after the time in which all learn of the next one.

    It answers a request that only the controller answers, and all others reject that request. The former controller
    would answer it as well if it had no connection to ZooKeeper since, so the others' answers are needed; a new
    controller answers when it has taken over. Raises ImportError.
    """
    listener, client = next(iter(cluster.clients.items()))

    def controls(broker: int) -> bool | None:
        try:
            moves.told_by(client.properties, str(state.brokers[broker].get(listener)), broker)
        except Uncontrolled:
            return False
        except AdminError:
            return None
        return True

    brokers = sorted(state.brokers)
    kafka_python.load()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(zip(brokers, pool.map(controls, brokers), strict=True))
    return None not in answers.values() and [one for one, does in answers.items() if does] in [[one] for one in former]


def answering_client(cluster: Cluster, seen: Mapping[int, State]) -> Admin:
    """Return a client that knows only brokers that have just answered.

    A client that knows all would also ask a broker that hangs, and wait for it.
    """
    listener, client = next(iter(cluster.clients.items()))
    places = {one: state.brokers[one].get(listener) for one, state in seen.items() if one in state.brokers}
    known = {one: str(place) for one, place in places.items() if place}
    if not known:
        return client
    admin = Admin({**client.properties, "bootstrap.servers": ",".join(known.values())})
    split = {one: place.rpartition(":") for one, place in known.items()}
    admin.known = Metadata("", -1, {one: (host, int(port)) for one, (host, _, port) in split.items()}, [])
    return admin


def moved(cluster: Cluster, state: State, stop: Sequence[int]) -> set[Place]:
    """Return the partitions whose replicas are being moved, by the controller. Raises AdminError, ImportError.

    A controller that is to be stopped and does not answer moves none.
    """
    listener, client = next(iter(cluster.clients.items()))
    if state.controller in stop and gone(cluster, state, state.controller):
        return set()
    return moves.told_by(client.properties, str(state.brokers[state.controller].get(listener)), state.controller)


def alone(state: State, broker: int) -> bool:
    """Tell whether a broker is the only in-sync replica of partitions that it leads, and no replica follows it.

    Partitions whose other replicas are all down do not count: no broker could follow.
    """
    led = [p for p in state.partitions if p.leader == broker]
    left = any(p.isr == (broker,) and set(p.replicas) & set(state.brokers) - {broker} for p in led)
    return left and not any(len(p.isr) > 1 for p in led)
