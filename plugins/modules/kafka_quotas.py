#!/usr/bin/python
"""Creates, changes and deletes the client quotas of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import access_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import PRUNE, WRITES, Work, converge
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_quotas
short_description: Create, change and delete client quotas of a cluster
version_added: "1.0.0"
description:
  - Creates, changes and deletes client quotas, all in one request. The declared values replace all values of an entity.
    Entities that are not named are not changed, unless O(prune) includes them.
  - "Rejects, together with all other mistakes: values that are not numbers above 0; an entity that is declared twice."
options:
  quotas:
    description: Quotas of users, of client ids, and of pairs of both.
    type: list
    elements: dict
    default: []
    suboptions:
      user: {type: str, description: Name of the user. An empty string is the default of all users.}
      client_id: {type: str, description: Client id. An empty string is the default of all client ids.}
      values:
        description: >-
          Values with Kafka's names: C(producer_byte_rate) and C(consumer_byte_rate) in bytes per second and broker,
          C(request_percentage), C(controller_mutation_rate) in partitions per second.
        type: dict
        default: {}
      state: {type: str, choices: [present, absent], default: present, description: Whether the quota exists.}
      every_client:
        description: >-
          With C(state=absent), also delete the quotas of this user with any client id, except those that other entries
          declare.
        type: bool
        default: false
extends_documentation_fragment:
  - millrace.kafka.kafka_cluster
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
  - millrace.kafka.kafka_prune
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Allow 20 MiB per second and broker for one user, 1 MiB for all others
  millrace.kafka.kafka_quotas:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    quotas:
      - {user: orders, values: {producer_byte_rate: 20971520}}
      - {user: "", values: {producer_byte_rate: 1048576}}
  delegate_to: localhost

- name: Delete all quotas of a user, those with a client id included
  millrace.kafka.kafka_quotas:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    quotas: [{user: orders, state: absent, every_client: true}]
  delegate_to: localhost

- name: Delete the quotas of a project that are not declared, at most 5
  millrace.kafka.kafka_quotas:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    prune: {quotas: ["orders-*"], max_deletes: 5}
  delegate_to: localhost
"""

RETURN = """
changes:
  description: One line for each change.
  type: list
  elements: str
  returned: always
  sample: ["create quota user orders: + producer_byte_rate: 20971520 (20 MiB)"]
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
    create: {description: Missing on the cluster., type: list, elements: str, sample: [user orders]}
    update: {description: Different from the declaration., type: list, elements: str, sample: []}
    delete: {description: "Declared absent, or pruned.", type: list, elements: str, sample: []}
    unchanged: {description: As declared., type: list, elements: str, sample: [default user]}
    unmanaged: {description: On the cluster but not declared., type: list, elements: str, sample: []}
outcome:
  description: What was written before a write failed. Each change is named by kind and name.
  type: dict
  returned: if a write failed
  contains:
    done: {description: Written., type: list, elements: str, sample: [quota user orders]}
    failed: {description: "Not written, and why.", type: dict, sample: {quota default user: no answer in time}}
    not_tried: {description: Not started., type: list, elements: str, sample: []}
    unknown:
      description: Those of C(failed) that may have been written and could not be read back.
      type: list
      elements: str
      sample: [quota default user]
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
