"""Computes which dynamic settings in the file of a broker still have to be sent to the running broker. No I/O.

The package facade reads and writes the settings.
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
"""Numbers of threads. Kafka at most doubles or halves such a number in one change (DynamicThreadPool, LogCleaner)."""
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
"""Names of the same setting. The first one that is set overrides the others. Only the name that ends in .ms can be
set while a broker runs."""
UNITS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
KIND = "settings of"
BY_HAND = "remove it with null (kafka_broker_config), or set it in kafka_dynamic_config"


@dataclass(frozen=True)
class Running:
    """The settings that a running broker reports, with the values at its start and Kafka's defaults."""

    own: Mapping[str, str | None] = field(default_factory=dict)
    """Dynamic settings of this broker."""
    everywhere: Mapping[str, str | None] = field(default_factory=dict)
    """Dynamic settings of all brokers."""
    begun: Mapping[str, str] = field(default_factory=dict)
    """Values with which the broker was started: those of its file, else Kafka's defaults."""
    default: Mapping[str, str] = field(default_factory=dict)
    """Kafka's defaults."""


@dataclass(frozen=True)
class Owed:
    """The dynamic settings in a broker's file that its process may still have to receive (from host_state)."""

    broker: int
    settings: Mapping[str, str | None]
    """The value of each setting in the file; None if the file does not set it."""
    told: Mapping[str, Sequence[str]]
    """By setting, the values that this project may have set. Other values were set by another program."""
    anew: bool = False
    """Whether the broker was started with this file, or will be restarted before it receives any setting."""


@dataclass(frozen=True)
class Update:
    """The changes of one broker's dynamic settings after which its process uses the values of its file."""

    waves: Sequence[Mapping[str, str | None]]
    """The changes to write one after the other, each {setting: value, or None to remove the setting}."""
    before: Sequence[str]
    after: Sequence[str]
    told: Mapping[str, Sequence[str]]
    """By setting, the values that this project has set once the changes are written."""
    left: Sequence[str]
    """Settings of other programs that override the file, as sentences."""
    settled: bool
    """Whether the broker runs with the values of its file as soon as other programs remove their settings."""


def synonyms(name: str) -> tuple[str, ...]:
    """Return the names by which a properties file can set a setting, the name with the highest precedence first."""
    return next((names for names in SYNONYMS if names[0] == name), (name,))


def in_ms(synonym: str, value: str) -> str:
    """Convert a value of `synonym` to the unit of the main name: hours of log.retention.hours to milliseconds.

    A negative value means no limit, and gives -1. Raises ValueError if the value is not an integer.
    """
    factor = UNITS.get(synonym.rpartition(".")[2], 1)
    return value if factor == 1 else str(max(-1, int(value) * factor))


def update_of(owed: Owed, found: Running) -> Update:
    """Return the changes of a broker's dynamic settings after which the values of its file are in force.

    If the broker was started with another value than its file has now, the dynamic setting gets the value of the file.
    If it was started with the same value, the dynamic setting is removed. Settings that other programs set stay.
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
    """Return the changes to write one after the other, each {setting: value, or None to remove it}.

    `work` has the final value of each setting, `now` and `goals` are the values in force before and after. A number of
    threads changes in several steps, since Kafka limits each change; all other settings are in the first change.
    """
    queues = dict[str, list[str | None]]()
    for name, value in work.items():
        way = list(steps(now[name], goals[name])) if name in THREADS else []
        queues[name] = [*way[:-1], value]
    most = max(map(len, queues.values()), default=0)
    return [{name: queue[wave] for name, queue in queues.items() if wave < len(queue)} for wave in range(most)]


def steps(now: str, goal: str) -> Iterator[str]:
    """Yield the numbers of threads from `now` (excluded) to `goal`; each at most doubles or halves the previous one.

    If `now` or `goal` is not a number, or `now` is 0, yield only `goal`.
    """
    if not (now.isdigit() and goal.isdigit() and int(now)):
        yield goal
        return
    number, end = int(now), int(goal)
    while number != end:
        number = min(2 * number, end) if number < end else max(number // 2, end)
        yield str(number)
