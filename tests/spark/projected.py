"""The job project_orders as a process of its own: its configuration, and what its group and its database say."""

import json
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from .broker import Broker
from .built import unpacked
from .database import rows
from .helpers import MILLRACE, spark_properties

GROUP = "read-model-of-orders"


def project_orders(broker: Broker, topic: str, database: dict[str, str], folder: Path) -> list[str]:
    """Write its configuration; return its command."""
    config = folder / "job.json"
    config.write_text(
        json.dumps(
            {
                "checkpoint": str(folder / "checkpoint"),
                "kafka": {"bootstrap.servers": broker.servers},
                "jars_directory": str(unpacked("spark-jars-*.tgz")),
                "spark": spark_properties(),
                "trigger_interval": "100 milliseconds",
                "input_topic": topic,
                "dead_letter_topic": broker.topic(),
                "group": GROUP,
                "database": database,
            }
        )
    )
    return [MILLRACE, "project_orders", "--config", str(config)]


def committed(broker: Broker, topic: str, times: int = 3) -> dict[int, int]:
    """What lag tools read: the group's offset of each partition; asked anew where a broker just back says nothing."""
    asked = [ConsumerGroupTopicPartitions(GROUP, [TopicPartition(topic, number) for number in (0, 1)])]
    admin = AdminClient({"bootstrap.servers": broker.servers})  # kept: one that nobody has answers nothing
    (future,) = admin.list_consumer_group_offsets(asked).values()
    try:
        return {one.partition: one.offset for one in future.result(60).topic_partitions or ()}
    except TimeoutError:
        if times == 1:
            raise
        return committed(broker, topic, times - 1)


def held(database: dict[str, str]) -> dict[int, int]:
    """What the database says that it holds."""
    return dict(rows(database, "SELECT partition, until_offset FROM job_positions"))
