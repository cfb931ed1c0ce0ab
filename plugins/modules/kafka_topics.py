#!/usr/bin/python
"""Converge the topics of a Kafka cluster."""

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
short_description: Converge the topics of a cluster, all in one call
description:
  - Makes topics with replicas and leaders spread evenly over racks and brokers, adds partitions, and changes settings
    one by one, so that what others set meanwhile stays.
  - Only what was set for a topic is compared, not what brokers have by default; what is set and not declared is taken
    back. What throttles moving replicas is never touched, and returned as C(unmanaged).
  - "Refused, with everything else that is wrong: fewer partitions; more partitions, other than with
    I(allow_more_partitions); another number of replicas, which M(millrace.kafka.kafka_reassign) copies; more replicas
    than brokers; C(min.insync.replicas) that is not below the number of replicas, if there are two or more; a setting
    that brokers do not know; what would delete records, other than with I(allow_data_loss) or I(allow_delete); names
    that begin with C(_); names that differ by C(.) and C(_) alone; new partitions while a rack of I(brokers) is down or
    a broker does not say its rack."
  - A topic whose replicas are being moved is left alone with a warning.
options:
  topics:
    description: Topics. Those that are not named are left alone, but for what I(prune) says.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Name of the topic.}
      partitions: {type: int, description: "Number of partitions; as it is, or the brokers' C(num.partitions)."}
      replication_factor:
        description: Number of replicas; as it is, or the brokers' C(default.replication.factor).
        type: int
      config: {type: dict, default: {}, description: "Settings under Kafka's names, as texts in Kafka's units."}
      state:
        description: Whether the topic is there; one goes with I(allow_delete) alone.
        type: str
        choices: [present, absent]
        default: present
      manage: {type: bool, default: true, description: Otherwise it is known and never touched.}
      allow_delete: {type: bool, default: false, description: It may be deleted with its records.}
      allow_more_partitions:
        description: It may get more; records with a key then go to other partitions than before.
        type: bool
        default: false
      allow_data_loss:
        description: >-
          Retention may be cut, the cleanup policy be changed, C(min.insync.replicas) be lowered, and
          C(unclean.leader.election.enable) be C(true), so that records can be lost.
        type: bool
        default: false
  brokers:
    description: Brokers that are to be there. While none of a rack is, nothing is placed, for it would be without it.
    type: list
    elements: dict
    default: []
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      rack: {type: str, description: "C(broker.rack), if it has one."}
extends_documentation_fragment:
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
  - millrace.kafka.kafka_prune
requirements: [confluent-kafka, "kafka-python (where replicas move)"]
author: [Millrace developers]
"""

EXAMPLES = """
- name: A topic
  millrace.kafka.kafka_topics:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topics: [{name: orders, partitions: 12, replication_factor: 3, config: {retention.ms: "604800000"}}]
  delegate_to: localhost
"""

RETURN = """
changes: {description: 'One line per change, without passwords.', type: list, elements: str, returned: always}
cluster_id: {description: Id of the cluster that answered., type: str, returned: when it answered}
plan:
  description: Names by what happens to them.
  type: dict
  returned: when it answered
  contains:
    create: {description: What is not there., type: list, elements: str}
    update: {description: What is otherwise than declared., type: list, elements: str}
    delete: {description: "What is declared absent, or pruned.", type: list, elements: str}
    unchanged: {description: What is as declared., type: list, elements: str}
    unmanaged: {description: "What is on the cluster and not declared, or not managed.", type: list, elements: str}
outcome:
  description: Where writing failed, what became of the changes, each as kind and name.
  type: dict
  returned: where writing failed
  contains:
    done: {description: What was written., type: list, elements: str}
    failed: {description: "What was not, and why.", type: dict}
    not_tried: {description: What was not begun., type: list, elements: str}
    unknown:
      description: What of C(failed) may have been done all the same, and could not be read back.
      type: list
      elements: str
"""

BROKER: dict[str, Any] = {"id": {"type": "int", "required": True}, "rack": {"type": "str"}}


def texts(config: dict[str, Any] | None) -> dict[str, Any]:
    """Return settings as texts; what is none of one value stays, to be refused."""
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
