"""May these brokers stop now? A pure function of one look at a cluster; no Ansible import, no Kafka library."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition

SHOWN = 5
"""Partitions or topics that are named; the others are counted."""
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
    """Brokers that are registered, and answer nobody where they say that they are."""


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


@dataclass(frozen=True)
class Batch:
    """Brokers that are restarted together."""

    brokers: tuple[int, ...]
    why: str = ""
    """Why they are not those of a whole rack, where one was asked for."""


def held(state: State, stop: Collection[int], silent: Collection[int] = ()) -> list[Partition]:
    """Return the partitions from which a stop would take a replica in sync that somebody uses.

    None of those that are offline. What is not registered holds nothing, and what alone is in sync and answers nobody
    (`silent`) serves nobody.
    """
    there, mute = set(stop) & set(state.brokers), set(stop) & set(silent)
    return [p for p in state.partitions if p.leader in state.brokers and there & set(p.isr) and not set(p.isr) <= mute]


def sick(snapshot: Snapshot, brokers: Iterable[int]) -> list[int]:
    """Return those brokers of which nobody has anything: they are down, or answer nobody."""
    return [
        broker
        for broker in brokers
        if broker not in snapshot.state.brokers or not held(snapshot.state, [broker], snapshot.silent)
    ]


def blocks(snapshot: Snapshot, stop: Collection[int], rules: Rules = PLAIN) -> list[Block]:
    """Return why these brokers may not stop together, the lasting reasons first; [] where they may.

    Each partition that they hold in sync has all its other replicas in sync, min.insync.replicas of its topic and the
    margin without them, and no reassignment; there is a controller, and no other rack is out. What is down, offline or
    answers nobody may always be restarted.
    """
    state = snapshot.state
    if state.controller not in state.brokers:
        return [Block("cluster", "no controller, so nobody would lead in their place", "look at ZooKeeper's quorum")]
    partitions = held(state, stop, snapshot.silent)
    found = list(_racks_out(state, stop, rules.racks)) if partitions else []
    few: dict[str, str] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for partition in partitions:
        if partition.topic not in snapshot.min_isr:
            key = ("its min.insync.replicas is not known: it was made a moment ago", "ask again")
            reasons.setdefault(key, []).append(str(partition))
        elif why := _too_few(partition, stop, snapshot.min_isr[partition.topic], rules):
            few[partition.topic] = why
        for key in _not_in_sync(partition, stop, state):
            reasons.setdefault(key, []).append(str(partition))
        if str(partition) in snapshot.moving:
            key = ("replicas of it are being moved", "wait until that has ended, or cancel it")
            reasons.setdefault(key, []).append(str(partition))
    return [*_of_topics(few), *found, *(Block(_named("partition", names), *key) for key, names in reasons.items())]


def batches(snapshot: Snapshot, brokers: Sequence[int], rules: Rules = PLAIN, parallel: bool = False) -> list[Batch]:
    """Return in which order brokers are restarted, and which of them together.

    Sick ones first, the controller last. With `parallel`, a rack together, where what it holds bears that.
    """
    first = sick(snapshot, brokers)
    rest = sorted((broker for broker in brokers if broker not in first), key=lambda b: b == snapshot.state.controller)
    found = [Batch((broker,)) for broker in first]
    if not parallel:
        return found + [Batch((broker,)) for broker in rest]
    by_rack: dict[str, list[int]] = {}
    for broker in rest:
        by_rack.setdefault(rules.racks.get(broker) or f"broker {broker}", []).append(broker)
    for rack, members in sorted(by_rack.items(), key=lambda item: snapshot.state.controller in item[1]):
        few = [block for block in blocks(snapshot, members, rules) if block.lasting]
        if len(members) == 1 or not few:
            found.append(Batch(tuple(members)))
        else:
            why = (
                f"rack {rack} is restarted broker by broker: {'; '.join(f'{block.what}: {block.why}' for block in few)}"
            )
            found += [Batch((broker,), why) for broker in members]
    return found


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
    if left >= need + rules.margin or (
        small and any(fnmatchcase(partition.topic, accepted) for accepted in rules.accepts)
    ):
        return ""
    more = f" and a margin of {rules.margin}" if rules.margin else ""
    return f"of {len(partition.replicas)} replicas {left} would be left, with min.insync.replicas {need}{more}"


def _not_in_sync(partition: Partition, stop: Collection[int], state: State) -> Iterator[tuple[str, str]]:
    """Yield which of a partition's other replicas are not in sync, and what would bring them back."""
    for broker in sorted(set(partition.replicas) - set(stop)):
        if broker not in state.brokers:
            yield f"broker {broker} is down", f"start broker {broker}"
        elif broker not in partition.isr:
            cure = f"wait until broker {broker} has caught up, or look for a disk that failed (check.yml)"
            yield f"broker {broker} is not in sync", cure


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
