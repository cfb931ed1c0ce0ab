#!/usr/bin/python
"""Converge settings of running brokers."""

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
short_description: Converge dynamic settings of brokers
description:
  - Sets what brokers take while they run, for all of them and for single ones, without a restart. What is set here goes
    before C(server.properties), and what is set for one broker before what is set for all.
  - A setting that is null is taken back. What was set and is not named is left, and returned as C(unmanaged), throttles
    of moving replicas and settings that nobody knows among it.
  - Each broker judges beforehand what it would get, for a number can fit the one and not the other. A setting is done
    when each broker has taken it and goes on; a broker that a setting ended is a failure.
  - What is for all brokers, one takes first, as its own, one that is not the controller; where it goes on with it, all
    get it, and that one no longer has it of its own. Not tried so is what is taken back, and what each broker has of
    its own.
  - "Refused, with everything else that is wrong: a setting that brokers do not know, or read at their start alone; a
    secret, for nobody could compare it; settings of a broker that is not there; values that Kafka takes and no cluster
    stands, as C(max.connections) 0; what decides which records are lost, without I(allow_data_loss), also where it is
    set and would be taken back, for what C(server.properties) says holds then."
  - A C(message.max.bytes) that is lower than brokers have it is a warning.
options:
  config:
    description: >-
      Settings of all brokers, under Kafka's names and in Kafka's units. Those that Kafka calls cluster-wide or
      per-broker can be set.
    type: dict
    default: {}
  brokers:
    description: Settings of single brokers.
    type: list
    elements: dict
    default: []
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      config: {type: dict, default: {}, description: "Its own settings, as I(config)."}
  allow_data_loss:
    description: >-
      Settings are taken, and taken back, that decide which records are lost: retention, C(log.cleanup.policy),
      C(min.insync.replicas) and their like.
    type: bool
    default: false
extends_documentation_fragment: [millrace.kafka.kafka_resources, millrace.kafka.kafka_writes]
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: More threads for all brokers, and none of its own for the first
  millrace.kafka.kafka_broker_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    config: {num.io.threads: 16}
    brokers:
      - {id: 1, config: {num.io.threads: null}}
  delegate_to: localhost

- name: Take back a retention that was set by hand, once C(server.properties) of each broker says it
  millrace.kafka.kafka_broker_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    config: {log.retention.ms: null}
    allow_data_loss: true
  delegate_to: localhost

- name: Take back a throttle that was forgotten
  millrace.kafka.kafka_broker_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    brokers:
      - {id: 2, config: {leader.replication.throttled.rate: null, follower.replication.throttled.rate: null}}
  delegate_to: localhost
"""

RETURN = """
changes: {description: One line per change., type: list, elements: str, returned: always}
cluster_id: {description: Id of the cluster that answered., type: str, returned: when it answered}
plan:
  description: C(all brokers) and single ones by what happens to them.
  type: dict
  returned: when it answered
  contains:
    create: {description: "Always empty, for brokers are there.", type: list, elements: str}
    update: {description: Whose settings are otherwise than declared., type: list, elements: str}
    delete: {description: Always empty., type: list, elements: str}
    unchanged: {description: Whose settings are as declared., type: list, elements: str}
    unmanaged:
      description: "Each setting that was set and is not named, as C(broker 1: num.io.threads)."
      type: list
      elements: str
outcome:
  description: What became of the changes, each as C(settings of broker 1).
  type: dict
  returned: where writing failed
  contains:
    done: {description: What was written., type: list, elements: str}
    failed: {description: "What was not, or ended a broker, and why.", type: dict}
    not_tried: {description: What was not begun., type: list, elements: str}
    unknown:
      description: What of C(failed) may have been done all the same, and could not be read back.
      type: list
      elements: str
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
    said: dict[str, Any] = module.params
    ids = [broker["id"] for broker in said["brokers"]]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        module.fail_json(msg=f"brokers: {', '.join(map(str, twice))} named twice; keep one entry for each")
    wanted = {ALL: said["config"] or {}, **{str(one["id"]): one["config"] or {} for one in said["brokers"]}}

    def planned(admin: Admin, metadata: Metadata) -> Sequence[Work]:
        plan = broker_control.plan(admin, metadata, wanted, said["allow_data_loss"], module.warn)
        return [(plan, lambda changes, look: broker_control.apply(admin, metadata, changes, look))]

    converge(module, "settings of brokers", planned)


if __name__ == "__main__":
    main()
