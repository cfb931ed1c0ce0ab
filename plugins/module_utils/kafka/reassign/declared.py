"""Compares declared replication factors with the cluster, and with the record of an interrupted run. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import named

Topics = Mapping[str, Sequence[tuple[int, ...]]]
"""By topic, the replicas of each of its partitions, as in Metadata.topics."""


def differing(request: Request, topics: Topics) -> Request:
    """Return the request, reduced to existing topics whose number of replicas differs from the declared number.

    `topics` is {topic: brokers of each of its partitions}.
    """
    declared = request.wish.factors.items()
    factors = {name: factor for name, factor in declared if name in topics and {*map(len, topics[name])} != {factor}}
    return replace(request, wish=replace(request.wish, factors=factors), topics=tuple(sorted(factors)))


def missing_topics(request: Request, topics: Topics) -> list[str]:
    """Return a list with one note on declared topics that do not exist in the cluster; [] if all exist.

    `topics` is {existing topic: brokers of each of its partitions}.
    """
    names = sorted(request.wish.factors.keys() - topics.keys()) if request.declared else []
    text = "is declared but does not exist: resources.yml creates it"
    text = text if len(names) == 1 else "are declared but do not exist: resources.yml creates them"
    return [f"{named(names, 'topic')} {text}"] if names else []


def changed_since(request: Request, begun: Record, left: Iterable[Move]) -> list[str]:
    """Return why an interrupted run (`begun`) cannot resume because declarations have changed; [] if it can.

    A declaration has changed if a topic of the moves in `left` now has another declared number of replicas, or none.
    """
    now, reasons = request.wish.factors, []
    for name in sorted({move.topic for move in left} & begun.factors.keys()):
        then, current = begun.factors[name], f"{now[name]} are" if name in now else "none is"
        if now.get(name) != then:
            reasons.append(
                f"topic {name}: {then} replicas were declared when the run began, and {current} declared now: "
                f"declare {then} again"
            )
    return reasons


def for_next_run(request: Request, begun: Record, topics: Topics) -> list[str]:
    """Return [] or a list with one note on topics whose declared number of replicas changed since `begun` was planned.

    `begun` is the record of the run. The note asks for another run of the same command.
    """
    if not request.declared:
        return []
    factors = differing(request, topics).wish.factors
    names = sorted(name for name, factor in factors.items() if begun.factors.get(name) != factor)
    text = f"now {'differs' if len(names) == 1 else 'differ'}, too: run the same command again after this run"
    return [f"{named(names, 'topic')} {text}"] if names else []
