"""Text for the word count: words that no other run has, so that what the topics hold already does not matter."""

import random
import time
from collections import Counter
from collections.abc import Mapping

import regex
from confluent_kafka import Consumer, KafkaException, TopicPartition

from .lab import Lab
from .reader import high_watermark, partitions

INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
JOBS = {"spark_producer": "spark-job@publish_lines.service", "spark_consumer": "spark-job@count_words.service"}
DIRECTORY = "/var/lib/spark-job/publish_lines/input"
LINES, WORDS_A_LINE = 500, 10
MANY = 60_000
WORDS = [
    "the",
    "The",
    "quick",
    "brown",
    "Größe",
    "größe",
    "nai\u0308ve",
    "Привет",
    "日本語",
    "don't",
    "half-life",
    "route66",
]


class LastCounts:
    """The last count of each word that carries the tag, of those sent after this object was made."""

    def __init__(self, properties: Mapping[str, str], tag: str) -> None:
        """Stand at the end of the output topic; a position lost with a restart of brokers goes back, never forward."""
        self.tag, self.records = tag, 0
        self.counts: dict[str, int] = {}
        self.consumer = Consumer(
            {
                "log_level": 0,
                **properties,
                "group.id": "faults",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        deadline = time.monotonic() + 60
        ends = [TopicPartition(OUTPUT, number) for number in partitions(self.consumer, OUTPUT, deadline)]
        for end in ends:
            end.offset = high_watermark(self.consumer, end, deadline)
        self.consumer.assign(ends)

    def read_to_end(self) -> int:
        """Take all that the topic holds now; return how many words are counted by then."""
        deadline = time.monotonic() + 60
        ends = [(end, high_watermark(self.consumer, end, deadline)) for end in self.consumer.assignment()]
        total = self.read()
        while any(self.consumer.position([end])[0].offset < offset for end, offset in ends):
            assert time.monotonic() < deadline, f"{OUTPUT} was not read to its end in 60 s"
            total = self.read()
        return total

    def close(self) -> None:
        """Disconnect."""
        self.consumer.close()

    def read(self) -> int:
        """Take what has arrived; return how many words are counted by now."""
        for message in self.consumer.consume(5000, timeout=0.05):
            if message.error():
                raise KafkaException(message.error())
            word = bytes(message.key() or b"").decode()
            if self.tag in word:
                self.counts[word] = int(message.value() or b"")
                self.records += 1
        return sum(self.counts.values())

    def differences(self, wanted: Mapping[str, int]) -> list[str]:
        """Return each word whose last count is not the wanted one, after reading what has arrived."""
        self.read()
        words = sorted(wanted.keys() | self.counts.keys())
        return [
            f"{w}: {self.counts.get(w, 0)}, not {wanted.get(w, 0)}"
            for w in words
            if self.counts.get(w) != wanted.get(w)
        ]


def text(tag: str, number: int) -> str:
    """Return one part: seeded lines of words that no other run has, so that what the topics hold is no matter."""
    dice = random.Random(number)
    return "".join(
        " ,".join(f"{word}_{tag}" for word in dice.choices(WORDS, k=WORDS_A_LINE)) + ".\n" for _ in range(LINES)
    )


def many_words(tag: str) -> str:
    """Return lines of many different words: sending the counts of one batch takes a while, and may be cut in two."""
    words = [f"w{number}_{tag}" for number in range(MANY)]
    return "".join(" ".join(words[at : at + WORDS_A_LINE]) + "\n" for at in range(0, MANY, WORDS_A_LINE))


def publish(lab: Lab, tag: str, number: int, content: str = "") -> Counter[str]:
    """Put one part before the job publish_lines, whole by a rename; return the count of its words with the tag."""
    assert lab.inventory.lab_directory is not None
    host, name, content = lab.inventory.hosts("spark_producer")[0], f"{tag}-{number}.txt", content or text(tag, number)
    lab.inventory.run(
        host, f"cd {DIRECTORY} && cat > .{name} && chown spark: .{name} && mv .{name} {name}", stdin=content
    )
    published = lab.inventory.lab_directory / "texts"  # what make lab compares the same topics with
    published.mkdir(exist_ok=True)
    (published / name).write_text(content, encoding="utf-8")
    words = regex.findall(r"\w+", content.lower())
    return Counter(word for word in words if tag in word)
