"""Words of one topic counted by three programs: the job, Kafka Streams' own demo, a script as tutorials have it."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench_jobs_page import Goal, Part, ratios, spread, table, tenths, thousands
from bench_jobs_programs import CORES, JARS, class_data, java, job, produce, read_until, running, script
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from spark.broker import Broker
from spark.built import unpacked

INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
"""Those of the demo, which takes no others; the job's own defaults."""
PARTITIONS, LINES, DISTINCT, WORDS, VOCABULARY = 4, 3_000_000, 200_000, 11, 50_000
STREAMS_LINES, TUTORIAL_LINES, TUTORIAL_BATCH = 400_000, 40_000, 20_000
"""The rivals are slow: each takes the last so many lines of the same topic."""
JOB_BATCH = LINES
"""All in one batch: Kafka Streams, too, sends most counts once, when it commits after 30 s."""
CACHE = 10 * 1024 * 1024
"""Bytes; the default of Kafka Streams, which the demo itself turns off."""
ROUNDS, STREAMS_GOAL, TUTORIAL_GOAL = 3, 5, 20
TUTORIAL = Path(__file__).parent / "spark" / "tutorial.py"
HOW = f"""\
Three programs count the words of a topic with {PARTITIONS} partitions and {LINES:,} lines of {WORDS} words. The words
are as frequent as in prose. {ROUNDS} rounds in turns; the table shows the median (lowest to highest).

- `count_words` reads the whole topic in one batch (`max_offsets_per_trigger`). The two other programs are slower, so
  they read only the last lines of the topic.
- Kafka Streams' WordCountDemo has one thread and the default cache of {CACHE // 1024**2} MiB, which the demo normally
  disables. It commits every 30 s. Its measurement ends when its consumer group has no lag.
- The tutorial-style PySpark script splits lines in a Python function, has Spark's default of 200 shuffle partitions,
  and reads batches of {TUTORIAL_BATCH:,} lines.
- The start of a Spark program ends when its first batch is planned. The start of Kafka Streams ends when it reports
  that it is running."""


@dataclass
class Count:
    """What one program took for its lines, in CPU seconds, round by round: all of it, and its start alone."""

    name: str
    lines: int
    run: Callable[[Broker, Path], tuple[float, float]]
    whole: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)

    def rates(self, with_start: bool) -> list[float]:
        """Lines per CPU second of each round, with its start or without."""
        starts = [0.0] * len(self.start) if with_start else self.start
        return [self.lines / (whole - start) for whole, start in zip(self.whole, starts, strict=True)]


def lines(distinct: int = DISTINCT) -> Iterator[bytes]:
    """Endless lines, the same each time: the rarer a word, the less often, as in prose; after some they come again."""
    chance = random.Random(1)
    vocabulary = [
        "".join(chance.choices("etaoinshrdlucmfwypvbgkjqxz", k=chance.randint(2, 9))) for _ in range(VOCABULARY)
    ]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    texts = [" ".join(chance.choices(vocabulary, cum_weights=weights, k=WORDS)).encode() for _ in range(distinct)]
    return itertools.cycle(texts)


def preload(broker: Broker) -> None:
    """Fill the topic that all read, partitions alike."""
    for topic in (INPUT, OUTPUT, f"{OUTPUT}-tutorial"):
        broker.make(topic, PARTITIONS)
    settings = {"linger.ms": 50, "compression.type": "lz4", "queue.buffering.max.messages": 500_000, "log_level": 0}
    producer = Producer({"bootstrap.servers": broker.servers, **settings})
    for number, line in enumerate(itertools.islice(lines(), LINES)):
        produce(producer, INPUT, line, number % PARTITIONS)
    if producer.flush(120):
        sys.exit("the broker does not take the lines")


def count_words(broker: Broker, folder: Path) -> tuple[float, float]:
    """The job, until it has read all."""
    archive = class_data()
    command, checkpoint = job("count_words", broker, folder, archive, max_offsets_per_trigger=JOB_BATCH)
    with running(command, folder, archive) as program:
        start = program.until("the first batch is planned", (checkpoint / "offsets" / "0").exists)
        whole = program.until("all lines are counted", lambda: read_until(checkpoint) >= LINES)
    return whole, start


