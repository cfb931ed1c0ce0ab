#!/usr/bin/python
"""Describes one topic of a Kafka cluster, finds its records, purges or recreates it."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import one_topic
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask

DOCUMENTATION = """
module: kafka_topic
short_description: Describe one topic, find its records, purge or recreate it
version_added: "1.0.0"
description:
  - Describes one topic, finds its records, purges it, or recreates it. M(millrace.kafka.kafka_topics) manages what
    topics a cluster has.
  - V(purge) and V(recreate) delete records, and require the topic's name again in O(confirm). They are rejected for
    topics whose name begins with C(_). In check mode they report what they would do, without O(confirm).
options:
  topic: {type: str, required: true, description: Name of the topic.}
  do:
    description:
      - V(describe) returns partitions, settings, and the space that the topic uses on each disk.
      - V(lag) returns the lag of the consumer groups that read the topic.
      - V(find) returns records with their headers, selected by O(key), O(offset) or O(timestamp).
      - V(purge) deletes all records.
      - V(recreate) deletes the topic and creates it on the same brokers with the same settings. ACLs stay. Rejected
        while a replica is out of sync or its broker is down.
    type: str
    required: true
    choices: [describe, lag, find, purge, recreate]
  partition: {type: int, description: Only this partition. Not with C(do=recreate).}
  key:
    description: Find records with this key. Without O(offset) or O(timestamp) the whole topic is read.
    type: str
  offset: {type: int, description: Find records from this offset on. Requires O(partition).}
  timestamp: {type: str, description: "Find records from this time on, as C(2026-01-31T08:00:00Z)."}
  limit: {type: int, default: 1, description: Maximum number of records to return.}
  confirm: {type: str, default: "", description: The name of the topic again. Required to delete its records.}
extends_documentation_fragment: [millrace.kafka.kafka_cluster]
attributes:
  check_mode: {description: Writes nothing., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, "kafka-python (for C(do=describe) and C(do=lag))"]
seealso:
  - {module: millrace.kafka.kafka_topics}
  - {module: millrace.kafka.kafka_groups}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Find the first record of a customer
  millrace.kafka.kafka_topic:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topic: orders
    do: find
    key: customer-4711
  delegate_to: localhost
  register: found

- name: Show partitions, settings and disk usage
  millrace.kafka.kafka_topic:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topic: orders
    do: describe
  delegate_to: localhost

- name: Show 10 records of a partition from an offset on
  millrace.kafka.kafka_topic:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topic: orders
    do: find
    partition: 3
    offset: 1200
    limit: 10
  delegate_to: localhost

- name: Delete all records of a topic
  millrace.kafka.kafka_topic:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topic: orders-test
    do: purge
    confirm: orders-test
  delegate_to: localhost
"""

RETURN = """
cluster_id: {description: Id of the cluster., type: str, returned: always, sample: 7wHBT0XWQfCNPKHxMJFAsA}
partitions:
  description: >-
    Each with C(leader), C(replicas), C(isr), C(offline) (replicas whose broker is down), and the offsets C(earliest)
    and C(latest).
  type: list
  elements: dict
  returned: with C(do=describe)
  sample: [{partition: 0, leader: 1, replicas: [1, 2, 3], isr: [1, 2, 3], offline: [], earliest: 0, latest: 1200}]
config:
  description: The topic's own settings.
  type: list
  elements: str
  returned: with C(do=describe)
  sample: ["retention.ms: 604800000 (7 d)"]
disks:
  description: "Usage of each log dir: C(broker), C(log_dir), C(partitions), C(bytes), and the disk's C(free_bytes)."
  type: list
  elements: dict
  returned: with C(do=describe)
  sample: [{broker: 1, log_dir: /data/1, partitions: 4, bytes: 1048576, free_bytes: 53687091200}]
groups:
  description: >-
    Consumer groups, as M(millrace.kafka.kafka_groups) returns them. Each partition also has C(member), the
    C(client_id) and C(host) of the consumer to which it is assigned. Without a committed offset, C(offset) and C(lag)
    are null.
  type: list
  elements: dict
  returned: with C(do=lag)
  sample: [{name: billing, state: STABLE, members: [], partitions: [], lag: 0}]
records:
  description: >-
    Each with C(partition), C(offset), C(timestamp) in milliseconds, C(key), C(headers) and C(value). Bytes that are not
    text are shown as hexadecimal digits.
  type: list
  elements: dict
  returned: with C(do=find)
  sample: [{partition: 3, offset: 1200, timestamp: 1790000000000, key: customer-4711, headers: [], value: "{}"}]
deleted:
  description: Number of records, gaps that compaction left included.
  type: int
  returned: with C(do=purge)
  sample: 1200
made:
  description: Partitions and settings of the new topic.
  type: str
  returned: with C(do=recreate)
  sample: "12 partitions, retention.ms=604800000"
declaration:
  description: "The deleted topic: C(name), C(partitions), C(replication_factor), C(config), C(replicas)."
  type: dict
  returned: with C(do=recreate)
  sample: {name: orders, partitions: 1, replication_factor: 3, config: {}, replicas: [[1, 2, 3]]}
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
    options: dict[str, Any] = module.params

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        reads = {"describe": one_topic.describe, "lag": one_topic.lag, "find": one_topic.find}
        if options["do"] in reads:
            return reads[options["do"]](options, admin, metadata)
        writes = {"purge": one_topic.purge, "recreate": one_topic.recreate}
        return writes[options["do"]](options, admin, metadata, module.check_mode)

    ask(module, options["do"], answered)


if __name__ == "__main__":
    main()
