#!/usr/bin/python
"""Gather facts of a Kafka cluster."""

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
short_description: Gather facts of a cluster
description:
  - Returns brokers, topics, users, ACLs and quotas as the cluster has them. In the words of an inventory,
    M(millrace.kafka.kafka_export) returns them; consumer groups are those of M(millrace.kafka.kafka_groups).
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  cluster_id:
    description: Id of the cluster that is meant; one with another is refused. Not compared where it is empty.
    type: str
    default: ""
  gather_subset:
    description: What is asked for.
    type: list
    elements: str
    choices: [brokers, topics, users, acls, quotas]
    default: [brokers, topics, users, acls, quotas]
attributes:
  check_mode: {description: Reads only., support: full}
  diff_mode: {description: Changes nothing., support: none}
requirements: [confluent-kafka, "kafka-python (C(quotas))"]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Who leads what
  millrace.kafka.kafka_info:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    gather_subset: [topics]
  delegate_to: localhost
  register: found
"""

RETURN = """
cluster_id: {description: Id of the cluster that answered., type: str, returned: always}
controller: {description: "Id of the broker that is it, -1 where there is none.", type: int, returned: always}
brokers:
  description: "Each with C(id), C(host) and C(port) of the listener that was asked, and C(rack)."
  type: list
  elements: dict
  returned: where asked for
topics:
  description: "Each with C(name), C(partitions) (C(leader), C(replicas), C(isr)), and C(config), what was set for it."
  type: list
  elements: dict
  returned: where asked for
users: {description: "Iterations by user and mechanism.", type: dict, returned: where asked for}
acls: {description: One line for each., type: list, elements: str, returned: where asked for}
quotas: {description: "As in C(kafka_quotas).", type: list, elements: dict, returned: where asked for}
"""


def of_brokers(admin: Admin, metadata: Metadata) -> list[dict[str, Any]]:
    """Return the brokers that are there."""
    racks = topics.racks(admin, metadata.brokers)
    return [
        {"id": one, "host": host, "port": port, "rack": racks.get(one)}
        for one, (host, port) in sorted(metadata.brokers.items())
    ]


def of_topics(admin: Admin, metadata: Metadata) -> list[dict[str, Any]]:
    """Return all topics, the cluster's own among them."""
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
    """Return the quotas."""
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
