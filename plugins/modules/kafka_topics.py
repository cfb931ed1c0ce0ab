#!/usr/bin/python
"""Creates, changes and deletes the topics of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import topic_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import (
    PRUNE,
    TOPIC,
    WRITES,
    Work,
    converge,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_topics
short_description: Create, change and delete topics of a cluster, all in one call
version_added: "1.0.0"
description:
  - Creates, changes and deletes topics. Replicas and leaders of new partitions are spread evenly over racks and
    brokers. Settings are changed one by one, so that concurrent changes of other settings are kept.
  - Only the settings of the topic itself are compared, not the brokers' defaults. A setting that is on the topic and
    not declared is removed. Throttles of moving replicas are never changed; they are returned in RV(plan.unmanaged).
  - A topic whose replicas are being moved is not changed, and causes a warning.
  - Rejects, together with all other mistakes, the following.
  - Fewer partitions; more partitions without O(topics[].allow_more_partitions).
  - Another number of replicas, which M(millrace.kafka.kafka_reassign) changes; more replicas than brokers.
  - A C(min.insync.replicas) that is not below the number of replicas, if there are two or more.
  - A setting that brokers do not know.
  - Loss of records without O(topics[].allow_data_loss) or O(topics[].allow_delete).
  - Names that begin with C(_); names that differ only in C(.) and C(_).
  - New partitions while a rack of O(brokers) is down or a broker does not report its rack.
options:
  topics:
    description: Topics. Others are not changed, unless O(prune) includes them.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Name of the topic.}
      partitions:
        description: Number of partitions. By default unchanged; of a new topic, the brokers' C(num.partitions).
        type: int
      replication_factor:
        description: >-
          Number of replicas. By default unchanged; of a new topic, the brokers' C(default.replication.factor).
        type: int
      config: {type: dict, default: {}, description: "Settings with Kafka's names and units."}
      state:
        description: Whether the topic exists. V(absent) requires O(topics[].allow_delete).
        type: str
        choices: [present, absent]
        default: present
      manage: {type: bool, default: true, description: Whether the topic is managed. V(false) never changes it.}
      allow_delete: {type: bool, default: false, description: Whether the topic may be deleted with its records.}
      allow_more_partitions:
        description: Whether partitions may be added. Keys are then distributed to other partitions than before.
        type: bool
        default: false
      allow_data_loss:
        description: >-
          Whether a change is allowed by which records can be lost: a shorter retention, another cleanup policy, a
          lower C(min.insync.replicas), or C(unclean.leader.election.enable) V(true).
        type: bool
        default: false
  brokers:
    description: >-
      All brokers of the cluster. While all brokers of a rack are down, no partition is placed, since the rack would get
      no replica.
    type: list
    elements: dict
    default: []
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      rack: {type: str, description: "C(broker.rack), if it has one."}
extends_documentation_fragment:
  - millrace.kafka.kafka_cluster
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
  - millrace.kafka.kafka_prune
requirements: [confluent-kafka, "kafka-python (if replicas are moving)"]
seealso:
  - {module: millrace.kafka.kafka_topic}
  - {module: millrace.kafka.kafka_reassign}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Create a topic
  millrace.kafka.kafka_topics:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topics: [{name: orders, partitions: 12, replication_factor: 3, config: {retention.ms: "604800000"}}]
  delegate_to: localhost

- name: Add partitions
  millrace.kafka.kafka_topics:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topics: [{name: orders, partitions: 24, config: {retention.ms: "604800000"}, allow_more_partitions: true}]
  delegate_to: localhost

- name: Delete a topic with its records
  millrace.kafka.kafka_topics:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topics: [{name: orders-old, state: absent, allow_delete: true}]
  delegate_to: localhost

- name: Delete topics of a project that are not declared, at most 3
  millrace.kafka.kafka_topics:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topics: [{name: orders, partitions: 12, replication_factor: 3}]
    prune: {topics: ["orders-*"], max_deletes: 3}
  delegate_to: localhost
"""

RETURN = """
changes:
  description: One line for each change.
  type: list
  elements: str
  returned: always
  sample: ["create topic orders: + partitions: 12; + replication_factor: 3"]
cluster_id:
  description: Id of the cluster.
  type: str
  returned: when the cluster answered
  sample: 7wHBT0XWQfCNPKHxMJFAsA
plan:
  description: Names by what happens to them.
  type: dict
  returned: when the cluster answered
  contains:
    create: {description: Missing on the cluster., type: list, elements: str, sample: [orders]}
    update: {description: Different from the declaration., type: list, elements: str, sample: []}
    delete: {description: "Declared absent, or pruned.", type: list, elements: str, sample: [orders-old]}
    unchanged: {description: As declared., type: list, elements: str, sample: [billing]}
    unmanaged:
      description: "On the cluster but not declared, or declared with C(manage=false)."
      type: list
      elements: str
      sample: [audit]
outcome:
  description: What was written before a write failed. Each change is named by kind and name.
  type: dict
  returned: if a write failed
  contains:
    done: {description: Written., type: list, elements: str, sample: [topic orders]}
    failed: {description: "Not written, and why.", type: dict, sample: {topic orders-old: no answer in time}}
    not_tried: {description: Not started., type: list, elements: str, sample: []}
    unknown:
      description: Those of C(failed) that may have been written and could not be read back.
      type: list
      elements: str
      sample: [topic orders-old]
"""

BROKER: dict[str, Any] = {"id": {"type": "int", "required": True}, "rack": {"type": "str"}}


def texts(config: dict[str, Any] | None) -> dict[str, Any]:
    """Return a topic's settings with their values as strings; lists, dicts and None stay as they are.

    Later checks reject values that are lists, dicts or None.
    """
    return {
        key: value if value is None or isinstance(value, (list, dict)) else str(value)
        for key, value in (config or {}).items()
    }


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **WRITES,
            "topics": {"type": "list", "elements": "dict", "default": [], "options": TOPIC},
            "brokers": {"type": "list", "elements": "dict", "default": [], "options": BROKER},
            "prune": PRUNE,
        },
        supports_check_mode=True,
    )
    topics = [{**topic, "config": texts(topic["config"])} for topic in module.params["topics"]]
    brokers = {broker["id"]: broker["rack"] for broker in module.params["brokers"]}

    def planned(admin: Admin, metadata: Metadata) -> Sequence[Work]:
        plan = topic_control.plan(admin, metadata, topics, module.params["prune"], brokers, module.warn)
        return [(plan, lambda changes, look: topic_control.apply(admin, changes, look))]

    converge(module, "topics", planned)


if __name__ == "__main__":
    main()