def kafka_streams(broker: Broker, folder: Path) -> tuple[float, float]:
    """WordCountDemo with the default cache, until its group has committed all of both topics."""
    name = f"words-{folder.name}"
    folder.mkdir(parents=True)
    (folder / "demo.properties").write_text(
        f"bootstrap.servers={broker.servers}\napplication.id={name}\nstate.dir={folder / 'state'}\n"
        f"statestore.cache.max.bytes={CACHE}\n"
    )
    (folder / "log4j.properties").write_text(
        "log4j.rootLogger=WARN, out\nlog4j.logger.org.apache.kafka.streams.KafkaStreams=INFO\n"
        "log4j.appender.out=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.out.layout.ConversionPattern=%p %m%n\n"
    )
    begin_at_the_last(broker, name, STREAMS_LINES)
    libs = unpacked("kafka_2.13-*.tgz") / "libs"
    demo = ["org.apache.kafka.streams.examples.wordcount.WordCountDemo", str(folder / "demo.properties")]
    logging = f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}"
    with running([java(), logging, "-cp", f"{libs}/*", *demo], folder) as program:
        start = program.until("the demo runs", lambda: "to RUNNING" in program.said)
        whole = program.until("the demo has counted all", lambda: lag(broker, name) == 0)
    return whole, start


def begin_at_the_last(broker: Broker, group: str, lines: int) -> None:
    """Let a group that has no members yet begin with the last lines."""
    at = (LINES - lines) // PARTITIONS
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(INPUT, number, at) for number in range(PARTITIONS)], asynchronous=False)
    consumer.close()


def lag(broker: Broker, group: str) -> int | None:
    """Return how many records a group has not done yet; None before it has taken over its second topic."""
    (future,) = broker.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    offsets = future.result(30).topic_partitions or []
    if len({one.topic for one in offsets}) < 2 or len(offsets) < 2 * PARTITIONS:
        return None
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": "asks", "log_level": 0})
    try:
        ends: list[int] = [consumer.get_watermark_offsets(one, timeout=30)[1] for one in offsets]
    finally:
        consumer.close()
    return sum(ends) - sum(int(one.offset) for one in offsets)


def tutorial(broker: Broker, folder: Path) -> tuple[float, float]:
    """The script, until its checkpoint says that it has read all."""
    checkpoint = folder / "checkpoint"
    jars = ",".join(str(jar) for jar in sorted(unpacked(JARS).glob("*.jar")))
    at = (LINES - TUTORIAL_LINES) // PARTITIONS
    topics, batches = (INPUT, f"{OUTPUT}-tutorial"), (at, PARTITIONS, TUTORIAL_BATCH)
    command = script(TUTORIAL, broker.servers, jars, *topics, *batches, checkpoint, f"local[{CORES}]")
    with running(command, folder, class_data()) as program:
        start = program.until("the first batch is planned", (checkpoint / "offsets" / "0").exists)
        whole = program.until("all lines are counted", lambda: read_until(checkpoint) >= LINES)
    return whole, start


def measure(broker: Broker, folder: Path) -> Part:
    """All three in turns."""
    ours = Count("count_words", LINES, count_words)
    streams = Count("Kafka Streams' WordCountDemo", STREAMS_LINES, kafka_streams)
    script = Count("tutorial-style PySpark", TUTORIAL_LINES, tutorial)
    counts = [ours, streams, script]
    for number in range(ROUNDS):
        for at, one in enumerate(counts):
            whole, start = one.run(broker, folder / f"{number}-{at}")
            one.whole.append(whole)
            one.start.append(start)
            said = f"{one.lines:,} lines in {whole:.1f} CPU-s, {start:.1f} of them before the first"
            print(f"words, round {number}, {one.name}: {said}", flush=True)
    rows = [
        [one.name, f"{one.lines:,}", spread(one.rates(False), thousands), spread(one.rates(True), thousands)]
        for one in counts
    ]
    for one in (streams, script):
        found = [spread(ratios(ours.rates(start), one.rates(start)), tenths) for start in (False, True)]
        rows.append([f"ratio count_words / {one.name}", "", *found])
    goals = [
        Goal(f"word count: words per CPU-second without the start, count_words / {one.name}", bound,
             ratios(ours.rates(False), one.rates(False)))
        for one, bound in ((streams, STREAMS_GOAL), (script, TUTORIAL_GOAL))
    ]  # fmt: skip
    head = ["program", "lines", "thousand lines per CPU-second without the start", "with the start"]
    return Part("Word count", HOW, table(head, rows), goals)
