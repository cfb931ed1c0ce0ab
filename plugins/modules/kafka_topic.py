#!/usr/bin/python
"""Look at one topic of a Kafka cluster, find its records, empty it, make it anew."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import one_topic
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask

DOCUMENTATION = """
module: kafka_topic
short_description: Look at one topic, find its records, empty it, make it anew
description:
  - What people do by hand with a topic; what a topic is to be, M(millrace.kafka.kafka_topics) says.
  - C(purge) and C(recreate) delete records, and want the topic's name once more as I(confirm); of topics whose name
    begins with C(_) they are refused. In check mode they say what they would do, without I(confirm).
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  cluster_id:
    description: Id of the cluster that is meant; one with another is refused. Not compared where it is empty.
    type: str
    default: ""
  topic: {type: str, required: true, description: Its name.}
  do:
    description:
      - C(describe) returns partitions, settings, and what the topic takes of each disk.
      - C(lag) returns how far behind the consumer groups are.
      - C(find) returns records with their headers, by I(key), I(offset) or I(timestamp).
      - C(purge) deletes the records that are there.
      - C(recreate) deletes the topic, and makes it on the same brokers with the same settings. ACLs stay. Refused
        while a replica is not in sync, or its broker is not there.
    type: str
    required: true
    choices: [describe, lag, find, purge, recreate]
  partition: {type: int, description: "One partition alone; not of C(recreate)."}
  key: {type: str, description: Records with this key. Without I(offset) or I(timestamp) all records are read.}
  offset: {type: int, description: "From this record on; I(partition) is said, too."}
  timestamp: {type: str, description: "From the first record on that is as late, as C(2026-01-31T08:00:00Z)."}
  limit: {type: int, default: 1, description: How many records are returned at most.}
  confirm: {type: str, default: "", description: "The topic's name, before its records are deleted."}
attributes:
  check_mode: {description: Nothing is written., support: full}
  diff_mode: {description: Records and partitions are not compared., support: none}
requirements: [confluent-kafka, "kafka-python (C(describe))"]
author: [Millrace developers]
"""

EXAMPLES = """
- name: The first record of a customer
  millrace.kafka.kafka_topic:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topic: orders
    do: find
    key: customer-4711
  delegate_to: localhost
  register: found
"""

RETURN = """
cluster_id: {description: Id of the cluster that answered., type: str, returned: always}
partitions:
  description: "Each with C(leader), C(replicas), C(isr), and the offsets C(earliest) and C(latest)."
  type: list
  elements: dict
  returned: describe
config: {description: What was set for the topic., type: list, elements: str, returned: describe}
disks:
  description: "What it takes: C(broker), C(log_dir), C(partitions), C(bytes), and the disk's C(free_bytes)."
  type: list
  elements: dict
  returned: describe
groups: {description: As M(millrace.kafka.kafka_groups) returns them., type: list, elements: dict, returned: lag}
records:
  description: >-
    Each with C(partition), C(offset), C(timestamp) in milliseconds, C(key), C(headers) and C(value); what is no text is
    shown in hexadecimal digits.
  type: list
  elements: dict
  returned: find
deleted: {description: "How many records, gaps of compaction among them.", type: int, returned: purge}
made: {description: Partitions and settings., type: str, returned: recreate}
declaration:
  description: "What was or would be deleted: C(name), C(partitions), C(replication_factor), C(config), C(replicas)."
  type: dict
  returned: recreate
"""


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **OPTIONS,
            "topic": {"type": "str", "required": True},
            "do": {"type": "str", "required": True, "choices": ["describe", "lag", "find", "purge", "recreate"]},
            "partition": {"type": "int"},
            "key": {"type": "str", "no_log": False},
            "offset": {"type": "int"},
            "timestamp": {"type": "str"},
            "limit": {"type": "int", "default": 1},
            "confirm": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    said: dict[str, Any] = module.params

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        reads = {"describe": one_topic.describe, "lag": one_topic.lag, "find": one_topic.find}
        if said["do"] in reads:
            return reads[said["do"]](said, admin, metadata)
        writes = {"purge": one_topic.purge, "recreate": one_topic.recreate}
        return writes[said["do"]](said, admin, metadata, module.check_mode)

    ask(module, said["do"], answered)


if __name__ == "__main__":
    main()
