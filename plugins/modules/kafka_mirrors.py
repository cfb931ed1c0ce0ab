#!/usr/bin/python
"""Reads how far the copies that MirrorMaker makes are behind their source."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask

DOCUMENTATION = """
module: kafka_mirrors
short_description: Read how far the copies that MirrorMaker makes are behind their source
version_added: "1.0.0"
description:
  - Compares the ends of the source's topics with the offsets up to which MirrorMaker 2 has copied them, which it stores
    in a topic of the target. Changes nothing.
  - Does not use MirrorMaker's metrics, which keep their last value when nothing is copied.
  - Runs where both clusters can be reached (the control node, or a host of the group admin). A source that does not
    answer does not fail the task; C(silent) of its flow has the reason.
options:
  admin:
    description: "Client properties of a super user of the target, with librdkafka's names."
    type: dict
    required: true
  cluster_id:
    description: Id of the target. A cluster with another id is rejected. Empty accepts any.
    type: str
    default: ""
  flows:
    description: Flows to the target.
    type: list
    elements: dict
    required: true
    suboptions:
      source: {type: str, required: true, description: Alias of the source.}
      target: {type: str, required: true, description: Alias of the target.}
      client: {type: dict, required: true, description: "Client properties of the source, with librdkafka's names."}
      topics: {type: list, elements: str, required: true, description: Regular expressions of topics that are copied.}
      topics_exclude: {type: list, elements: str, default: [], description: Regular expressions of other topics.}
      policy:
        description: Whether names of copied topics begin with the alias of the source.
        type: str
        choices: [default, identity]
        default: default
      interval: {description: Seconds between two heartbeats of the workers., type: int, default: 5}
attributes:
  check_mode: {description: The module only reads., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_groups}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Read how far the copies of west's topics are behind
  millrace.kafka.kafka_mirrors:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    flows:
      - {source: west, target: east, client: {bootstrap.servers: "198.18.57.21:9092"}, topics: [orders]}
  delegate_to: localhost
  register: mirrors

- name: Wait until all records are copied
  millrace.kafka.kafka_mirrors:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    flows:
      - {source: west, target: east, client: {bootstrap.servers: "198.18.57.21:9092"}, topics: [orders]}
  delegate_to: localhost
  register: mirrors
  until: mirrors.flows[0].behind == 0
"""

RETURN = """
flows:
  description: One entry for each flow, in their order.
  type: list
  elements: dict
  returned: success
  contains:
    source: {description: As given., type: str, sample: west}
    topics:
      description: >-
        Each copied topic with C(topic), C(partitions), C(behind) (records that are not copied), C(seconds) (age of the
        first of them) and C(copied_to) (partitions of which a record was copied).
      type: list
      elements: dict
      sample: [{topic: orders, partitions: 6, behind: 12, seconds: 0.4, copied_to: 6}]
    behind: {description: Sum over all topics., type: int, sample: 12}
    seconds: {description: The largest of all topics., type: float, sample: 0.4}
    heartbeat:
      description: Seconds since the last heartbeat of the workers, null without one.
      type: float
      sample: 1.2
    silent: {description: Why the source did not answer., type: str, sample: ""}
    problems:
      description: Why records are not copied, and why the source did not answer.
      type: list
      elements: str
      sample: []
    copies_from:
      description: Aliases of the clusters from which the source itself copies, or copied until its flow was removed.
      type: list
      elements: str
      sample: [east]
    itself: {description: Whether source and target are the same cluster., type: bool, sample: false}
    interval: {description: As given., type: int, sample: 5}
cluster_id: {description: Id of the target., type: str, returned: success, sample: "abc"}
"""


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **OPTIONS,
            "flows": {"type": "list", "elements": "dict", "required": True, "options": mirrors.FLOW},
        },
        supports_check_mode=True,
    )

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        flows = [mirrors.progress(admin, metadata, flow, Admin) for flow in module.params["flows"]]
        return {"flows": [flow.as_dict() for flow in flows]}

    ask(module, "read the progress of mirrors", answered)


if __name__ == "__main__":
    main()
