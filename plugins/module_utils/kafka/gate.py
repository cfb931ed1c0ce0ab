"""May these brokers stop now? A pure function of one look at a cluster; no Ansible import, no Kafka library."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import STANDS, Partition

SHOWN = 5
"""Partitions or topics that are named; the others are counted."""
UNASKED = "(restart.yml -l, which needs no answer of it)"
CUT_OFF = f"restart first the one that is cut off {UNASKED}"
Racks = Mapping[int, str | None]
"""The declared rack of each broker, also of those that are down."""


@dataclass(frozen=True)
class Rules:
    """What an operator says of the gate."""

    margin: int = 0
    """Replicas in sync that have to stay besides min.insync.replicas."""
    accepts: Sequence[str] = ()
    """Names or patterns of topics that may be without a leader, or without writers, while their broker is away."""
    racks: Racks = field(default_factory=dict)
    together: Racks | None = None
    """What may be restarted together; a rack, where that is not said."""
    former: Collection[int] = ()
    """Who was the controller until a moment ago; whoever names it has not heard of the next one."""


PLAIN = Rules()


@dataclass(frozen=True)
class Snapshot:
    """One look at a cluster."""

    state: State
    min_isr: Mapping[str, int] = field(default_factory=dict)
    """min.insync.replicas by topic, of those of which brokers that are to stop hold a partition in sync."""
    moving: Collection[str] = ()
    """Partitions of which replicas are being reassigned, as TOPIC-NUMBER."""
    silent: Collection[int] = ()
    """Brokers that are to stop, alone in sync, and answer nobody where they say that they are."""
    unheard: Collection[int] = ()
    """Brokers that stay, count as in sync, and answer nobody: dead ones do so until their session ends.

    Where there are some, nothing else was asked, but for an order.
    """
    hung: Collection[int] = ()
    """Brokers that are to stop and answer nobody; asked for where some of those that stay do not, either."""
    views: Mapping[int, State] = field(default_factory=dict)
    """What each broker that stays says, and their controller, asked by itself; the worst of it counts.

    Without any, what was seen first.
    """

    @property
    def states(self) -> list[State]:
        """Return all that brokers say."""
        return list(self.views.values()) or [self.state]

    def holding(self, stop: Collection[int]) -> bool:
        """Tell whether anybody says that these brokers hold what their stop would take from somebody."""
        return any(held(state, stop, self.silent) for state in self.states)


@dataclass(frozen=True)
class Block:
    """One reason why brokers may not stop."""

    what: str
    why: str
    cure: str
    lasting: bool = False
    """Whether waiting changes nothing."""

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.what}: {self.why}; {self.cure}"


def held(state: State, stop: Collection[int], silent: Collection[int] = ()) -> list[Partition]:
    """Return the partitions from which a stop would take a replica in sync that somebody uses.

    None of those that are offline. What is not registered holds nothing, and what alone is in sync and answers nobody
    (`silent`) serves nobody.
    """
    there, mute = set(stop) & set(state.brokers), set(stop) & set(silent)
    return [p for p in state.partitions if p.leader in state.brokers and there & set(p.isr) and not set(p.isr) <= mute]


def sick(snapshot: Snapshot, brokers: Iterable[int]) -> list[int]:
    """Return those brokers that are restarted before others, which would have to wait for them.

    They are down, answer nobody, or are in sync with nothing of what they have; the last is no reason to have a
    controller go first.
    """
    controller = snapshot.states[0].controller

    def is_sick(broker: int) -> bool:
        there = any(broker in state.brokers for state in snapshot.states)
        if not there or broker in {*snapshot.hung, *snapshot.silent}:
            return True
        has = any(broker in p.replicas for state in snapshot.states for p in state.partitions)
        return broker != controller and has and not snapshot.holding([broker])

    return [broker for broker in brokers if is_sick(broker)]


def blocks(snapshot: Snapshot, stop: Collection[int], rules: Rules = PLAIN) -> list[Block]:
    """Return why these brokers may not stop together, the lasting reasons first; [] where they may.

    Each partition that they hold in sync has all its other replicas in sync and answering, min.insync.replicas of its
    topic and the margin without them, and no reassignment; there is a controller, and no other rack is out. What is
    down, offline or answers nobody may always be restarted.
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
    """Yield the racks besides those of the brokers that stop of which no broker is registered."""
    members: dict[str, list[int]] = {}
    for broker, rack in racks.items():
        members.setdefault(rack or "", []).append(broker)
    for rack, brokers in members.items():
        if rack and not set(brokers) & (set(state.brokers) | set(stop)):
            names, several = _listed(map(str, sorted(brokers)), "broker"), len(brokers) > 1
            why = f"it is out: {names} {'are' if several else 'is'} not registered"
            yield Block(f"rack {rack}", why, "start one of them" if several else "start it")


