#!/usr/bin/python
"""Elects the preferred leaders of a Kafka cluster."""

from __future__ import annotations

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections, not_elected
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_leaders
short_description: Elect the preferred leader of every partition whose preferred replica is in sync
version_added: "1.0.0"
description:
  - Elects the preferred leaders of all partitions. A restarted broker leads nothing; Kafka returns the leadership to it
    within C(leader.imbalance.check.interval.seconds), this module at once.
  - A partition whose preferred replica is not in sync keeps its leader. No data is copied.
  - Runs where confluent-kafka is installed and the listener can be reached (the control node, or a host of the group
    admin).
options:
  listeners:
    description: >-
      Client properties by name of the listener, with librdkafka's names; the first one is used. The principal needs
      ALTER on the cluster.
    type: dict
    required: true
  timeout:
    description: Seconds to wait until the preferred replicas lead. After that, the module warns.
    type: int
    default: 60
  restarted:
    description:
      - In check mode, ids of brokers that a real run would restart. They would lead nothing after that, so their
        partitions are reported as well.
      - With this option, a cluster that does not answer is not an error in check mode, since a real run would start it.
    type: list
    elements: int
    default: []
attributes:
  check_mode: {description: Reports which partitions would get another leader., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka]
seealso:
  - {module: millrace.kafka.kafka_gate}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Elect the preferred leaders
  millrace.kafka.kafka_leaders:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
  delegate_to: localhost

- name: Show which partitions would change their leader after a restart of broker 2
  millrace.kafka.kafka_leaders:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
    restarted: [2]
  check_mode: true
  delegate_to: localhost
"""

RETURN = """
moved:
  description: "Partitions that their preferred replica leads again, as TOPIC-NUMBER."
  type: list
  elements: str
  returned: success
  sample: [orders-0, orders-3]
"""


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            "listeners": {"type": "dict", "required": True},
            "timeout": {"type": "int", "default": 60},
            "restarted": {"type": "list", "elements": "int", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        cluster = Cluster(module.params["listeners"])
    except ImportError:
        module.fail_json(msg=missing_required_lib("confluent-kafka"))
    except ClientError as error:
        module.fail_json(msg=str(error))
    elections = Elections(cluster)
    try:
        if module.check_mode:
            moved = [*map(str, cluster.state().to_elect(module.params["restarted"]))]
            module.exit_json(changed=bool(moved), moved=moved)
        left = elections.elect(module.params["timeout"])
    except ClusterError as error:
        if module.check_mode and module.params["restarted"]:
            module.exit_json(changed=False, moved=[])
        moved = sorted(elections.moved)
        others = f"{len(moved)} partitions moved, all others keep" if moved else "All partitions keep"
        text = f"{others} their leader; Kafka elects the preferred leaders by itself later, or run this again"
        module.fail_json(msg=f"{error}. {text}", changed=bool(moved), moved=moved)
    if left:
        module.warn(not_elected(left, elections.refused))
    module.exit_json(changed=bool(elections.moved), moved=sorted(elections.moved))


if __name__ == "__main__":
    main()
