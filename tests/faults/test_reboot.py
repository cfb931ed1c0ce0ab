"""Every container is restarted at once: services and firewall come back by themselves, no record is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .containers import podman, restart
from .lab import Lab, until_none
from .ledger import load
from .promises import COUNTED, ENSEMBLE, FULL, Clock
from .reader import read_all
from .word_counts import LastCounts, publish
from .writer import Writer

pytestmark = pytest.mark.timed
RECORDS = 1000
FIREWALL = "nft list table inet millrace"
UNITS = "'zookeeper.service' 'kafka.service' 'postgresql.service' 'spark-job@*.service'"


def test_reboot(lab: Lab, topic: str, tmp_path: Path, word_counts: LastCounts, note: Callable[[str], None]) -> None:
    """Nobody starts anything by hand."""
    inventory = lab.inventory
    hosts = inventory.hosts("all")
    containers = [inventory.container(host) for host in hosts]
    with Writer(inventory.kafka_properties, topic, tmp_path, run=topic, limit=RECORDS) as writer:
        writer.join()
    listing = f"systemctl list-units --plain --no-legend --state=active {UNITS} | cut -d' ' -f1 | sort"
    before = {host: said.split() for host, said in lab.on_all(hosts, listing).items()}
    for group, unit in (("zookeeper", "zookeeper.service"), ("kafka", "kafka.service")):
        assert all(unit in before[host] for host in inventory.hosts(group)), before
    rules = lab.on_all(hosts, FIREWALL)
    started = podman("inspect", "--format", "{{.State.StartedAt}}", *containers)

    inventory.disconnect()
    clock = Clock("restart of every host")
    late = restart(containers)
    assert not set(started) & set(podman("inspect", "--format", "{{.State.StartedAt}}", *containers))

    def units_missing() -> list[str]:
        return [
            f"{host}: {unit} is {state}"
            for host in hosts
            for unit, state in states(host, before[host])
            if state != "active"
        ]

    def states(host: str, units: list[str]) -> list[tuple[str, str]]:
        said = inventory.run(host, f"systemctl is-active {' '.join(units)}", check=False).split() if units else []
        return list(zip(units, said or ["unreachable"] * len(units), strict=True))

    clock.wait_none("services active", units_missing)
    clock.wait_none(ENSEMBLE, lab.zookeeper_problems)
    clock.wait_none(FULL, lab.broker_problems)
    until_none("every unit is still active", units_missing, 5)
    assert lab.on_all(hosts, FIREWALL) == rules
    assert all("drop" in said for said in rules.values()), rules
    wanted = publish(lab, topic, 0)
    clock.wait_none(COUNTED, lambda: word_counts.differences(wanted))
    report = load(tmp_path).compare(read_all(inventory.kafka_properties, topic))
    assert report.ok, str(report)
    assert report.acknowledged == RECORDS
    note(f"{len(hosts)} containers, {sum(map(len, before.values()))} units: {clock}; {report}{'; '.join(['', *late])}")
