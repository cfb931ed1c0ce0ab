"""The ledger: what was to be sent, what was acknowledged, what a full re-read finds.

Records are compared by key, never by the offset that an acknowledgement named: retries can make that one wrong. A key
ends in the number that its writer gave it, one after the other: in each partition they ascend, for no writer here has
more than one request at a time with a broker. Retries change neither partition nor topic.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

_SHOWN = 5
_BROKEN = ("missing", "double", "foreign", "corrupt", "disordered", "misplaced")
CLIENT = {"log_level": 0, "socket.connection.setup.timeout.ms": 3000, "reconnect.backoff.max.ms": 1000}


@dataclass(frozen=True)
class Ack:
    """One acknowledgement: the key, the partition it went to, when (monotonic seconds), how long it took (seconds)."""

    key: str
    partition: int
    at: float
    took: float = 0.0
    topic: str = ""


@dataclass(frozen=True)
class Record:
    """One record as a reader found it."""

    key: str
    value: bytes
    partition: int
    offset: int
    topic: str = ""


@dataclass(frozen=True)
class Report:
    """The difference between what was promised and what is there; each list holds keys, sorted."""

    missing: list[str] = field(default_factory=list)
    """Acknowledged, and not found."""
    double: list[str] = field(default_factory=list)
    """Found at more than one place."""
    foreign: list[str] = field(default_factory=list)
    """Found, and never to be sent."""
    corrupt: list[str] = field(default_factory=list)
    """Found with a payload that is not the one sent under this key."""
    disordered: list[str] = field(default_factory=list)
    """Found behind a record of the same partition that the writer sent later."""
    misplaced: list[str] = field(default_factory=list)
    """Found in another partition than was acknowledged, or in a topic to which it was not to be sent."""
    unknown_present: list[str] = field(default_factory=list)
    """Found, though never acknowledged: allowed, as an unanswered send may have arrived."""
    acknowledged: int = 0
    read: int = 0

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return not any(getattr(self, name) for name in _BROKEN)

    def __str__(self) -> str:
        """Return one line: the totals, then each class that is not empty with its first keys."""
        text = f"{self.acknowledged} acknowledged, {self.read} read"
        for name in (*_BROKEN, "unknown_present"):
            keys: list[str] = getattr(self, name)
            if keys:
                more = ", ..." if len(keys) > _SHOWN else ""
                text += f"; {len(keys)} {name.replace('_', ' but ')} ({', '.join(keys[:_SHOWN])}{more})"
        return text


def compare(intents: Mapping[str, str], acks: Iterable[Ack], records: Iterable[Record]) -> Report:
    """Compare keys to be sent, each with its topic, and what was acknowledged with the records found."""
    wanted, places, found = intents.keys(), {ack.key: (ack.topic, ack.partition) for ack in acks}, list(records)
    promised = places.keys()
    times = Counter(record.key for record in found)
    return Report(
        missing=sorted(promised - times.keys()),
        double=sorted(key for key, number in times.items() if number > 1),
        foreign=sorted(times.keys() - wanted),
        corrupt=sorted({record.key for record in found if record.key in wanted and not intact(record)}),
        disordered=disordered(record for record in found if record.key in wanted),
        misplaced=sorted(
            {
                one.key
                for one in found
                if one.key in wanted
                and (one.topic, one.partition) != places.get(one.key, (intents[one.key], one.partition))
            }
        ),
        unknown_present=sorted((times.keys() & wanted) - promised),
        acknowledged=len(promised),
        read=len(found),
    )


def disordered(records: Iterable[Record]) -> list[str]:
    """Return the keys of records that stand behind a later one of their writer's in their partition.

    Of one that is double, the first place counts: that it is double is said of it already.
    """
    places: defaultdict[tuple[str, str, int], dict[int, str]] = defaultdict(dict)
    for record in sorted(records, key=lambda record: record.offset):
        writer, _, number = record.key.rpartition("-")
        places[writer, record.topic, record.partition].setdefault(int(number), record.key)
    found = []
    for keys in places.values():
        latest = accumulate(keys, max)
        found += [key for (number, key), last in zip(keys.items(), latest, strict=True) if number < last]
    return sorted(found)


def longest_gaps(acks: Iterable[Ack], partitions: Collection[int]) -> dict[int, float]:
    """Return {partition: longest time in seconds without an acknowledgement}, from the load's first one to its last.

    So what a partition never acknowledged, or no more, counts as well. Raises ValueError where there is none at all.
    """
    times: defaultdict[int, list[float]] = defaultdict(list)
    for ack in acks:
        times[ack.partition].append(ack.at)
    if not times:
        raise ValueError("nothing was acknowledged")
    if strange := times.keys() - set(partitions):
        raise ValueError(f"acknowledged by partitions that there are not: {sorted(strange)}")
    first, last = min(map(min, times.values())), max(map(max, times.values()))
    return {
        partition: max(later - earlier for earlier, later in pairwise(sorted([first, *times[partition], last])))
        for partition in sorted(partitions)
    }


def silent(acks: Iterable[Ack], partitions: Collection[int], since: float) -> list[int]:
    """Return the partitions that have acknowledged nothing since then (monotonic seconds)."""
    return sorted(set(partitions) - {ack.partition for ack in acks if ack.at > since})


def payload(key: str, size: int) -> bytes:
    """Return a value of about `size` bytes that names its key and carries a CRC-32 of itself."""
    body = f"{key} ".encode().ljust(size - 9, b"x")
    return b"%08x " % zlib.crc32(body) + body


def intact(record: Record) -> bool:
    """Tell whether the value is whole, and the one made for this key."""
    crc, _, body = record.value.partition(b" ")
    return crc == b"%08x" % zlib.crc32(body) and body.startswith(f"{record.key} ".encode())


@dataclass(frozen=True)
class Ledger:
    """What one directory says.

    Keys to be sent and to which topic, acknowledgements, and sends that ended in an error (outcome open).
    """

    intents: Mapping[str, str] = field(default_factory=dict)
    acks: Sequence[Ack] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)

    def compare(self, records: Iterable[Record]) -> Report:
        """Compare with the records found."""
        return compare(self.intents, self.acks, records)


def load(directory: Path) -> Ledger:
    """Read the ledger of every writer in `directory`."""

    def lines(kind: str) -> list[list[str]]:
        return [
            line.split("\t") for file in sorted(directory.glob(f"*.{kind}")) for line in file.read_text().splitlines()
        ]

    return Ledger(
        intents={key: topic for key, topic in lines("intents")},
        acks=[
            Ack(key, int(partition), float(at), float(took), topic) for key, partition, at, took, topic in lines("acks")
        ],
        unknown={key: error for key, error in lines("unknown")},
    )


def text_of(key: bytes | str | None) -> str:
    """Return a record's key as text."""
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)
