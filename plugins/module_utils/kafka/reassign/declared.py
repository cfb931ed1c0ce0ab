"""What topics are declared to have, against what they have, and against what an interrupted run began. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import named

Topics = Mapping[str, Sequence[tuple[int, ...]]]
"""By name the replicas of each partition, as Metadata.topics."""


def differing(request: Asked, topics: Topics) -> Asked:
    """Return a request about those topics alone that are there with another number of replicas than is declared."""
    wanted = request.wish.factors.items()
    factors = {name: factor for name, factor in wanted if name in topics and {*map(len, topics[name])} != {factor}}
    return replace(request, wish=replace(request.wish, factors=factors), topics=tuple(sorted(factors)))


def unmade(request: Asked, topics: Topics) -> list[str]:
    """Return a note on topics that are declared and not there, none where all are."""
    names = sorted(request.wish.factors.keys() - topics.keys()) if request.declared else []
    verb = "is declared and not there: resources.yml makes it"
    verb = verb if len(names) == 1 else "are declared and not there: resources.yml makes them"
    return [f"{named(names, 'topic')} {verb}"] if names else []


def otherwise(request: Asked, begun: Record, left: Iterable[Move]) -> list[str]:
    """Refuse to go on with topics that were declared with another number of replicas when that run began."""
    now, wrong = request.wish.factors, []
    for name in sorted({move.topic for move in left} & begun.factors.keys()):
        then, said = begun.factors[name], f"{now[name]} are" if name in now else "nothing is"
        if now.get(name) != then:
            wrong.append(f"topic {name}: {then} replicas were declared when it began, and {said} now: declare {then}")
    return wrong


def later(request: Asked, begun: Record, topics: Topics) -> list[str]:
    """Return a note on topics that are declared otherwise since a run began, which was planned without them."""
    if not request.declared:
        return []
    factors = differing(request, topics).wish.factors
    names = sorted(name for name, factor in factors.items() if begun.factors.get(name) != factor)
    verb = "differs" if len(names) == 1 else "differ"
    return [f"{named(names, 'topic')} {verb} since, too: run the same again afterwards"] if names else []
