"""The brokers, asked through their listeners."""

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from faults.inventory import Inventory
from faults.lab import Lab
from render.site import readme_command
from testinfra.host import Host

from infra.conftest import limit, service_problem
from infra.hardening import assert_hardened

PARTITIONS = 12


@pytest.fixture(scope="module")
def admin(inventory: Inventory) -> AdminClient:
    """An admin client on the listener CLIENT."""
    return AdminClient({**inventory.kafka_properties})


@pytest.fixture(scope="module")
def topic(inventory: Inventory) -> Iterator[str]:
    """An RF 3 topic of this run; deleted afterwards."""
    lab, name = Lab(inventory), f"infra-{uuid.uuid4().hex[:8]}"
    lab.create_topic(name, partitions=PARTITIONS)
    yield name
    lab.delete_topic(name)


def test_service_runs_and_starts_at_boot(kafka_host: Host) -> None:
    assert service_problem(kafka_host, "kafka") == ""


def test_every_broker_is_registered_with_its_rack_and_client_address(inventory: Inventory, admin: AdminClient) -> None:
    found = {(node.id, node.host, node.port, node.rack) for node in admin.describe_cluster().result(10).nodes}
    racks = {
        host: group.removeprefix("rack_")
        for group in inventory.groups
        if group.startswith("rack_")
        for host in inventory.hosts(group)
    }
    datacenter = inventory.variables[inventory.hosts("kafka")[0]]["datacenter"]
    assert found == {
        (inventory.broker_id(host), inventory.client_address(host), 9092, f"{datacenter}-{racks[host]}")
        for host in inventory.hosts("kafka")
    }


def test_replicas_of_every_partition_span_three_racks(inventory: Inventory, admin: AdminClient, topic: str) -> None:
    racks = {node.id: node.rack for node in admin.describe_cluster().result(10).nodes}
    partitions = Lab(inventory).partitions(topic)
    assert len(partitions) == PARTITIONS
    assert {len({racks[replica] for replica in partition.replicas}) for partition in partitions.values()} == {3}


def test_records_come_back_through_the_client_listener(inventory: Inventory, topic: str) -> None:
    producer = Producer({**inventory.kafka_properties, "acks": "all", "enable.idempotence": True})
    sent = {f"key-{number}": f"value-{uuid.uuid4().hex}" for number in range(PARTITIONS * 5)}
    for number, (key, value) in enumerate(sent.items()):
        producer.produce(topic, key=key, value=value, partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    consumer = Consumer({**inventory.kafka_properties, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    received: dict[str, str] = {}
    for _ in range(30):
        received |= {
            (m.key() or b"").decode(): (m.value() or b"").decode()
            for m in consumer.consume(len(sent), 1.0)
            if not m.error()
        }
        if len(received) >= len(sent):
            break
    consumer.close()
    assert received == sent


def test_every_log_dir_of_every_broker_holds_partitions(inventory: Inventory, topic: str) -> None:
    for host in inventory.hosts("kafka"):
        for directory in inventory.variables[host]["kafka_log_dirs"]:
            assert int(inventory.run(host, f"ls -d {directory}/{topic}-* | wc -l")) > 0, f"{host}:{directory}"


def test_log_dirs_are_file_systems_of_their_own(kafka_host: Host) -> None:
    properties = dict(
        line.split("=", 1)
        for line in kafka_host.file("/etc/kafka/server.properties").content_string.splitlines()
        if "=" in line
    )
    for directory in properties["log.dirs"].split(","):
        assert kafka_host.mount_point(directory).exists


def test_topics_are_not_created_by_accident(inventory: Inventory, admin: AdminClient) -> None:
    name = f"accident-{uuid.uuid4().hex[:8]}"
    # The client forgets a topic that no broker has a second after it asked, and refuses its records then.
    producer = Producer({**inventory.kafka_properties, "topic.metadata.propagation.max.ms": 1000})
    errors: list[KafkaError | None] = []
    producer.produce(name, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    assert [error and error.name() for error in errors] in (["_UNKNOWN_TOPIC"], ["UNKNOWN_TOPIC_OR_PART"])
    assert name not in admin.list_topics(timeout=10).topics


def test_tools_are_on_the_path_with_a_client_file(inventory: Inventory, topic: str) -> None:
    """By the lines that README.md shows."""
    listed = inventory.run(inventory.hosts("kafka")[0], readme_command())
    assert topic in listed.splitlines()


def test_limits_of_the_running_process(kafka_host: Host) -> None:
    assert limit(kafka_host, "kafka", "Max open files") == "16384"


def test_hardening_is_in_force(kafka_host: Host) -> None:
    assert_hardened(kafka_host, "kafka")
