#!/usr/bin/python
"""Say what lives on a Kafka cluster in the words of an inventory."""

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
short_description: Say what lives on a cluster in the words of an inventory
description:
  - Reads topics, users, ACLs, quotas and settings of running brokers, and returns them as variables with which
    C(playbooks/resources.yml) changes nothing. It is the way in for a cluster that was set up by other means.
  - Of topics, what was set for each of them is returned, not what brokers have by default, and nothing that throttles
    moving replicas; of those that move, as many replicas as they are to have in the end. One whose partitions differ in
    replicas is returned with C(manage=false).
  - Passwords cannot be read; users name one of C(vault.passwords) each.
  - Names may be anything, templates too; the filter P(millrace.kafka.exported_yaml#filter) writes them so that they are
    none.
  - Topics whose name begins with C(_) are the cluster's own, and are left out.
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  cluster_id:
    description: Id of the cluster that is meant; one with another is refused. Not compared where it is empty.
    type: str
    default: ""
attributes:
  check_mode: {description: Reads only., support: full}
  diff_mode: {description: Changes nothing., support: none}
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Read what there is
  millrace.kafka.kafka_export:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
  delegate_to: localhost
  register: found

- name: Write it beside the other variables
  ansible.builtin.copy:
    content: "{{ found.variables | millrace.kafka.exported_yaml }}"
    dest: "{{ inventory_dir }}/group_vars/all/resources.yml"
    mode: "0644"
    force: false
  delegate_to: localhost
"""

RETURN = """
cluster_id: {description: Id of the cluster that answered., type: str, returned: always}
variables:
  description: What there is.
  type: dict
  returned: always
  contains:
    kafka_cluster_id: {description: The cluster's id., type: str}
    kafka_topic_defaults: {description: "Empty, for each topic says all.", type: dict}
    kafka_topics: {description: Topics., type: list, elements: dict}
    kafka_users: {description: "Users with a password, one entry for each mechanism.", type: list, elements: dict}
    kafka_acls: {description: "ACLs, literal, each with its operations.", type: list, elements: dict}
    kafka_quotas: {description: "Quotas of users, client ids and pairs.", type: list, elements: dict}
    kafka_dynamic_config: {description: What was set for all brokers while they ran., type: dict}
left_out:
  description: >-
    What stays as it is: ACLs of kinds that an inventory cannot declare, and what was set for a single broker, which is
    for C(kafka_dynamic_config_overrides) of its host; throttles; secrets, without
    their value.
  type: list
  elements: str
  returned: always
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
