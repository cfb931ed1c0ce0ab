"""Settings of brokers' files that Kafka takes while it runs: which those are, and what a broker is to be told of them.

Pure; who reads and writes is the facade.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import same, scope_name
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import human

THREADS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
"""Kafka takes at most twice as many at once, and at least half (DynamicThreadPool, LogCleaner)."""
LIVE = (
    *THREADS,
    "compression.type",
    "log.retention.bytes",
    "log.retention.ms",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "message.max.bytes",
)
"""Those of Kafka's dynamic broker configs (DynamicBrokerConfig) whose change each broker can take alone, at any time,
with nothing that it would have to be restarted for, and nothing that only the next start would show to be wrong."""
SYNONYMS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
"""The first that is set wins in Kafka, and it alone can be set while a broker runs."""
UNITS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
KIND = "settings of"
BY_HAND = "take it back with null (kafka_broker_config), or say it in kafka_dynamic_config"


@dataclass(frozen=True)
class Running:
    """What a broker says of itself, by name in the unit of that name; what it does not have is left out."""

    own: Mapping[str, str | None] = field(default_factory=dict)
    """What was set for it while it ran."""
    everywhere: Mapping[str, str | None] = field(default_factory=dict)
    """What was set for all brokers."""
    begun: Mapping[str, str] = field(default_factory=dict)
    """What it was started with: its file's, else Kafka's own."""
    default: Mapping[str, str] = field(default_factory=dict)
    """Kafka's own."""


@dataclass(frozen=True)
class Owed:
    """What a broker's host says of it."""

    broker: int
    settings: Mapping[str, str | None]
    """What its file says of each setting that is to be told; None where it says nothing."""
    told: Mapping[str, Sequence[str]]
    """Values that we may have set. Whatever else is set is somebody else's."""
    anew: bool = False
    """It was started with this file, or will be before it is told anything."""


@dataclass(frozen=True)
class Telling:
    """What a broker is to be told."""

    waves: Sequence[Mapping[str, str | None]]
    """One after the other; None takes a value back."""
    before: Sequence[str]
    after: Sequence[str]
    told: Mapping[str, Sequence[str]]
    """What is ours when that is done."""
    left: Sequence[str]
    """What somebody else has set, and what goes before the file for that reason."""
    settled: bool
    """It will run with its file, even when everybody takes back what he has set."""


def synonyms(name: str) -> tuple[str, ...]:
    """Return the names under which a file may say a setting, the one that wins first."""
    return next((names for names in SYNONYMS if names[0] == name), (name,))


def in_ms(synonym: str, value: str) -> str:
    """Return a value of a synonym in the unit of what it stands for; below 0 is without a limit. Raises ValueError."""
    factor = UNITS.get(synonym.rpartition(".")[2], 1)
    return value if factor == 1 else str(max(-1, int(value) * factor))


def telling(owed: Owed, found: Running) -> Telling:
    """Return what a broker is to be told, so that what holds is what its file says.

    It has a value of its own where it was started with another; that goes when it was started with the same. What
    somebody else has set stays as it is.
    """
    work: dict[str, str | None] = {}
    told: dict[str, list[str]] = {}
    left, goals, settled = [], dict[str, str](), True
    for name in sorted({*owed.settings, *owed.told}):
        own, said = found.own.get(name), owed.settings.get(name)
        ours = own is not None and any(same(own, one) for one in owed.told.get(name, ()))
        value = found.default.get(name) if said is None else said
        begun = value if owed.anew else found.begun.get(name)
        everywhere = found.everywhere.get(name)
        if name not in owed.settings or value is None or everywhere is not None:
            if ours:
                work[name], goals[name] = None, everywhere or found.begun.get(name) or ""
            others = everywhere if ours or own is None else own
        elif same(begun, value):
            if ours:
                work[name], goals[name] = None, value
            others = None if ours else own
        elif own is None or ours or same(own, value):
            told[name], goals[name], others = [value], value, None
            if not same(own, value):
                work[name] = value
        else:
            others = own
        if others is not None and name in owed.settings and not same(others, value):
            what = "the file says nothing of it" if said is None else f"the file says {said}"
            settled = settled and same(begun, value)
            left.append(
                f"{scope_name(str(owed.broker))}: {human(name, others)} was set beside its file, and holds; {what}"
            )
    now = {name: found.own.get(name) or found.everywhere.get(name) or found.begun.get(name) or "" for name in work}
    before = [human(name, now[name]) for name in work]
    after = [human(name, goals[name]) + (", as its file says" if work[name] is None else "") for name in work]
    return Telling(waves(work, now, goals), before, after, told, left, settled)


def waves(
    work: Mapping[str, str | None], now: Mapping[str, str], goals: Mapping[str, str]
) -> list[dict[str, str | None]]:
    """Return what is told one after the other: threads in steps that Kafka takes, everything else at once."""
    queues = dict[str, list[str | None]]()
    for name, value in work.items():
        way = list(steps(now[name], goals[name])) if name in THREADS else []
        queues[name] = [*way[:-1], value]
    most = max(map(len, queues.values()), default=0)
    return [{name: queue[wave] for name, queue in queues.items() if wave < len(queue)} for wave in range(most)]


def steps(now: str, goal: str) -> Iterator[str]:
    """Yield numbers of threads on the way to a goal, each at most twice the last, or at least half of it."""
    if not (now.isdigit() and goal.isdigit() and int(now)):
        yield goal
        return
    number, end = int(now), int(goal)
    while number != end:
        number = min(2 * number, end) if number < end else max(number // 2, end)
        yield str(number)
