"""Topics that are declared with another number of replicas than they have. Pure; who copies is reassign/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHOWN = 5
"""Topics that are named; the others are not."""
Factors = tuple[str, int]
"""How many replicas a topic has, as words, and how many are declared."""


def differing(wanted: Iterable[Mapping[str, Any]], there: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Factors]:
    """Return by name the topics that are to be there, are, and differ; `there` has the replicas of each partition."""
    found = {}
    for topic in wanted:
        name, factor = topic["name"], topic.get("replication_factor")
        if name in there and topic.get("state") != "absent":
            factors = sorted({len(replicas) for replicas in there[name]})
            if factors != [factor or factors[-1]]:
                found[name] = (" and ".join(map(str, factors)), factor or factors[-1])
    return found


def refusals(found: Mapping[str, Factors]) -> list[str]:
    """Return why nothing is written where topics differ: one text, for one run copies what all of them lack."""
    names: dict[Factors, list[str]] = {}
    for name, factors in found.items():
        names.setdefault(factors, []).append(name)
    told = [
        f"topic{'s' * (len(same) > 1)} {', '.join(same[:SHOWN])}{', ...' * (len(same) > SHOWN)}: "
        f"{'have' if len(same) > 1 else 'has'} {has} replicas, {factor} are declared"
        for (has, factor), same in names.items()
    ]
    advice = (
        "copying replicas takes its time: reassign.yml -e declared=true -e rate=50MB does it (--check prints its plan "
        f"alone), or declare what {'they have' if len(found) > 1 else 'it has'}"
    )
    return [f"{'; '.join(told)}; {advice}"] if told else []
