"""Class-data archives: used where they fit; damaged in any way, they cost speed and no start."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from faults.inventory import Inventory
from faults.lab import Lab, until
from faults.word_counts import JOBS

from operations.conftest import with_class_data

pytestmark = pytest.mark.campaign
FOLDER = "/var/cache/kafka-class-data"
GOOD = "/root/class-data.jsa"
DAMAGES = {"cut": "truncate -s 1000000 {}", "overwritten": "dd if=/dev/zero of={} bs=1M seek=8 count=8 conv=notrunc"}


@pytest.fixture(scope="module")
def broker(inventory: Inventory, class_data_made: None) -> Iterator[tuple[str, str]]:
    """A broker and its archive, which fits; the whole cluster is back afterwards."""
    host = with_class_data(inventory, "kafka")[0]
    archive = inventory.run(host, f"ls {FOLDER}/*.jsa").strip()
    inventory.run(host, f"cp -p {archive} {GOOD}")
    yield host, archive
    inventory.run(
        host, f"systemctl stop kafka-class-data && mv -f {GOOD} {archive} && stat -c %s {archive} > {archive}.size"
    )
    Lab(inventory).heal()


def restart(inventory: Inventory, host: str) -> bool:
    """Restart the broker, wait until it serves by itself, and return whether it maps the archive."""
    inventory.run(host, "systemctl restart kafka")
    place = f"{inventory.client_address(host)}:{inventory.port('CLIENT')}"
    own: dict[str, str | int | float | bool] = {
        **inventory.kafka_properties,
        "bootstrap.servers": place,
        "log_level": 0,
    }

    def serves() -> bool:
        try:
            return inventory.broker_id(host) in AdminClient(own).list_topics(timeout=2).brokers
        except KafkaException:
            return False

    until("the broker serves", serves, 60)
    assert inventory.run(host, "systemctl show -p NRestarts --value kafka").strip() == "0"
    return FOLDER in inventory.run(host, "cat /proc/$(systemctl show -p MainPID --value kafka)/maps")


def test_an_archive_that_fits_is_used_and_is_roots(inventory: Inventory, broker: tuple[str, str]) -> None:
    assert restart(inventory, broker[0])
    assert inventory.run(broker[0], f"stat -c '%U %a' {FOLDER}").split() == ["root", "755"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_stops_no_start(inventory: Inventory, broker: tuple[str, str], damage: str) -> None:
    host, archive = broker
    spoil = DAMAGES[damage].format(archive)
    inventory.run(
        host,
        f"systemctl stop kafka kafka-class-data && cp -p {GOOD} {archive} && stat -c %s {archive} > {archive}.size && "
        f"{spoil}",
    )
    assert not restart(inventory, host)


def test_one_that_java_refuses_is_made_anew(inventory: Inventory, broker: tuple[str, str]) -> None:
    """After the start that went without it."""
    host, archive = broker
    inventory.run(
        host, f"systemctl stop kafka-class-data && cp -p {GOOD} {archive} && {DAMAGES['overwritten'].format(archive)}"
    )
    spoilt = inventory.run(host, f"sha256sum {archive}")
    inventory.run(host, "systemctl start kafka-class-data", seconds=300)
    assert inventory.run(host, f"sha256sum {archive}") != spoilt
    assert inventory.run(host, f"stat -c %s {archive}") == inventory.run(host, f"cat {archive}.size")


def test_a_job_starts_from_its_archive(inventory: Inventory, class_data_made: None) -> None:
    host = with_class_data(inventory, "spark")[0]
    unit = next(unit for group, unit in JOBS.items() if host in inventory.hosts(group))
    inventory.run(host, f"systemctl restart {unit}")
    maps = "for pid in $(pgrep -u spark java); do cat /proc/$pid/maps; done 2>/dev/null || true"
    until(
        "the JVM of the job maps the archive",
        lambda: "/var/cache/spark-job-class-data" in inventory.run(host, maps),
        60,
    )
