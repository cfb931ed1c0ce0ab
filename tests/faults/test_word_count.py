"""Counts stay exact when the consumer's Spark process is killed with -9 in the middle of a batch and started again."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition

from .lab import Lab, until, until_none
from .promises import BACK, COUNTED, Clock
from .reader import high_watermark, partitions
from .word_counts import INPUT, JOBS, MANY, WORDS_A_LINE, LastCounts, many_words, publish

pytestmark = pytest.mark.timed
UNIT = JOBS["spark_consumer"]
CHECKPOINT = "/var/lib/spark-job/count_words/checkpoint"


def lines_sent(counts: LastCounts) -> int:
    """Return how many lines the input topic holds."""
    deadline = time.monotonic() + 30
    ends = [TopicPartition(INPUT, number) for number in partitions(counts.consumer, INPUT, deadline)]
    return sum(high_watermark(counts.consumer, end, deadline) for end in ends)


def test_counts_are_exact_after_kill_9_of_the_consumer(
    lab: Lab, word_counts: LastCounts, run_id: str, note: Callable[[str], None]
) -> None:
    """Killed on the first sign of a batch of many words: some counts are sent, not all, and it is not committed."""
    host = lab.inventory.hosts("spark_consumer")[0]
    wanted = publish(lab, run_id, 0)
    until_none("both jobs run", lambda: word_counts.differences(wanted), 120)
    pid, first, lines = lab.pid(host, UNIT), sum(wanted.values()), lines_sent(word_counts)

    lab.inventory.run(host, f"systemctl kill --signal=STOP {UNIT}")  # one batch, however slowly its lines are sent
    wanted += publish(lab, run_id, 1, many_words(run_id))
    until("all lines are sent", lambda: lines_sent(word_counts) == lines + MANY // WORDS_A_LINE, 60)
    lab.inventory.run(host, f"systemctl kill --signal=CONT {UNIT}")
    until("the first count of the batch", lambda: word_counts.read() > first, 60, poll=0)
    listing = f"for kind in offsets commits; do ls {CHECKPOINT}/$kind | sort -n | tail -n 1; done"
    clock = Clock("kill -9 of a Spark job")
    batch, committed = map(int, lab.inventory.run(host, f"systemctl kill --signal=KILL {UNIT} && {listing}").split())
    at, seen = word_counts.read_to_end(), word_counts.records
    assert first < at < sum(wanted.values()), "the kill hit no batch in the middle"
    assert batch == committed + 1, "the batch was over"

    clock.wait(BACK, lambda: lab.pid(host, UNIT) not in (0, pid))
    wanted += publish(lab, run_id, 2)
    clock.wait_none(COUNTED, lambda: word_counts.differences(wanted))
    more = word_counts.records - seen
    note(f"killed at {at} of {sum(wanted.values())} words, {clock}; all {len(wanted)} exact after {more} more records")
