"""Decides whether brokers may stop now (the gate), from one snapshot of the cluster. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import STANDS, Partition

SHOWN = 5
"""Maximum number of partitions or topics that a message names; the others are counted."""
UNASKED = "(restart.yml -l, which does not need its answer)"
CUT_OFF = f"first restart the broker that is cut off {UNASKED}"
Racks = Mapping[int, str | None]
"""The declared rack of each broker, including brokers that are down."""


@dataclass(frozen=True)
class Rules:
    """The operator's options for the gate, which is the check whether brokers may stop (module kafka_gate)."""

    margin: int = 0
    """Number of in-sync replicas that have to remain in addition to min.insync.replicas."""
    accepts: Sequence[str] = ()
    """Names or patterns of topics that may have no leader, or not be writable, while their broker is down."""
    racks: Racks = field(default_factory=dict)
    together: Racks | None = None
    """By broker, the name of the set of brokers that are restarted together; by default its rack."""
    former: Collection[int] = ()
    """Brokers that were the controller until now. A broker that names one of them does not know the new one yet."""


PLAIN = Rules()


@dataclass(frozen=True)
class Snapshot:
    """The facts about a cluster by which blocks() decides whether brokers may stop, read at one time."""

    state: State
    min_isr: Mapping[str, int] = field(default_factory=dict)
    """By topic, its min.insync.replicas; only topics of which a broker to be stopped has an in-sync replica."""
    moving: Collection[str] = ()
    """Partitions whose replicas are being reassigned, as TOPIC-NUMBER."""
    silent: Collection[int] = ()
    """Brokers to be stopped that are the only in-sync replica of a partition, and do not answer."""
    unheard: Collection[int] = ()
    """Brokers that stay, count as in sync, and do not answer, as a dead broker whose session has not expired yet.

    If there are any, nothing else was read, except to compute the order of a restart.
    """
    hung: Collection[int] = ()
    """Brokers to be stopped that do not answer; only known if `unheard` is not empty."""
    views: Mapping[int, State] = field(default_factory=dict)
    """The view of each broker that stays, and the view of the controller of these brokers; the worst view counts.

    If empty, `state` is used.
    """

    @property
    def states(self) -> list[State]:
        """Return the state of the cluster as each asked broker reported it; [`state`] if no broker was asked."""
        return list(self.views.values()) or [self.state]

    def holding(self, stop: Collection[int]) -> bool:
        """Tell whether the brokers in `stop` hold an in-sync replica that clients use.

        It suffices that one of the asked brokers reports such a replica.
        """
        return any(held(state, stop, self.silent) for state in self.states)


@dataclass(frozen=True)
class Block:
    """One reason why brokers may not stop: `what` is affected, `why` they may not stop, and what to do (`cure`)."""

    what: str
    why: str
    cure: str
    lasting: bool = False
    """Whether waiting does not remove the reason."""

    def __str__(self) -> str:
        """Return the reason as one text: `WHAT: WHY; CURE`."""
        return f"{self.what}: {self.why}; {self.cure}"


def held(state: State, stop: Collection[int], silent: Collection[int] = ()) -> list[Partition]:
    """Return the partitions with a leader that would lose an in-sync replica if the brokers in `stop` stopped.

    Brokers that are not registered are ignored. `silent` are brokers that do not answer. A partition is left out if all
    its in-sync replicas are on brokers in both `stop` and `silent`, since no client can use the partition.
    """
    registered, mute = set(stop) & set(state.brokers), set(stop) & set(silent)
    return [
        p for p in state.partitions if p.leader in state.brokers and registered & set(p.isr) and not set(p.isr) <= mute
    ]


