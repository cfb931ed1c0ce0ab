"""Kafka and ZooKeeper are brought to the product's versions under load, and back again: no send fails, nothing is lost.

For a lab that was made with older versions, as the part `upgrade` of the campaign makes one.
"""

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from faults.lab import Lab
from faults.ledger import load, longest_gaps
from faults.promises import GAP, Clock
from faults.reader import read_all
from faults.writer import Writer

from operations.conftest import UNITS, Operator, Run
from operations.older import OLDER, versions

pytestmark = [pytest.mark.campaign, pytest.mark.timed]
RATE, LONGEST = 500, 1200
JARS = {"zookeeper": "zookeeper-[0-9.]*[.]jar", "kafka": "kafka-clients-[0-9.]*[.]jar"}


def running(operator: Operator) -> dict[str, set[str]]:
    """Return the versions of each function, as its processes hold jars open."""
    lab = Lab(operator.inventory)
    return {
        group: {
            version
            for host in operator.inventory.hosts(group)
            for version in re.findall(
                r"-([0-9.]+)[.]jar",
                operator.inventory.run(host, f"ls -l /proc/{lab.pid(host, unit)}/fd | grep -o '{JARS[group]}'"),
            )
        }
        for group, unit in UNITS.items()
    }


def starts(operator: Operator, marks: Mapping[tuple[str, str], str]) -> dict[str, int]:
    """Return how often each server was started since its mark."""
    lab = Lab(operator.inventory)
    return {host: lab.said(host, unit, mark).count(f"Started {unit}") for (host, unit), mark in marks.items()}


def options(wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Return what says these versions, in place of the inventory's."""
    return tuple(word for product, version in wanted.items() for word in ("-e", f"{product}_version={version}"))


def bring(operator: Operator, wanted: Mapping[str, str]) -> Run:
    """Bring the site to these versions: check mode says what is restarted and changes nothing, and each is, once."""
    lab, before, processes = Lab(operator.inventory), running(operator), operator.processes()
    planned = operator.play("site", "--check", "--diff", *options(wanted))
    assert planned.code == 0, planned.output[-3000:]
    assert (running(operator), operator.processes()) == (before, processes)
    assert all(f"/opt/{product}/{version}" in planned.output for product, version in wanted.items())
    marks = {(host, unit): lab.mark(host, unit) for group, unit in UNITS.items() for host in lab.inventory.hosts(group)}
    run = operator.play("site", *options(wanted))
    assert run.code == 0, run.output[-3000:]
    assert running(operator) == {product: {version} for product, version in wanted.items()}
    assert starts(operator, marks) == {host: 1 for host, _ in marks}
    spark = operator.inventory.hosts("spark")
    assert {host: operator.processes()[host] for host in spark} == {host: processes[host] for host in spark}
    again = operator.play("site", *options(wanted))
    assert (again.code, set(again.recap("changed").values())) == (0, {0}), again.output[-3000:]
    healthy = operator.play("check", *options(wanted))
    assert healthy.code == 0 and "\nHEALTHY\n" in healthy.output, healthy.output[-3000:]
    return run


def test_upgrade_and_rollback(operator: Operator, tmp_path: Path, note: Callable[[str], None]) -> None:
    """One writer through both; binaries stay side by side, so the way back is the way there."""
    assert running(operator) == {product: {version} for product, version in OLDER.items()}
    lab, topic = Lab(operator.inventory), f"upgrade-{time.time_ns()}"
    lab.create_topic(topic)
    clock, said = Clock("upgrade and rollback"), list[str]()
    with Writer(operator.inventory.kafka_properties, topic, tmp_path, run=topic, rate=RATE, limit=RATE * LONGEST) as on:
        for what, wanted in (("upgrade", versions()), ("rollback", OLDER)):
            begun, acknowledged = time.monotonic(), on.acked
            bring(operator, wanted)
            said.append(f"{what} {time.monotonic() - begun:.0f} s, {on.acked - acknowledged} acknowledged")
    ledger = load(tmp_path)
    report = ledger.compare(read_all(operator.inventory.kafka_properties, topic, 300))
    assert report.ok and not ledger.unknown, f"{report}; failed sends: {dict([*ledger.unknown.items()][:5])}"
    clock.compare(GAP, max(longest_gaps(ledger.acks, lab.partitions(topic)).values()))
    lab.delete_topic(topic)
    note(f"{', '.join(said)}; {clock}; {report}")
