"""Reads the facts about a running cluster by which the gate (gate.py) decides whether brokers may stop."""

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
"""Seconds within which all brokers know a new controller, unless none was elected or it cannot reach a broker."""


class UntoldError(ClusterError):
    """No broker reports the settings of topics.

    The request must not be repeated, because each request without an answer occupies a thread of a broker.
    """


def snapshot(
    cluster: Cluster, state: State, stop: Sequence[int], one_by_one: bool = False, former: Collection[int] = ()
) -> Snapshot:
    """Return all facts that the gate needs before the brokers in `stop` stop.

    Each broker that stays is asked, since the view of one broker may be outdated. The controller is asked even if it is
    in `stop`. If `former` (brokers that were the controller until now) is not empty, the brokers in `stop` are asked as
    well. If the brokers in `stop` hold nothing in sync, or a broker that stays does not answer, nothing else is read.

    `one_by_one` serves to compute the order of a restart. Then all brokers are asked, unless `stop` has a single
    broker. The settings of topics are read even if a broker does not answer. Running reassignments are not read.

    Raises ClusterError if the facts cannot be read, UntoldError if no broker reports the settings of topics.
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
    """Return {topic: the highest min.insync.replicas that any broker in `seen` uses for the topic}.

    `seen` is {broker: its view}. A topic's own setting is the same on all brokers. For topics without this setting, the
    default of the leader's broker counts, so each broker is asked for one such topic. Raises UntoldError if no broker
    reports settings of topics, AdminError if another request fails.
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
    """Return `found` with the controller's own view added if the controller is in `stop`.

    If `former` (brokers that were the controller until now) is not empty, the views of all brokers in `stop` and
    `former` are added instead: a stopping broker asks the controller that it knows to move its leaders.
    """
    added = {*former, *stop} if former else {seen.controller for seen in found.states.values()} & set(stop)
    named = added & set(state.brokers)
    own = views(cluster, state, named - set(found.states)).states
    return Views({**found.states, **{one: seen for one, seen in own.items() if seen.partitions}}, found.mute)


def judging(
    cluster: Cluster, stop: Sequence[int], rules: Rules, former: Sequence[int] = (), begun: float | None = None
) -> Callable[[State], Sequence[Block]]:
    """Return a function that returns all reasons why the brokers in `stop` may not stop together, [] if they may.

    The function raises what snapshot() raises. `former` are brokers that were the controller until now. A broker that
    still names one of them blocks the stop. From HEARD seconds after `begun` (the start of the whole wait) on, such a
    broker may be accepted.
    """
    since, last = waits.now() if begun is None else begun, [broker for broker in former if broker >= 0]

    def over(state: State) -> bool:
        """Tell whether the gate ignores brokers that still name a former controller.

        It waits HEARD seconds first. Then all other brokers have to agree on a new controller, or the former controller
        has to have been elected again.
        """
        late = bool(last) and waits.now() - since > HEARD
        return late and (others_agree(cluster, state, stop, last) or elected_again(cluster, state, last))

    def judge(state: State) -> Sequence[Block]:
        """Read a snapshot, and return the reasons against the stop."""
        named = [] if over(state) else last
        return blocks(snapshot(cluster, state, stop, former=named), stop, replace(rules, former=named))

    return judge


def others_agree(cluster: Cluster, state: State, stop: Sequence[int], former: Sequence[int]) -> bool:
    """Tell whether all brokers that stay and answer name a controller that is not in `former`.

    If so, a broker in `stop` names a former controller only because the new controller cannot reach it; the broker may
    be restarted.
    """
    stay = set(state.brokers) - set(stop)
    found = views(cluster, state, stay)
    unknown = stay - set(found.states) - set(found.mute)
    return bool(found.states) and not unknown and not {one.controller for one in found.states.values()} & {*former}


def elected_again(cluster: Cluster, state: State, former: Sequence[int]) -> bool:
    """Tell whether one of `former`, brokers that were the controller before, was elected controller again.

    All brokers get a request that only the controller answers. One broker of `former` has to answer it, and all other
    brokers have to reject it. A single answer proves nothing: a former controller without a connection to ZooKeeper
    would still answer.
    """
    listener, client = next(iter(cluster.clients.items()))

    def controls(broker: int) -> bool | None:
        """Tell whether a broker answers as the controller; None if it does not answer."""
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
    """Return a client that uses only the brokers in `seen` ({broker: its view}), which have just answered.

    A client that uses all brokers could wait for a broker that hangs.
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
    """Return the (topic, partition) pairs whose replicas are being moved, as the controller reports them.

    If the controller is in `stop` and does not answer, return an empty set, because it moves nothing. Raises AdminError
    if another controller does not answer, or if the broker asked is no longer the controller.
    """
    listener, client = next(iter(cluster.clients.items()))
    if state.controller in stop and gone(cluster, state, state.controller):
        return set()
    return moves.told_by(client.properties, str(state.brokers[state.controller].get(listener)), state.controller)


def alone(state: State, broker: int) -> bool:
    """Tell whether no other broker follows `broker`: it leads partitions, and is the only in-sync replica of each.

    Return False if none of these partitions has another replica on a registered broker, since then none could follow.
    """
    led = [p for p in state.partitions if p.leader == broker]
    left = any(p.isr == (broker,) and set(p.replicas) & set(state.brokers) - {broker} for p in led)
    return left and not any(len(p.isr) > 1 for p in led)
