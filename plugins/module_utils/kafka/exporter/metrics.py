"""Computes metrics of a cluster from what was read of it. No I/O.

Names and labels are those of the project danielqsj/kafka_exporter where the meaning is the same, so that dashboards and
alerts for it work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group, Place

TOPIC, PARTITION, GROUP = ("topic",), ("topic", "partition"), ("consumergroup",)
OF_GROUP = (*GROUP, *TOPIC)
Sample = tuple[tuple[str, ...], float]
"""The values of the labels, and the value of the metric."""


@dataclass(frozen=True)
class Metric:
    """A gauge: its name, what it means, the names of its labels, and its samples."""

    name: str
    text: str
    labels: Sequence[str]
    samples: Sequence[Sample]


@dataclass(frozen=True)
class Snapshot:
    """What was read of a cluster at one time."""

    metadata: Metadata
    ends: Ends
    groups: Mapping[str, Group]
    """The consumer groups by name."""
    unread: Mapping[str, Mapping[Place, int | None]] = field(default_factory=dict)
    """{group: {partition: timestamp in ms of its first unread record, None without one}}.

    A partition whose record could not be read is missing.
    """
    racks: Mapping[int, str] = field(default_factory=dict)
    """The rack of each broker, as the inventory declares it."""
    taken: float = 0.0
    """When it was read, in seconds since 1970."""
    unanswered: int = 0
    """How many partitions, groups, brokers and first unread records were not answered for."""


def metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """Yield the metrics of a cluster."""
    yield from _brokers(snapshot)
    yield from _partitions(snapshot)
    yield from _groups(snapshot)


def _brokers(snapshot: Snapshot) -> Iterator[Metric]:
    found = snapshot.metadata
    yield Metric("kafka_brokers", "Number of brokers that are registered.", (), [((), len(found.brokers))])
    yield Metric(
        "kafka_broker_registered",
        "1 if a broker of the inventory is registered, else 0.",
        ("id", "rack"),
        [((str(one), rack), one in found.brokers) for one, rack in sorted(snapshot.racks.items())],
    )
    yield Metric(
        "lag_exporter_unanswered",
        "Number of partitions, groups, brokers and first unread records without an answer, whose metrics are missing.",
        (),
        [((), snapshot.unanswered)],
    )
    yield Metric(
        "kafka_broker_info",
        "The address of a broker; the value is 1.",
        ("id", "address"),
        [((str(one), f"{host}:{port}"), 1) for one, (host, port) in sorted(found.brokers.items())],
    )
    leads = Counter(one.leader for one in found.partitions if one.leader >= 0)
    brokers = sorted({*found.brokers, *snapshot.racks})
    yield Metric(
        "kafka_broker_leader_partitions",
        "Number of partitions that a broker leads.",
        ("id", "rack"),
        [((str(one), snapshot.racks.get(one, "")), leads[one]) for one in brokers],
    )


def _partitions(snapshot: Snapshot) -> Iterator[Metric]:
    found = snapshot.metadata.partitions
    numbers = Counter(one.topic for one in found)
    yield Metric(
        "kafka_topic_partitions",
        "Number of partitions of a topic.",
        TOPIC,
        [((name,), number) for name, number in sorted(numbers.items())],
    )
    for name, text, value in (
        ("leader", "The id of the broker that leads; -1 without a leader.", lambda one: one.leader),
        ("replicas", "Number of replicas.", lambda one: len(one.replicas)),
        ("in_sync_replica", "Number of in-sync replicas.", lambda one: len(one.isr)),
        (
            "leader_is_preferred",
            "1 if the first replica leads, else 0.",
            lambda one: one.leader == next(iter(one.replicas), None),
        ),
        (
            "under_replicated_partition",
            "1 if a replica is not in sync, else 0.",
            lambda one: len(one.isr) < len(one.replicas),
        ),
    ):
        samples = [((one.topic, str(one.number)), float(value(one))) for one in found]
        yield Metric(f"kafka_topic_partition_{name}", text, PARTITION, samples)
    for name, text, offsets in (
        ("oldest_offset", "The first offset of a partition.", snapshot.ends.earliest),
        ("current_offset", "The offset that the next record of a partition gets.", snapshot.ends.latest),
    ):
        yield Metric(f"kafka_topic_partition_{name}", text, PARTITION, _of_places(offsets.items()))


def _groups(snapshot: Snapshot) -> Iterator[Metric]:
    groups = sorted(snapshot.groups.items())
    yield Metric(
        "kafka_consumergroup_members",
        "Number of members of a group.",
        GROUP,
        [((name,), len(group.members)) for name, group in groups],
    )
    labels, latest = (*GROUP, *PARTITION), snapshot.ends.latest
    lags = {
        name: {place: max(0, latest[place] - offset) for place, offset in group.offsets.items() if place in latest}
        for name, group in groups
    }
    existing = {(one.topic, one.number) for one in snapshot.metadata.partitions}
    unknown = {name: group.offsets.keys() & existing - latest.keys() for name, group in groups}
    sums = {name: _totals(found, {topic for topic, _ in unknown[name]}) for name, found in lags.items()}
    yield Metric(
        "kafka_consumergroup_current_offset",
        "The offset that a group has committed for a partition.",
        labels,
        [sample for name, group in groups for sample in _of_places(group.offsets.items(), name)],
    )
    yield Metric(
        "kafka_consumergroup_lag",
        "Number of records of a partition that a group has not read, transaction markers included.",
        labels,
        [sample for name, found in lags.items() for sample in _of_places(found.items(), name)],
    )
    yield Metric(
        "kafka_consumergroup_lag_sum",
        "Number of records of a topic that a group has not read; missing if a partition did not answer.",
        OF_GROUP,
        [((name, topic), total) for name, found in sums.items() for topic, total in sorted(found.items())],
    )
    yield Metric(
        "kafka_consumergroup_lag_seconds",
        "Age of the oldest record of a topic that a group has not read; 0 if it has read everything. If a "
        "partition did not answer, it is that of the others, and missing if they have none.",
        OF_GROUP,
        [sample for name, found in lags.items() for sample in _ages(snapshot, name, found, unknown[name])],
    )


def _of_places(values: Iterable[tuple[Place, float]], *before: str) -> list[Sample]:
    return [((*before, topic, str(number)), value) for (topic, number), value in sorted(values)]


def _totals(lags: Mapping[Place, int], without: Collection[str]) -> Counter[str]:
    totals = Counter[str]()
    for (topic, _), lag in lags.items():
        if topic not in without:
            totals[topic] += lag
    return totals


def _ages(snapshot: Snapshot, group: str, lags: Mapping[Place, int], unknown: Collection[Place]) -> Iterator[Sample]:
    """Yield the age of the oldest unread record of each topic.

    If some records could not be read, it is that of the others, which cannot be older; without others, the topic is
    left out. `unknown` are partitions whose end is not known.
    """
    times = snapshot.unread.get(group, {})
    waiting: dict[str, list[Place]] = {topic: [] for topic, _ in [*lags, *unknown]}
    for place in [*(place for place, lag in lags.items() if lag), *unknown]:
        waiting[place[0]].append(place)
    for topic, places in sorted(waiting.items()):
        known = [times[place] for place in places if place in times]
        oldest = min((when for when in known if when is not None and when >= 0), default=None)
        if oldest is not None:
            yield (group, topic), max(0.0, snapshot.taken - oldest / 1000)
        elif len(known) == len(places):  # only markers of transactions, and records without a time
            yield (group, topic), 0.0
