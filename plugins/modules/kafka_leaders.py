#!/usr/bin/python
"""Elect the preferred leaders of a Kafka cluster."""

from __future__ import annotations

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections, told
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_leaders
short_description: Have every partition led by its preferred replica, where that one is in sync
description:
  - A restarted broker leads nothing; Kafka gives it its partitions back within
    leader.imbalance.check.interval.seconds, this module at once.
  - A partition whose preferred replica is not in sync keeps its leader. Nothing is copied.
  - Runs where confluent-kafka is installed and the listener can be reached (the control node, or a host of the group
    admin).
options:
  listeners:
    description: >-
      Client properties by name of the listener, under librdkafka's names; the first one is asked. The principal needs
      ALTER on the cluster.
    type: dict
    required: true
  timeout: {type: int, default: 60, description: Seconds until the elected ones lead; after that there is a warning.}
  restarted:
    description:
      - In check mode, ids of brokers that a run would restart. They lead nothing after that, so theirs move as well.
      - A cluster that does not answer is no mistake then; a run would start it.
    type: list
    elements: int
    default: []
attributes:
  check_mode: {description: Says which partitions would move., support: full}
  diff_mode: {description: There is none., support: none}
requirements: [confluent-kafka]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Leaders back where they were
  millrace.kafka.kafka_leaders:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
  delegate_to: localhost
"""

RETURN = """
moved:
  description: "Partitions that their preferred replica leads again, as TOPIC-NUMBER."
  type: list
  elements: str
  returned: success
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
        left = elections.hold(module.params["timeout"])
    except ClusterError as error:
        if module.check_mode and module.params["restarted"]:
            module.exit_json(changed=False, moved=[])
        moved = sorted(elections.moved)
        others = f"{len(moved)} partitions moved, and every other one" if moved else "Every partition"
        words = f"{others} keeps the leader it has; Kafka elects the preferred one by itself in a while"
        module.fail_json(msg=f"{error}. {words}", changed=bool(moved), moved=moved)
    if left:
        module.warn(told(left, elections.refused))
    module.exit_json(changed=bool(elections.moved), moved=sorted(elections.moved))


if __name__ == "__main__":
    main()
