"""What the gate is told of a running cluster, read through the facade; no Ansible import."""

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
"""Seconds in which all hear of the next controller, unless there is none, or one of them cannot be reached."""


class UntoldError(ClusterError):
    """No broker says the settings of topics, and asking again makes it worse: the text says why."""


def snapshot(
    cluster: Cluster, state: State, stop: Sequence[int], one_by_one: bool = False, former: Collection[int] = ()
) -> Snapshot:
    """Return all that the gate has to know before these brokers stop. Raises ClusterError, UntoldError, ImportError.

    Each of those that stay is asked: one alone may say what was, and those that stop may be the very ones that know
    least. So are their controller, of what it decides the others may not have been told, and the `former` one. Who does
    not answer a part keeps the gate closed; where they hold nothing in sync, no part is asked for.

    Before they stop `one_by_one` all are asked, those that stop among them but for one alone, and what lasts is told
    though some are silent: it is refused before anything begins.
    """
    stay = set(state.brokers) - (set() if one_by_one and stop[1:] else set(stop))
    found = views(cluster, state, stay or set(state.brokers))
    said = [state, *found.states.values()]
    if not any(seen.partitions for seen in said):
        said = list(views(cluster, state, set(state.brokers)).states.values())
    if any(seen.partitions for seen in said):
        # Who names none has just started, or has just heard of a new controller: that is no answer.
        found = Views({one: seen for one, seen in found.states.items() if seen.partitions}, found.mute)
        if stay - set(found.mute) and not found.states:
            raise ClusterError(
                "the gate stays closed: the brokers that would stay have not been told of partitions yet"
            )
    if stay and not found.states:
        names = ", ".join(map(str, sorted(stay)))
        raise ClusterError(f"the gate stays closed: none of the brokers that would stay ({names}) answers")
    found = with_controller(cluster, state, found, stop, former)
    states = list(found.states.values()) or [state]
    silent = {one for one in stop if all(alone(seen, one) for seen in states) and gone(cluster, state, one)}
    used = [partition for seen in states for partition in held(seen, stop, silent)]
    unheard = set(found.mute) & stay & {broker for p in used for broker in p.isr}
    hung = {one for one in stop if one in silent or gone(cluster, state, one)} if unheard else set[int]()
    told = Snapshot(state, silent=silent, unheard=unheard, hung=hung, views=found.states)
    if not used or uncontrolled(told, former) or (unheard and not one_by_one):
        return told  # that opens it, or closes it, whatever else there is
    rest = {one: seen for one, seen in told.views.items() if one_by_one or one not in stop} or told.views
    try:
        min_isr = highest_min_isr(cluster, rest, sorted({p.topic for p in used}))
        # What moves does so for a while: of the order it decides nothing.
        moving = set[Place]() if one_by_one else moved(cluster, states[0], stop)
    except AdminError as error:
        raise ClusterError(f"the gate stays closed, for not all that it asks was answered: {error}") from error
    return replace(told, min_isr=min_isr, moving={f"{topic}-{number}" for topic, number in moving})


def highest_min_isr(cluster: Cluster, seen: Mapping[int, State], names: Sequence[str]) -> dict[str, int]:
    """Return min.insync.replicas of topics, the highest that brokers say. Raises AdminError, UntoldError.

    What was set for a topic is the same for all brokers. Else whoever leads judges by what it has of its own, and that
    is the same for all of those topics: each is asked for one of them, all at the same time.
    """
    admin = who_answers(cluster, seen)
    try:
        settings = topics.describe(admin, "TOPIC", names)
    except Unanswered as error:  # a broker that asks ZooKeeper waits for a quorum, though nobody waits for it any more
        raise UntoldError(
            f"the gate stays closed: no broker says the settings of topics ({error}). Has ZooKeeper a quorum "
            "(check.yml)? Without one each question keeps a thread of the broker that was asked (num.io.threads) until "
            "there is one again, so it is not asked again. Mend ZooKeeper, and run this again"
        ) from error
    found = {name: one[MIN_ISR] for name, one in settings.items() if MIN_ISR in one}
    unsaid = {name for name, one in found.items() if not one.dynamic}
    known = {one: {p.topic for p in state.partitions} & unsaid for one, state in seen.items()}
    asked = {one: min(its) for one, its in known.items() if its and admin.known and one in admin.known.brokers}
    values = [int(value) for value in topics.of_each(admin, asked, MIN_ISR) if value]
    return {
        name: max([int(one.value), *(values if name in unsaid else [])]) for name, one in found.items() if one.value
    }