def sick(snapshot: Snapshot, brokers: Iterable[int]) -> list[int]:
    """Return those of `brokers` that are restarted first, because any other restart would wait for them.

    These brokers are down, do not answer, or are in sync with none of their partitions. A controller that is in sync
    with none of its partitions is not included.
    """
    controller = snapshot.states[0].controller

    def is_sick(broker: int) -> bool:
        registered = any(broker in state.brokers for state in snapshot.states)
        if not registered or broker in {*snapshot.hung, *snapshot.silent}:
            return True
        has = any(broker in p.replicas for state in snapshot.states for p in state.partitions)
        return broker != controller and has and not snapshot.holding([broker])

    return [broker for broker in brokers if is_sick(broker)]


def blocks(snapshot: Snapshot, stop: Collection[int], rules: Rules = PLAIN) -> list[Block]:
    """Return why the brokers in `stop` may not stop together, [] if they may; lasting reasons come first.

    They may stop if there is a controller, no other rack is down, and each partition that they hold in sync is safe. A
    partition is safe if its other replicas are in sync and answer, it keeps min.insync.replicas plus the margin, and it
    is not being moved. A broker may always be restarted if it is down, holds only offline partitions, or does not
    answer.
    """
    if headless := uncontrolled(snapshot, rules.former):
        return [headless]
    racks: dict[str, Block] = {}
    few: dict[str, str] = {}
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for state in snapshot.states:
        partitions = held(state, stop, snapshot.silent)
        racks |= {str(block): block for block in _racks_out(state, stop, rules.racks)} if partitions else {}
        for partition in partitions:
            need = snapshot.min_isr.get(partition.topic, 0 if snapshot.unheard else None)
            if need is not None and (why := _too_few(partition, stop, need, rules)):
                few[partition.topic] = why
            for key in _in_the_way(partition, stop, snapshot, state):
                reasons.setdefault(key, {})[str(partition)] = None
    named = (Block(_named("partition", list(names)), *key) for key, names in reasons.items())
    return [*_of_topics(few), *racks.values(), *named]


def _racks_out(state: State, stop: Collection[int], racks: Racks) -> Iterator[Block]:
    """Yield a Block for each rack of which no broker is registered, except racks of brokers in `stop`."""
    members: dict[str, list[int]] = {}
    for broker, rack in racks.items():
        members.setdefault(rack or "", []).append(broker)
    for rack, brokers in members.items():
        if rack and not set(brokers) & (set(state.brokers) | set(stop)):
            names, several = _listed(map(str, sorted(brokers)), "broker"), len(brokers) > 1
            why = f"is down: {names} {'are' if several else 'is'} not registered"
            yield Block(f"rack {rack}", why, "start one of them" if several else "start it")


def _too_few(partition: Partition, stop: Collection[int], need: int, rules: Rules) -> str:
    """Return why a partition has too few replicas for this stop, even if all are in sync; '' if it has enough.

    `need` is its min.insync.replicas. Topics that the operator accepts (rules.accepts) may lose one replica
    nevertheless.
    """
    left = len(set(partition.replicas) - set(stop))
    small = len(partition.replicas) - 1 < need + rules.margin  # whichever broker stops: can be accepted
    accepted = small and any(fnmatchcase(partition.topic, pattern) for pattern in rules.accepts)
    if left >= need + rules.margin or (accepted and left >= len(partition.replicas) - 1):
        return ""
    more = f" and a margin of {rules.margin}" if rules.margin else ""
    return f"{left} of {len(partition.replicas)} replicas would remain, with min.insync.replicas {need}{more}"


def _in_the_way(
    partition: Partition, stop: Collection[int], snapshot: Snapshot, state: State
) -> Iterator[tuple[str, str]]:
    """Yield (why, remedy) for each reason why a partition does not allow the stop now; `state` is one broker's view."""
    if partition.topic not in snapshot.min_isr and not snapshot.unheard:
        yield "its min.insync.replicas is not known yet, it was just created", "ask again"
    for broker in sorted(set(partition.replicas) - set(stop)):
        if broker not in state.brokers:
            yield f"broker {broker} is down", f"start broker {broker}"
        elif broker not in partition.isr:
            cure = f"wait until broker {broker} has caught up, or look for a failed disk (check.yml)"
            yield f"broker {broker} is not in sync", cure
        elif broker in snapshot.unheard:
            yield silence(broker), _cure_of_silence(broker, snapshot)
    if str(partition) in snapshot.moving:
        yield "its replicas are being moved", "wait until the move has ended, or cancel it"


