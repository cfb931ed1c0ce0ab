#!/usr/bin/python
"""Sets and removes dynamic settings of brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import broker_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import ALL
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import WRITES, Work, converge
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_broker_config
short_description: Set and remove dynamic settings of brokers, without a restart
version_added: "1.0.0"
description:
  - Sets and removes dynamic settings of brokers, for all of them or for single ones, without a restart. Precedence is
    a setting of a single broker, a setting of all brokers, C(server.properties).
  - A setting that is null is removed. A setting that is on the cluster and not declared stays, and is returned in
    RV(plan.unmanaged), including throttles of moving replicas and unknown settings.
  - Each broker validates its settings first, since a number may suit one broker and not another. A setting counts as
    written when each broker has applied it and still runs; if a setting stops a broker, the task fails.
  - A setting of all brokers is tried first as a setting of one broker, which is not the controller. If that broker
    still runs, all brokers get the setting, and the trial setting is removed. Removals and settings of single brokers
    are not tried first.
  - "Rejects, together with all other mistakes: a setting that brokers do not know or read at start only; a secret,
    which could not be compared; settings of a broker that does not exist; values that Kafka accepts although no cluster
    can run with them, as C(max.connections) 0; settings that decide which records are lost, without O(allow_data_loss).
    That also applies to their removal, since C(server.properties) then decides."
  - Warns if C(message.max.bytes) becomes lower than it is.
options:
  config:
    description: >-
      Settings of all brokers, with Kafka's names and units. Allowed are those that Kafka calls cluster-wide or
      per-broker.
    type: dict
    default: {}
  brokers:
    description: Settings of single brokers.
    type: list
    elements: dict
    default: []
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      config: {type: dict, default: {}, description: "Settings of this broker, as in O(config)."}
  allow_data_loss:
    description: >-
      Whether settings may be set or removed that decide which records are lost, as retention, C(log.cleanup.policy)
      and C(min.insync.replicas).
    type: bool
    default: false
extends_documentation_fragment:
  - millrace.kafka.kafka_cluster
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_live_config}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Set more threads for all brokers, and remove the setting of the first
  millrace.kafka.kafka_broker_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    config: {num.io.threads: 16}
    brokers:
      - {id: 1, config: {num.io.threads: null}}
  delegate_to: localhost

- name: Remove a retention that was set by hand, so that C(server.properties) applies
  millrace.kafka.kafka_broker_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    config: {log.retention.ms: null}
    allow_data_loss: true
  delegate_to: localhost

- name: Remove throttles that were left on a broker
  millrace.kafka.kafka_broker_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    brokers:
      - {id: 2, config: {leader.replication.throttled.rate: null, follower.replication.throttled.rate: null}}
  delegate_to: localhost
"""

RETURN = """
changes:
  description: One line for each change.
  type: list
  elements: str
  returned: always
  sample: ["update settings of all brokers: + num.io.threads: 16"]
cluster_id:
  description: Id of the cluster.
  type: str
  returned: when the cluster answered
  sample: 7wHBT0XWQfCNPKHxMJFAsA
plan:
  description: C(all brokers) and single brokers by what happens to them.
  type: dict
  returned: when the cluster answered
  contains:
    create: {description: Always empty., type: list, elements: str, sample: []}
    update: {description: Different from the declaration., type: list, elements: str, sample: [all brokers]}
    delete: {description: Always empty., type: list, elements: str, sample: []}
    unchanged: {description: As declared., type: list, elements: str, sample: [broker 1]}
    unmanaged:
      description: "Each setting that is on the cluster and not declared."
      type: list
      elements: str
      sample: ["broker 1: num.io.threads"]
outcome:
  description: What was written before a write failed.
  type: dict
  returned: if a write failed
  contains:
    done: {description: Written., type: list, elements: str, sample: [settings of broker 1]}
    failed:
      description: "Not written, or written and the broker stopped, and why."
      type: dict
      sample: {settings of broker 2: no answer in time}
    not_tried: {description: Not started., type: list, elements: str, sample: [settings of broker 3]}
    unknown:
      description: Those of C(failed) that may have been written and could not be read back.
      type: list
      elements: str
      sample: [settings of broker 2]
"""

BROKER: dict[str, Any] = {"id": {"type": "int", "required": True}, "config": {"type": "dict", "default": {}}}


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **WRITES,
            "config": {"type": "dict", "default": {}},
            "brokers": {"type": "list", "elements": "dict", "default": [], "options": BROKER},
            "allow_data_loss": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options: dict[str, Any] = module.params
    ids = [broker["id"] for broker in options["brokers"]]
    if twice := sorted({number for number in ids if ids.count(number) > 1}):
        module.fail_json(msg=f"brokers: {', '.join(map(str, twice))} declared twice; keep one entry for each")
    declared = {ALL: options["config"] or {}, **{str(one["id"]): one["config"] or {} for one in options["brokers"]}}

    def planned(admin: Admin, metadata: Metadata) -> Sequence[Work]:
        plan = broker_control.plan(admin, metadata, declared, options["allow_data_loss"], module.warn)
        return [(plan, lambda changes, look: broker_control.apply(admin, metadata, changes, look))]

    converge(module, "settings of brokers", planned)


if __name__ == "__main__":
    main()