def with_controller(
    cluster: Cluster, state: State, found: Views, stop: Sequence[int], former: Collection[int]
) -> Views:
    """Add what the controller says, where those that stay name one that is to stop; after a former one, all that stop.

    Who stops asks the controller that it knows.
    """
    told = {*former, *stop} if former else {seen.controller for seen in found.states.values()} & set(stop)
    named = told & set(state.brokers)
    own = views(cluster, state, named - set(found.states)).states
    return Views({**found.states, **{one: seen for one, seen in own.items() if seen.partitions}}, found.mute)


def judging(
    cluster: Cluster, stop: Sequence[int], rules: Rules, former: Sequence[int] = (), begun: float | None = None
) -> Callable[[State], Sequence[Block]]:
    """Return what names all that keeps brokers from stopping together; `begun`: when the first part of the wait did.

    It raises as `snapshot`.
    """
    since, last = waits.now() if begun is None else begun, [one for one in former if one >= 0]

    def over(state: State) -> bool:
        late = bool(last) and waits.now() - since > HEARD
        return late and (passed_by(cluster, state, stop, last) or again(cluster, state, last))

    def judge(state: State) -> Sequence[Block]:
        named = [] if over(state) else last
        return blocks(snapshot(cluster, state, stop, former=named), stop, replace(rules, former=named))

    return judge


def passed_by(cluster: Cluster, state: State, stop: Sequence[int], former: Sequence[int]) -> bool:
    """Tell whether all that stay name another controller than a `former` one: it does not reach who stops.

    That one may be restarted for it. Raises ImportError.
    """
    stay = set(state.brokers) - set(stop)
    found = views(cluster, state, stay)
    unsaid = stay - set(found.states) - set(found.mute)
    return bool(found.states) and not unsaid and not {one.controller for one in found.states.values()} & {*former}


def again(cluster: Cluster, state: State, former: Sequence[int]) -> bool:
    """Tell whether a `former` controller was elected again, when all have had the time to hear of the next one.

    It answers what none but the controller does, and all others say that they are not: it would do so as well where
    ZooKeeper has not reached it since, and one that takes over answers when it is done. Raises ImportError.
    """
    listener, client = next(iter(cluster.clients.items()))

    def controls(one: int) -> bool | None:
        try:
            moves.told_by(client.properties, str(state.brokers[one].get(listener)), one)
        except Uncontrolled:
            return False
        except AdminError:
            return None
        return True

    there = sorted(state.brokers)
    kafka_python.load()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = dict(zip(there, pool.map(controls, there), strict=True))
    return None not in said.values() and [one for one, does in said.items() if does] in [[one] for one in former]


def who_answers(cluster: Cluster, seen: Mapping[int, State]) -> Admin:
    """Return a client that knows only brokers that have just answered: one that hangs would be asked, and waited for.

    What every broker knows needs no other.
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
    """Return the partitions whose replicas are being moved, as the controller says. Raises AdminError, ImportError.

    A controller that is to stop and answers nobody moves none.
    """
    listener, client = next(iter(cluster.clients.items()))
    if state.controller in stop and gone(cluster, state, state.controller):
        return set()
    return moves.told_by(client.properties, str(state.brokers[state.controller].get(listener)), state.controller)


def alone(state: State, broker: int) -> bool:
    """Tell whether a broker has something that nobody else has in sync, and nobody follows it who could.

    Where the others of its partitions are down, it is no wonder that nobody does.
    """
    led = [p for p in state.partitions if p.leader == broker]
    left = any(p.isr == (broker,) and set(p.replicas) & set(state.brokers) - {broker} for p in led)
    return left and not any(len(p.isr) > 1 for p in led)
