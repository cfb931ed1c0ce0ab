#!/usr/bin/python
"""Converge the client quotas of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import access_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import PRUNE, WRITES, Work, converge
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_quotas
short_description: Converge client quotas of a cluster in one request
description:
  - What is declared of an entity is all that it has; values that are not declared are taken away. Entities that are not
    named are left alone, but for what I(prune) says.
  - "Refused, with everything else that is wrong: values that are no numbers above 0; an entity that is named twice."
options:
  quotas:
    description: Quotas of users, of client ids, and of pairs of both.
    type: list
    elements: dict
    default: []
    suboptions:
      user: {type: str, description: "Name of the user; empty: the default of all users."}
      client_id: {type: str, description: "The client id; empty: the default of all."}
      values:
        description: >-
          By Kafka's names: C(producer_byte_rate) and C(consumer_byte_rate) in bytes per second and broker,
          C(request_percentage), C(controller_mutation_rate) in partitions per second.
        type: dict
        default: {}
      state: {type: str, choices: [present, absent], default: present, description: Whether there are any.}
      every_client:
        description: >-
          The user is gone: its own quota goes, and those with each client id, but for what other entries say.
        type: bool
        default: false
extends_documentation_fragment:
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
  - millrace.kafka.kafka_prune
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: 20 MiB per second and broker for one user, 1 MiB for all others
  millrace.kafka.kafka_quotas:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    quotas:
      - {user: orders, values: {producer_byte_rate: 20971520}}
      - {user: "", values: {producer_byte_rate: 1048576}}
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

QUOTA: dict[str, Any] = {
    "user": {"type": "str"},
    "client_id": {"type": "str"},
    "values": {"type": "dict", "default": {}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "every_client": {"type": "bool", "default": False},
}


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **WRITES,
            "quotas": {"type": "list", "elements": "dict", "default": [], "options": QUOTA},
            "prune": PRUNE,
        },
        supports_check_mode=True,
    )

    def planned(admin: Admin, _: Metadata) -> Sequence[Work]:
        plan = access_control.plan_quotas(admin, module.params["quotas"], module.params["prune"])
        return [(plan, lambda changes, look: access_control.write_quotas(admin, changes, look))]

    converge(module, "quotas", planned)


if __name__ == "__main__":
    main()
