"""Counts stay exact when the consumer's Spark process is killed with -9 in the middle of the text and started again."""

from collections.abc import Callable

from .lab import Lab, until, until_none
from .words import JOBS, LastCounts, publish

UNIT = JOBS["spark_consumer"]
PARTS = 6
SECONDS = 120  # a Spark job takes up to 20 s to start on a busy machine


def test_counts_are_exact_after_kill_9_of_the_consumer(lab: Lab, word_counts: LastCounts, run_id: str, note: Callable[[str], None]) -> None:
    """Killed on the first sign of a batch; the last count of each word equals the independent count."""
    host = lab.inventory.hosts("spark_consumer")[0]
    wanted = publish(lab, run_id, 0)
    until_none("both jobs run", lambda: word_counts.differences(wanted), SECONDS)
    pid, first = lab.pid(host, UNIT), word_counts.read()

    for number in range(1, PARTS):
        wanted += publish(lab, run_id, number)
    until("the next batch", lambda: word_counts.read() > first, SECONDS, poll=0)
    lab.inventory.run(host, f"systemctl kill --signal=KILL {UNIT}")
    at, seen = word_counts.read(), word_counts.records
    until(f"{host}: {UNIT} is started again by systemd", lambda: lab.pid(host, UNIT) not in (0, pid), 60)
    wanted += publish(lab, run_id, PARTS)
    until_none("exact counts", lambda: word_counts.differences(wanted), SECONDS)
    note(f"killed at {at} of {sum(wanted.values())} words; all {len(wanted)} exact after {word_counts.records - seen} more records")
