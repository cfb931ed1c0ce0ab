#!/usr/bin/python
"""Returns the brokers, topics, users, ACLs and quotas of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import export
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import acls, quotas, topics, users
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask

DOCUMENTATION = """
module: kafka_info
short_description: Return the brokers, topics, users, ACLs and quotas of a cluster
version_added: "1.0.0"
description:
  - Returns the brokers, topics, users, ACLs and quotas of a running cluster. Changes nothing.
  - M(millrace.kafka.kafka_export) returns them as variables of an inventory; M(millrace.kafka.kafka_groups) returns
    consumer groups.
options:
  gather_subset:
    description: What to return.
    type: list
    elements: str
    choices: [brokers, topics, users, acls, quotas]
    default: [brokers, topics, users, acls, quotas]
extends_documentation_fragment: [millrace.kafka.kafka_cluster]
attributes:
  check_mode: {description: The module only reads., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, "kafka-python (for C(quotas))"]
seealso:
  - {module: millrace.kafka.kafka_export}
  - {module: millrace.kafka.kafka_groups}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Get the leaders and replicas of all topics
  millrace.kafka.kafka_info:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    gather_subset: [topics]
  delegate_to: localhost
  register: found

- name: Get users and ACLs, from the expected cluster only
  millrace.kafka.kafka_info:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    cluster_id: 7wHBT0XWQfCNPKHxMJFAsA
    gather_subset: [users, acls]
  delegate_to: localhost
"""

RETURN = """
cluster_id: {description: Id of the cluster., type: str, returned: always, sample: 7wHBT0XWQfCNPKHxMJFAsA}
controller: {description: "Id of the controller, -1 without one.", type: int, returned: always, sample: 1}
brokers:
  description: "Each with C(id), C(host) and C(port) of the listener used by this module, and C(rack)."
  type: list
  elements: dict
  returned: if selected
  sample: [{id: 1, host: 198.18.2.21, port: 9093, rack: rack_a}]
topics:
  description: "Each with C(name), C(partitions) (C(leader), C(replicas), C(isr)), and C(config), its own settings."
  type: list
  elements: dict
  returned: if selected
  sample: [{name: orders, partitions: [{leader: 1, replicas: [1, 2], isr: [1, 2]}], config: {retention.ms: "60000"}}]
users:
  description: "Hash iterations by user and mechanism."
  type: dict
  returned: if selected
  sample: {orders: {SCRAM-SHA-512: 8192}}
acls:
  description: One line for each ACL.
  type: list
  elements: str
  returned: if selected
  sample: ["User:orders from * may WRITE topic orders (literal)"]
quotas:
  description: "Quotas, as in C(kafka_quotas)."
  type: list
  elements: dict
  returned: if selected
  sample: [{user: orders, values: {producer_byte_rate: 20971520}}]
"""


def of_brokers(admin: Admin, metadata: Metadata) -> list[dict[str, Any]]:
    """Return the registered brokers, as dicts {id, host, port, rack}."""
    racks = topics.racks(admin, metadata.brokers)
    return [
        {"id": one, "host": host, "port": port, "rack": racks.get(one)}
        for one, (host, port) in sorted(metadata.brokers.items())
    ]


def of_topics(admin: Admin, metadata: Metadata) -> list[dict[str, Any]]:
    """Return all topics, also internal ones, as dicts {name, partitions, config}; `config` are their own settings."""
    settings = topics.describe(admin, "TOPIC", sorted(metadata.topics))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sorted(metadata.topics)}
    for one in metadata.partitions:
        found[one.topic].append({"leader": one.leader, "replicas": list(one.replicas), "isr": list(one.isr)})
    return [
        {
            "name": name,
            "partitions": partitions,
            "config": {key: one.value for key, one in sorted(settings.get(name, {}).items()) if one.dynamic},
        }
        for name, partitions in found.items()
    ]


def of_quotas(admin: Admin, _: Metadata) -> list[dict[str, Any]]:
    """Return the quotas, as entries of kafka_quotas."""
    return export.quotas(quotas.found(admin))


SUBSETS: dict[str, Callable[[Admin, Metadata], Any]] = {
    "brokers": of_brokers,
    "topics": of_topics,
    "users": lambda admin, _: users.credentials(admin),
    "acls": lambda admin, _: sorted(str(one) for one in acls.found(admin)),
    "quotas": of_quotas,
}


def main() -> None:
    """Run as an Ansible module."""
    subset = {"type": "list", "elements": "str", "choices": list(SUBSETS), "default": list(SUBSETS)}
    module = KafkaModule(argument_spec={**OPTIONS, "gather_subset": subset}, supports_check_mode=True)

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        found = {name: SUBSETS[name](admin, metadata) for name in module.params["gather_subset"]}
        return {"controller": metadata.controller, **found}

    ask(module, "info", answered)


if __name__ == "__main__":
    main()
