"""Class-data archives: used where they fit; damaged in any way, they cost speed and no start."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from faults.inventory import Inventory
from faults.lab import Lab, until
from faults.words import JOBS

from operations.conftest import with_class_data

FOLDER = "/var/cache/kafka-class-data"
GOOD = "/root/class-data.jsa"
DAMAGES = {"cut": "truncate -s 1000000 {}", "overwritten": "dd if=/dev/zero of={} bs=1M seek=8 count=8 conv=notrunc"}


@pytest.fixture(scope="module")
def broker(inventory: Inventory, class_data_made: None) -> Iterator[str]:
    """A broker with an archive that fits; the whole cluster is back afterwards."""
    (host,) = with_class_data(inventory, "kafka")
    archive = path(inventory, host)
    inventory.run(host, f"cp -p {archive} {GOOD}")
    yield host
    inventory.run(host, f"systemctl stop kafka-class-data && mv -f {GOOD} {archive} && stat -c %s {archive} > {archive}.size")
    Lab(inventory).heal()


def path(inventory: Inventory, host: str) -> str:
    """Return the archive of the version that is installed."""
    return inventory.run(host, f"ls {FOLDER}/*.jsa").strip()


def restart(inventory: Inventory, host: str) -> bool:
    """Restart the broker, wait until it serves by itself, and return whether it maps the archive."""
    inventory.run(host, "systemctl restart kafka")
    place = f"{inventory.client_address(host)}:{inventory.port('CLIENT')}"
    own: dict[str, str | int | float | bool] = {**inventory.kafka_properties, "bootstrap.servers": place, "log_level": 0}

    def serves() -> bool:
        try:
            return inventory.broker_id(host) in AdminClient(own).list_topics(timeout=2).brokers
        except KafkaException:
            return False

    until("the broker serves", serves, 60)
    assert inventory.run(host, "systemctl show -p NRestarts --value kafka").strip() == "0"
    return FOLDER in inventory.run(host, "cat /proc/$(systemctl show -p MainPID --value kafka)/maps")


def test_an_archive_that_fits_is_used_and_is_roots(inventory: Inventory, broker: str) -> None:
    assert restart(inventory, broker)
    assert inventory.run(broker, f"stat -c '%U %a' {FOLDER}").split() == ["root", "755"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_stops_no_start(inventory: Inventory, broker: str, damage: str) -> None:
    archive = path(inventory, broker)
    spoil = DAMAGES[damage].format(archive)
    inventory.run(broker, f"systemctl stop kafka kafka-class-data && cp -p {GOOD} {archive} && stat -c %s {archive} > {archive}.size && {spoil}")
    assert not restart(inventory, broker)


def test_one_that_java_refuses_is_made_anew(inventory: Inventory, broker: str) -> None:
    """After the start that went without it."""
    archive = path(inventory, broker)
    inventory.run(broker, f"systemctl stop kafka-class-data && cp -p {GOOD} {archive} && {DAMAGES['overwritten'].format(archive)}")
    spoilt = inventory.run(broker, f"sha256sum {archive}")
    inventory.run(broker, "systemctl start kafka-class-data", seconds=300)
    assert inventory.run(broker, f"sha256sum {archive}") != spoilt
    assert inventory.run(broker, f"stat -c %s {archive}") == inventory.run(broker, f"cat {archive}.size")


def test_a_job_starts_from_its_archive(inventory: Inventory, class_data_made: None) -> None:
    (host,) = with_class_data(inventory, "spark")
    unit = next(unit for group, unit in JOBS.items() if host in inventory.hosts(group))
    inventory.run(host, f"systemctl restart {unit}")
    maps = "for pid in $(pgrep -u spark java); do cat /proc/$pid/maps; done 2>/dev/null || true"
    until("the JVM of the job maps the archive", lambda: "/var/cache/spark-job-class-data" in inventory.run(host, maps), 60)
