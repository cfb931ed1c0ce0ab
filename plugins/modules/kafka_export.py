#!/usr/bin/python
"""Exports the topics, users, ACLs, quotas and broker settings of a cluster as variables of an inventory."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import export
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import (
    acls,
    broker_config,
    moves,
    quotas,
    topics,
    users,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask

DOCUMENTATION = """
module: kafka_export
short_description: Export topics, users, ACLs, quotas and broker settings as variables of an inventory
version_added: "1.0.0"
description:
  - Exports the topics, users, ACLs, quotas and dynamic broker settings of a running cluster, as variables with which
    C(playbooks/resources.yml) changes nothing. Use it to adopt a cluster that was set up by other means.
  - A topic is returned with the settings that were set for it, not with the brokers' defaults, and without throttles of
    moving replicas. If its replicas are moving, the number of replicas is the number after the move. A topic whose
    partitions have different numbers of replicas is returned with C(manage=false).
  - Passwords cannot be read; each user refers to an entry of C(vault.passwords).
  - Names may contain anything, also templates; the filter P(millrace.kafka.exported_yaml#filter) writes them so that
    Ansible does not evaluate them.
  - Topics whose name begins with C(_) are internal, and are not exported.
extends_documentation_fragment: [millrace.kafka.kafka_cluster]
attributes:
  check_mode: {description: The module only reads., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_info}
  - {plugin: millrace.kafka.exported_yaml, plugin_type: filter}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Export a cluster
  millrace.kafka.kafka_export:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
  delegate_to: localhost
  register: found

- name: Write the variables beside the other ones, unless the file exists
  ansible.builtin.copy:
    content: "{{ found.variables | millrace.kafka.exported_yaml }}"
    dest: "{{ inventory_dir }}/group_vars/all/resources.yml"
    mode: "0644"
    force: false
  delegate_to: localhost

- name: Show the topics of one project only
  ansible.builtin.debug:
    msg: "{{ found.variables.kafka_topics | selectattr('name', 'match', 'orders-') }}"
"""

RETURN = """
cluster_id: {description: Id of the cluster., type: str, returned: always, sample: 7wHBT0XWQfCNPKHxMJFAsA}
variables:
  description: Variables for an inventory.
  type: dict
  returned: always
  contains:
    kafka_cluster_id: {description: Id of the cluster., type: str, sample: 7wHBT0XWQfCNPKHxMJFAsA}
    kafka_topic_defaults:
      description: "Empty, because each topic has all of its settings."
      type: dict
      sample: {}
    kafka_topics:
      description: Topics.
      type: list
      elements: dict
      sample: [{name: orders, partitions: 12, replication_factor: 3, config: {retention.ms: "604800000"}}]
    kafka_users:
      description: "Users with a password, one entry for each mechanism."
      type: list
      elements: dict
      sample: [{name: orders, password: "{{ vault.passwords.orders }}", mechanism: SCRAM-SHA-512, iterations: 8192}]
    kafka_acls:
      description: "ACLs, each with its operations."
      type: list
      elements: dict
      sample: [{principal: "User:orders", operations: [WRITE], resource: topic, name: orders}]
    kafka_quotas:
      description: "Quotas of users, client ids and pairs."
      type: list
      elements: dict
      sample: [{user: orders, values: {producer_byte_rate: 20971520}}]
    kafka_dynamic_config:
      description: Dynamic settings of all brokers.
      type: dict
      sample: {num.io.threads: "16"}
left_out:
  description: >-
    What the variables do not contain: ACLs of kinds that an inventory cannot declare; dynamic settings of a single
    broker, which belong to C(kafka_dynamic_config_overrides) of its host; throttles; secrets, without their value.
  type: list
  elements: str
  returned: always
  sample: ["broker 1: num.io.threads = 16"]
"""


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(argument_spec=dict(OPTIONS), supports_check_mode=True)

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        names = [name for name in metadata.topics if not name.startswith("_")]
        settings = {
            name: {key: one.value or "" for key, one in found.items() if one.dynamic}
            for name, found in topics.describe(admin, "TOPIC", names).items()
        }
        targets = {place: one.target for place, one in moves.running(admin).items()}
        rights, others = export.acls(acls.found(admin))
        everywhere, own = export.broker_config(broker_config.found(admin, metadata.brokers))
        variables = {
            "kafka_cluster_id": metadata.cluster_id,
            "kafka_topic_defaults": {},
            "kafka_topics": export.topics(export.arrived(metadata.topics, targets), settings),
            "kafka_users": export.users(users.credentials(admin)),
            "kafka_acls": rights,
            "kafka_quotas": export.quotas(quotas.found(admin)),
            "kafka_dynamic_config": everywhere,
        }
        return {"variables": variables, "left_out": [*others, *own]}

    ask(module, "export", answered)


if __name__ == "__main__":
    main()
