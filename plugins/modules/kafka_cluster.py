#!/usr/bin/python
"""Wait until a Kafka cluster is whole, or describe it."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.millrace.cluster import Cluster

DOCUMENTATION = """
module: kafka_cluster
short_description: Wait until every declared broker is registered and every ISR is full; changes nothing
description:
  - Runs where confluent-kafka is installed and the listeners can be reached (the control node, or a host of the group admin).
options:
  listeners:
    description: Client properties per listener; the first one answers for the partitions.
    type: dict
    required: true
  brokers: {type: list, elements: int, required: true, description: Ids that must be registered.}
  timeout: {type: int, default: 0, description: Seconds; 0 asks once.}
  fail: {type: bool, default: true, description: Fail when the cluster is not whole; otherwise only describe it.}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait for the cluster
  kafka_cluster:
    listeners: {CLIENT: {bootstrap.servers: "198.18.1.21:9092"}}
    brokers: [1, 2, 3]
    timeout: 120
  delegate_to: localhost
"""

RETURN = """
brokers: {description: Rack and endpoints of each registered broker., type: dict, returned: always}
controller: {description: Id of the controller or -1., type: int, returned: always}
problems: {description: What keeps the cluster from being whole., type: list, elements: str, returned: always}
offline: {description: Number of partitions without a leader., type: int, returned: always}
under_replicated: {description: Number of partitions with a replica out of sync., type: int, returned: always}
partitions: {description: Number of partitions., type: int, returned: always}
leaders: {description: Partitions led by each broker., type: dict, returned: always}
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "listeners": {"type": "dict", "required": True},
            "brokers": {"type": "list", "elements": "int", "required": True},
            "timeout": {"type": "int", "default": 0},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    try:
        cluster = Cluster(module.params["listeners"])
    except ImportError:
        module.fail_json(msg=missing_required_lib("confluent-kafka"))
    state, found = cluster.wait(module.params["brokers"], module.params["timeout"])
    result = {
        "brokers": {str(broker): dict(facts) for broker, facts in state.brokers.items()},
        "controller": state.controller,
        "problems": found,
        "offline": len(state.offline()),
        "under_replicated": len(state.under_replicated()),
        "partitions": len(state.partitions),
        "leaders": {str(broker): count for broker, count in state.leaders().items()},
    }
    if found and module.params["fail"]:
        module.fail_json(
            msg=f"Kafka cluster not whole after {module.params['timeout']} s: {'; '.join(found)}. No broker was stopped. "
            "Look at: journalctl -u kafka on the brokers named",
            **result,
        )
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
