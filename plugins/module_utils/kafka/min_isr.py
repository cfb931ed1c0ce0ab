"""Plans how a failover lowers min.insync.replicas, and how a failback restores it. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

KEY = "min.insync.replicas"


@dataclass(frozen=True)
class Values:
    """Values of min.insync.replicas: the dynamic default of all brokers ('' if none), and those of topics."""

    default: str = ""
    topics: Mapping[str, str] = field(default_factory=dict)
    """{topic: its own value}; topics that follow the default are missing, or '' among saved values."""

    def as_dict(self) -> dict[str, Any]:
        """Return the values as a JSON object: {'default', 'topics'}."""
        return {"default": self.default, "topics": dict(sorted(self.topics.items()))}


def of_dict(saved: Mapping[str, Any]) -> Values:
    """Return the Values that as_dict() returned; raise ValueError for anything else."""
    topics = saved.get("topics")
    if not isinstance(topics, Mapping) or not isinstance(saved.get("default"), str):
        raise ValueError("not values of min.insync.replicas: it needs a text `default` and a dict `topics`")
    values = {str(name): str(value) for name, value in topics.items()}
    if wrong := [value for value in (saved["default"], *values.values()) if value and not value.isdecimal()]:
        raise ValueError(f"not values of min.insync.replicas: {', '.join(wrong)}")
    return Values(saved["default"], values)


def joined(*saved: Values) -> Values:
    """Return the values that any of these have: of two, the higher one, but '' (as the default) before any number.

    A run that was interrupted, or that reads beside another one, can save values that were lowered already. These are
    never higher, and a value '' was never lowered.
    """
    topics: dict[str, str] = {}
    for values in saved:
        topics |= {name: _joined(value, topics.get(name, value)) for name, value in values.topics.items()}
    default = saved[0].default
    for values in saved[1:]:
        default = _joined(default, values.default)
    return Values(default, topics)


def _joined(one: str, other: str) -> str:
    return max(one, other, key=int) if one and other else ""


def saving(there: Values, earlier: Values | None, topics: Iterable[str], replicas: Mapping[str, int]) -> Values:
    """Return the values to save before those of `topics` and the default are replaced; `earlier` were saved before.

    A topic that followed the default has a value of its own if it is above the number of its `replicas`, because no
    failover writes such a value.
    """
    now = Values(there.default, {name: there.topics.get(name, "") for name in topics})
    if earlier is None:
        return now
    own = {
        name: value
        for name, value in now.topics.items()
        if value and earlier.topics.get(name) == "" and int(value) > replicas.get(name, int(value))
    }
    known = joined(earlier, now)
    return Values(known.default, {**known.topics, **own})


def fewest_replicas(partitions: Iterable[tuple[str, Collection[int]]], brokers: Collection[int]) -> dict[str, int]:
    """Return {topic: the fewest replicas that one of its partitions has on these brokers}.

    `partitions` are (topic, brokers with a replica) each. Partitions without a replica on these brokers do not count.
    """
    found: dict[str, int] = {}
    for topic, replicas in partitions:
        if number := len({*replicas} & {*brokers}):
            found[topic] = min(number, found.get(topic, number))
    return found


def lowered(there: Values, to: int, replicas: Mapping[str, int] | None = None) -> Values:
    """Return the values to write so that no partition requires more than `to` in-sync replicas.

    The default is written unless a dynamic one is at most `to`, because the files of the brokers may contain a higher
    value. Topics whose value is low enough are left out. A topic that has fewer `replicas` ({topic: their number}) than
    its value allows gets their number, also if it follows the default.
    """
    default = there.default if there.default and int(there.default) <= to else str(to)
    highest = {name: min(to, (replicas or {}).get(name, to)) for name in {*there.topics, *(replicas or ())}}
    return Values(
        default,
        {name: str(most) for name, most in highest.items() if int(there.topics.get(name) or default) > most},
    )


def restoring(saved: Values, there: Values) -> tuple[str | None, dict[str, str | None]]:
    """Return (the default to write, {topic: value to write}) that restores the `saved` values; None removes a value.

    Topics that were deleted are left out, and so are topics that have the saved value or a higher one. A topic that
    followed the default follows it again, unless its value is above the present default.
    """
    topics: dict[str, str | None] = {}
    for name, value in saved.topics.items():
        own = int(there.topics.get(name) or 0)
        if own and value and own < int(value):
            topics[name] = value
        elif own and not value and (not there.default or own <= int(there.default)):
            topics[name] = None
    return saved.default or None, topics
