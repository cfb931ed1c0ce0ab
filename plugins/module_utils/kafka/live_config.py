"""Dynamic settings in brokers' files: which they are, and which of them a running broker has to receive.

Pure functions; the facade reads and writes.
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
"""Kafka at most doubles or halves them in one change (DynamicThreadPool, LogCleaner)."""
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
"""The dynamic broker configs of Kafka (DynamicBrokerConfig) that each broker can change separately, at any time,
without a restart, and whose mistakes show at once and not at the next start."""
SYNONYMS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
"""The first one that is set overrides the others, and is the only one that can be set while a broker runs."""
UNITS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
KIND = "settings of"
BY_HAND = "remove it with null (kafka_broker_config), or set it in kafka_dynamic_config"


@dataclass(frozen=True)
class Running:
    """The settings that a broker reports, by name, in the unit of that name."""

    own: Mapping[str, str | None] = field(default_factory=dict)
    """Dynamic settings of this broker."""
    everywhere: Mapping[str, str | None] = field(default_factory=dict)
    """Dynamic settings of all brokers."""
    begun: Mapping[str, str] = field(default_factory=dict)
    """Values at its start: those of its file, else Kafka's defaults."""
    default: Mapping[str, str] = field(default_factory=dict)
    """Kafka's defaults."""


@dataclass(frozen=True)
class Owed:
    """The settings that a broker's process has to receive, as its host reports them."""

    broker: int
    settings: Mapping[str, str | None]
    """The value of each setting in the file; None if the file does not set it."""
    told: Mapping[str, Sequence[str]]
    """Values that this project may have set. Other values were set by another program."""
    anew: bool = False
    """Whether it was started with this file, or will be before it receives any setting."""


@dataclass(frozen=True)
class Update:
    """The changes of one broker's dynamic settings."""

    waves: Sequence[Mapping[str, str | None]]
    """Written one after the other; None removes a setting."""
    before: Sequence[str]
    after: Sequence[str]
    told: Mapping[str, Sequence[str]]
    """The values that are set by this project after the changes."""
    left: Sequence[str]
    """Settings of other programs that override the file, as sentences."""
    settled: bool
    """Whether the broker runs with the values of its file as soon as other programs remove their settings."""


def synonyms(name: str) -> tuple[str, ...]:
    """Return the names with which a file may set a setting, in the order of precedence."""
    return next((names for names in SYNONYMS if names[0] == name), (name,))


def in_ms(synonym: str, value: str) -> str:
    """Return a synonym's value in the unit of the main name; a negative value is no limit. Raises ValueError."""
    factor = UNITS.get(synonym.rpartition(".")[2], 1)
    return value if factor == 1 else str(max(-1, int(value) * factor))


def update_of(owed: Owed, found: Running) -> Update:
    """Return the changes of a broker's dynamic settings after which the values of its file are in force.

    The broker gets a dynamic setting if it was started with another value; the setting is removed if it was started
    with the same value. Settings of other programs stay.
    """
    work: dict[str, str | None] = {}
    told: dict[str, list[str]] = {}
    left, goals, settled = [], dict[str, str](), True
    for name in sorted({*owed.settings, *owed.told}):
        own, in_file = found.own.get(name), owed.settings.get(name)
        ours = own is not None and any(same(own, one) for one in owed.told.get(name, ()))
        value = found.default.get(name) if in_file is None else in_file
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
            file = "which does not set it" if in_file is None else f"which sets {in_file}"
            settled = settled and same(begun, value)
            left.append(f"{scope_name(str(owed.broker))}: {human(name, others)} overrides its file, {file}")
    now = {name: found.own.get(name) or found.everywhere.get(name) or found.begun.get(name) or "" for name in work}
    before = [human(name, now[name]) for name in work]
    after = [human(name, goals[name]) + (", from its file" if work[name] is None else "") for name in work]
    return Update(waves(work, now, goals), before, after, told, left, settled)


def waves(
    work: Mapping[str, str | None], now: Mapping[str, str], goals: Mapping[str, str]
) -> list[dict[str, str | None]]:
    """Return the changes to write one after the other: threads in steps that Kafka accepts, all others at once."""
    queues = dict[str, list[str | None]]()
    for name, value in work.items():
        way = list(steps(now[name], goals[name])) if name in THREADS else []
        queues[name] = [*way[:-1], value]
    most = max(map(len, queues.values()), default=0)
    return [{name: queue[wave] for name, queue in queues.items() if wave < len(queue)} for wave in range(most)]


def steps(now: str, goal: str) -> Iterator[str]:
    """Yield the numbers of threads up to a goal, each at most twice the last one, or at least half of it."""
    if not (now.isdigit() and goal.isdigit() and int(now)):
        yield goal
        return
    number, end = int(now), int(goal)
    while number != end:
        number = min(2 * number, end) if number < end else max(number // 2, end)
        yield str(number)
