"""Kafka and ZooKeeper are brought to the product's versions under load, and back again: no send fails, nothing is lost.

Between the two comes the protocol step. For a lab that was made with older versions and an older protocol pinned, as
the part `upgrade` of the campaign makes one.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource
from faults.lab import Lab
from faults.ledger import load, longest_gaps
from faults.promises import GAP, Clock
from faults.reader import read_all
from faults.writer import Writer

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import TITLES
from operations.conftest import UNITS, Operator, Run
from operations.older import OLDER, PINNED, versions

# Not run again on this lab: after the protocol step nothing goes back to the older protocol.
pytestmark = [pytest.mark.campaign, pytest.mark.timed(again=False)]
RATE, LONGEST = 500, 1200
UNPINNED = ("-e", json.dumps({"kafka_config_overrides": {}}))
CHANGE = "What the declared versions change:"
NEW = {
    "kafka": "  new: alter.config.policy.kraft.compatibility.enable (false)",
    "zookeeper": "  new: ssl.allowReverseDnsLookup, ssl.quorum.allowReverseDnsLookup",
}
"""What is said of the upgrade; the way back says that it is gone."""
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


def spoken(operator: Operator) -> set[str]:
    """Return what brokers say that they speak to each other, as 3.9 of 3.9-IV0."""
    lab, name = Lab(operator.inventory), "inter.broker.protocol.version"
    asked = (
        ConfigResource(ConfigResource.Type.BROKER, str(operator.inventory.broker_id(host)))
        for host in operator.inventory.hosts("kafka")
    )  # one a call: librdkafka takes no more
    answers = (answer for one in asked for answer in lab.admin.describe_configs([one], request_timeout=30).values())
    return {str(answer.result()[name].value).partition("-")[0] for answer in answers}


def options(wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Return what says these versions, in place of the inventory's."""
    return tuple(word for product, version in wanted.items() for word in ("-e", f"{product}_version={version}"))


def bring(operator: Operator, wanted: Mapping[str, str], *more: str) -> Run:
    """Bring the site to these versions: check mode says what changes and changes nothing, and each is restarted once.

    With `more` options.
    """
    words = (*options(wanted), *more)
    lab, before, processes = Lab(operator.inventory), running(operator), operator.processes()
    planned = operator.play("site", "--check", "--diff", *words)
    assert planned.code == 0, planned.output[-3000:]
    assert (running(operator), operator.processes()) == (before, processes)
    assert all(f"/opt/{product}/{version}" in planned.output for product, version in wanted.items())
    for product, version in wanted.items():
        (older,) = before[product]
        assert f"{TITLES[product]} {older} -> {version}, group {product}: " in planned.output, planned.output[-3000:]
        if wanted == versions():
            assert f"\n{NEW[product]}\n" in planned.output, planned.output[-3000:]
    marks = {(host, unit): lab.mark(host, unit) for group, unit in UNITS.items() for host in lab.inventory.hosts(group)}
    run = operator.play("site", *words)
    assert run.code == 0, run.output[-3000:]
    assert running(operator) == {product: {version} for product, version in wanted.items()}
    assert starts(operator, marks) == {host: 1 for host, _ in marks}
    spark = operator.inventory.hosts("spark")
    assert {host: operator.processes()[host] for host in spark} == {host: processes[host] for host in spark}
    again = operator.play("site", *words)
    assert (again.code, set(again.recap("changed").values())) == (0, {0}), again.output[-3000:]
    assert CHANGE in run.output and CHANGE not in again.output
    healthy = operator.play("check", *words)
    assert healthy.code == 0 and "\nHEALTHY\n" in healthy.output, healthy.output[-3000:]
    return run


def step(operator: Operator) -> None:
    """Take the pin out: each broker is restarted once and speaks its version's protocol, and then it stays so."""
    lab, words = Lab(operator.inventory), options(versions())
    assert spoken(operator) == set(PINNED.values())
    marks = {(host, unit): lab.mark(host, unit) for group, unit in UNITS.items() for host in lab.inventory.hosts(group)}
    run = operator.play("kafka", *words, *UNPINNED)
    assert run.code == 0 and CHANGE not in run.output, run.output[-3000:]
    brokers = operator.inventory.hosts("kafka")
    assert starts(operator, marks) == {host: int(host in brokers) for host, _ in marks}
    assert spoken(operator) == {".".join(versions()["kafka"].split(".")[:2])}
    refused = operator.play("preflight", *words)  # pinned, as the inventory still says it
    assert refused.code != 0 and "PROTOCOL_LOWERED group kafka/" in refused.output, refused.output[-3000:]


def test_upgrade_and_rollback(operator: Operator, tmp_path: Path, note: Callable[[str], None]) -> None:
    """One writer through all; binaries stay side by side, so the way back is the way there, but for the protocol."""
    assert running(operator) == {product: {version} for product, version in OLDER.items()}
    lab, topic = Lab(operator.inventory), f"upgrade-{time.time_ns()}"
    lab.create_topic(topic)
    clock, said = Clock("upgrade and rollback"), list[str]()
    with Writer(operator.inventory.kafka_properties, topic, tmp_path, run=topic, rate=RATE, limit=RATE * LONGEST) as on:
        for what, do in (
            ("upgrade", lambda: bring(operator, versions())),
            ("protocol", lambda: step(operator)),
            ("rollback", lambda: bring(operator, OLDER, *UNPINNED)),
        ):
            begun, acknowledged = time.monotonic(), on.acked
            do()
            said.append(f"{what} {time.monotonic() - begun:.0f} s, {on.acked - acknowledged} acknowledged")
    ledger = load(tmp_path)
    report = ledger.compare(read_all(operator.inventory.kafka_properties, topic, 300))
    assert report.ok and not ledger.unknown, f"{report}; failed sends: {dict([*ledger.unknown.items()][:5])}"
    clock.compare(GAP, max(longest_gaps(ledger.acks, lab.partitions(topic)).values()))
    lab.delete_topic(topic)
    note(f"{', '.join(said)}; {clock}; {report}")