def _too_few(partition: Partition, stop: Collection[int], need: int, rules: Rules) -> str:
    """Return why a partition has too few replicas for this stop, even with all of them in sync; '' where it has not."""
    left = len(set(partition.replicas) - set(stop))
    small = len(partition.replicas) - 1 < need + rules.margin  # whoever stops: a gap that may be accepted
    accepted = small and any(fnmatchcase(partition.topic, pattern) for pattern in rules.accepts)
    if left >= need + rules.margin or (accepted and left >= len(partition.replicas) - 1):
        return ""
    more = f" and a margin of {rules.margin}" if rules.margin else ""
    return f"of {len(partition.replicas)} replicas {left} would be left, with min.insync.replicas {need}{more}"


def _in_the_way(
    partition: Partition, stop: Collection[int], snapshot: Snapshot, state: State
) -> Iterator[tuple[str, str]]:
    """Yield what keeps a partition from bearing a stop now, as one broker sees it, each with what would mend it."""
    if partition.topic not in snapshot.min_isr and not snapshot.unheard:
        yield "its min.insync.replicas is not known: it was made a moment ago", "ask again"
    for broker in sorted(set(partition.replicas) - set(stop)):
        if broker not in state.brokers:
            yield f"broker {broker} is down", f"start broker {broker}"
        elif broker not in partition.isr:
            cure = f"wait until broker {broker} has caught up, or look for a disk that failed (check.yml)"
            yield f"broker {broker} is not in sync", cure
        elif broker in snapshot.unheard:
            yield silence(broker), _cure_of_silence(broker, snapshot)
    if str(partition) in snapshot.moving:
        yield "replicas of it are being moved", "wait until that has ended, or cancel it"


def silence(broker: int) -> str:
    """Return in words that a broker does not answer that should."""
    return f"broker {broker} answers nobody, though it counts as in sync"


def _cure_of_silence(broker: int, snapshot: Snapshot) -> str:
    if snapshot.hung:
        hung = _listed(map(str, sorted(snapshot.hung)), "broker")
        cure = "so nobody can tell what one of them still holds: restart one on its host (systemctl restart kafka)"
        return f"{hung} {'do' if len(snapshot.hung) > 1 else 'does'} not, either, {cure}, then ask again"
    return f"start broker {broker} or, where it hangs, restart it {UNASKED}, or wait until its session ends"


def uncontrolled(snapshot: Snapshot, former: Collection[int] = ()) -> Block | None:
    """Return why nobody would lead in place of who stops: no controller, or not one and the same for all.

    Nobody may name a `former` one: who stops asks the one that it knows to move what it leads.
    """
    unheard = sorted(broker for broker, state in snapshot.views.items() if state.controller in former)
    if unheard:
        who, names = _listed(map(str, unheard), "broker"), "have" if unheard[1:] else "has"
        last = _listed(map(str, sorted(former)), "broker")
        why = f"{who} {names} not heard of another controller than {last}, which is it no more"
        nobody = len(unheard) == len(snapshot.views)
        return Block("cluster", why, f"wait; where that lasts, {f'nobody is elected: {STANDS}' if nobody else CUT_OFF}")
    none = [broker for broker, state in snapshot.views.items() if state.controller not in state.brokers]
    if len(none) == len(snapshot.views) and any(state.controller not in state.brokers for state in snapshot.states):
        return Block("cluster", "no controller, so nobody would lead in their place", "look at ZooKeeper's quorum")
    by_controller: dict[int, list[int]] = {}
    for broker, state in sorted(snapshot.views.items()):
        by_controller.setdefault(-1 if broker in none else state.controller, []).append(broker)
    if len(by_controller) < 2:
        return None
    said = [
        f"{_listed(map(str, brokers), 'broker')} say{'' if brokers[1:] else 's'} {one if one >= 0 else 'none'}"
        for one, brokers in by_controller.items()
    ]
    cure = f"wait until they agree, or {CUT_OFF}"
    return Block("cluster", f"brokers name different controllers ({'; '.join(said)})", cure)


def _of_topics(few: Mapping[str, str]) -> Iterator[Block]:
    by_reason: dict[str, list[str]] = {}
    for topic, why in few.items():
        by_reason.setdefault(why, []).append(topic)
    for why, topics in by_reason.items():
        cure = f"give {'them' if topics[1:] else 'it'} more replicas, or accept the gap: kafka_restart_accepts"
        yield Block(_named("topic", topics), why, f"{cure}: [{', '.join(topics[:SHOWN])}]", lasting=True)


def _named(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return _listed(names[:SHOWN], what) + more


def _listed(names: Iterable[str], what: str) -> str:
    found = list(names)
    return f"{what}{'s' if found[1:] else ''} {', '.join(found)}"
