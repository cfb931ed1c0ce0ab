"""What a load says once it has ended: nothing lost, double or out of order, and every partition goes on."""

from pathlib import Path

from .lab import Lab
from .ledger import Ledger, Report, load, silent
from .reader import read_all


def verdict(lab: Lab, topic: str, directory: Path, whole: float) -> tuple[Ledger, Report]:
    """Read all again, and return the ledger of a directory and how it compares.

    AssertionError where a record is missing, double, wrong or in another place, a send failed, or a partition has
    acknowledged nothing since `whole` (monotonic seconds).
    """
    ledger = load(directory)
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic))
    assert report.ok, f"{topic}: {report}"
    assert ledger.unknown == {}, "sends failed"
    assert silent(ledger.acks, lab.partitions(topic), whole) == [], "partitions that acknowledge no more"
    return ledger, report
