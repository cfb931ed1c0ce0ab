"""Finds topics whose declared number of replicas differs from the existing one; reassign.yml changes the number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHOWN = 5
"""Maximum number of topics that a message names."""
Factors = tuple[str, int]
"""The numbers of replicas that a topic has, as text, and the declared number."""


def differing(wanted: Iterable[Mapping[str, Any]], there: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Factors]:
    """Return {topic: (existing numbers of replicas as text, declared number)} of topics where they differ.

    `wanted` are entries of kafka_topics; `there` is {existing topic: replicas of each of its partitions}.
    """
    factors_by_name = {}
    for topic in wanted:
        name, factor = topic["name"], topic.get("replication_factor")
        if name in there and topic.get("state") != "absent":
            factors = sorted({len(replicas) for replicas in there[name]})
            if factors != [factor or factors[-1]]:
                factors_by_name[name] = (" and ".join(map(str, factors)), factor or factors[-1])
    return factors_by_name


def refusals(found: Mapping[str, Factors]) -> list[str]:
    """Return [] or a list with one message about all topics in `found`: reassign.yml changes them in one run.

    `found` is {topic: (existing numbers of replicas, declared number)}.
    """
    names: dict[Factors, list[str]] = {}
    for name, factors in found.items():
        names.setdefault(factors, []).append(name)
    topics = [
        f"topic{'s' * (len(same) > 1)} {', '.join(same[:SHOWN])}{', ...' * (len(same) > SHOWN)}: "
        f"{'have' if len(same) > 1 else 'has'} {has} replicas, {factor} are declared"
        for (has, factor), same in names.items()
    ]
    advice = (
        "run reassign.yml -e declared=true -e rate=50MB, which copies replicas (--check only prints its plan), or "
        f"declare the number that {'they have' if len(found) > 1 else 'it has'}"
    )
    return [f"{'; '.join(topics)}; {advice}"] if topics else []