def silence(broker: int) -> str:
    """Return the text `broker N does not answer, but counts as in sync`."""
    return f"broker {broker} does not answer, but counts as in sync"


def _cure_of_silence(broker: int, snapshot: Snapshot) -> str:
    """Return what to do about a broker that does not answer but counts as in sync."""
    if snapshot.hung:
        hung = _listed(map(str, sorted(snapshot.hung)), "broker")
        cure = "so it is unknown what they hold: restart one of them on its host (systemctl restart kafka)"
        return f"{hung} {'do' if len(snapshot.hung) > 1 else 'does'} not answer either, {cure}, then ask again"
    return f"start broker {broker}, or restart it if it hangs {UNASKED}, or wait until its session expires"


def uncontrolled(snapshot: Snapshot, former: Collection[int] = ()) -> Block | None:
    """Return why no controller would elect new leaders if brokers stopped now; None if a controller would.

    Reasons: there is no controller, brokers name different controllers, or a broker still names one of `former`
    (brokers that were the controller until now). A stopping broker asks the controller that it knows to move its
    leaders.
    """
    unheard = sorted(broker for broker, state in snapshot.views.items() if state.controller in former)
    if unheard:
        who, names = _listed(map(str, unheard), "broker"), "name" if unheard[1:] else "names"
        last = _listed(map(str, sorted(former)), "broker")
        why = f"{who} still {names} the former controller, {last}"
        all_of_them = len(unheard) == len(snapshot.views)
        cure = f"no controller is elected: {STANDS}" if all_of_them else CUT_OFF
        return Block("cluster", why, f"wait; if that lasts, {cure}")
    none = [broker for broker, state in snapshot.views.items() if state.controller not in state.brokers]
    if len(none) == len(snapshot.views) and any(state.controller not in state.brokers for state in snapshot.states):
        return Block("cluster", "no controller, so no other replicas would lead", "look at ZooKeeper's quorum")
    by_controller: dict[int, list[int]] = {}
    for broker, state in sorted(snapshot.views.items()):
        by_controller.setdefault(-1 if broker in none else state.controller, []).append(broker)
    if len(by_controller) < 2:
        return None
    named = [
        f"{_listed(map(str, brokers), 'broker')} name{'' if brokers[1:] else 's'} {one if one >= 0 else 'none'}"
        for one, brokers in by_controller.items()
    ]
    cure = f"wait until they agree, or {CUT_OFF}"
    return Block("cluster", f"brokers name different controllers ({'; '.join(named)})", cure)


def _of_topics(few: Mapping[str, str]) -> Iterator[Block]:
    """Yield a Block for each reason in `few`, {topic: why it has too few replicas}; the Block names the topics."""
    by_reason: dict[str, list[str]] = {}
    for topic, why in few.items():
        by_reason.setdefault(why, []).append(topic)
    for why, topics in by_reason.items():
        cure = f"give {'them' if topics[1:] else 'it'} more replicas, or accept it: kafka_restart_accepts"
        yield Block(_named("topic", topics), why, f"{cure}: [{', '.join(topics[:SHOWN])}]", lasting=True)


def _named(what: str, names: Sequence[str]) -> str:
    """Return `what` and the first SHOWN of `names` as text, and how many more names there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return _listed(names[:SHOWN], what) + more


def _listed(names: Iterable[str], what: str) -> str:
    """Return `what`, in the plural if there are several names, followed by all `names`, as text."""
    every = list(names)
    return f"{what}{'s' if every[1:] else ''} {', '.join(every)}"
