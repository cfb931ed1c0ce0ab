"""The class-data archive of a broker: used where it fits; damaged in any way, it costs speed and no start."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from faults.inventory import Inventory
from faults.lab import until_none

FOLDER = "/var/cache/kafka-class-data"
ARCHIVE = f"{FOLDER}/3.9.2.jsa"
GOOD = "/root/class-data.jsa"
DAMAGES = {"cut": f"truncate -s 1000000 {ARCHIVE}", "overwritten": f"dd if=/dev/zero of={ARCHIVE} bs=1M seek=8 count=8 conv=notrunc"}


@pytest.fixture(scope="module")
def broker(inventory: Inventory) -> Iterator[str]:
    """The broker that the lab gives an archive, once it is there and fits."""
    host = next(host for host in inventory.hosts("kafka") if inventory.variables[host].get("kafka_class_data_archive"))
    inventory.run(host, f"systemctl start kafka-class-data && cp -p {ARCHIVE} {GOOD}")
    yield host
    inventory.run(host, f"systemctl stop kafka-class-data && mv -f {GOOD} {ARCHIVE} && stat -c %s {ARCHIVE} > {ARCHIVE}.size")


def restart(inventory: Inventory, host: str) -> bool:
    """Restart the broker, wait until it is registered, and return whether it maps the archive."""
    inventory.run(host, "systemctl restart kafka")
    admin, number = AdminClient({**inventory.kafka_properties}), inventory.broker_id(host)
    until_none("registered", lambda: [] if number in admin.list_topics(timeout=10).brokers else [f"broker {number}"], 60)
    assert inventory.run(host, "systemctl show -p NRestarts --value kafka").strip() == "0"
    return ARCHIVE in inventory.run(host, "cat /proc/$(systemctl show -p MainPID --value kafka)/maps")


def test_an_archive_that_fits_is_used_and_is_roots(inventory: Inventory, broker: str) -> None:
    assert restart(inventory, broker)
    assert inventory.run(broker, f"stat -c '%U %a' {FOLDER}").split() == ["root", "755"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_stops_no_start(inventory: Inventory, broker: str, damage: str) -> None:
    inventory.run(
        broker, f"systemctl stop kafka kafka-class-data && cp -p {GOOD} {ARCHIVE} && stat -c %s {ARCHIVE} > {ARCHIVE}.size && {DAMAGES[damage]}"
    )
    assert not restart(inventory, broker)
