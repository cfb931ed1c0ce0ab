#!/usr/bin/python
"""Wait until a Kafka cluster is whole, or describe it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import log_dir_contents
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_views import confirmed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.throttles import left_behind
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_waits import SAME, after_restart, lacking
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Part, Patience, Wait, waiting

DOCUMENTATION = """
module: kafka_cluster
short_description: Wait until every declared broker is registered and every ISR is full; changes nothing
description:
  - Runs where confluent-kafka is installed and the listeners can be reached (the control node, or a host of the group
    admin).
  - A listener that does not answer within 5 s, or a file of its properties that cannot be read, is a problem as well.
options:
  listeners:
    description: >-
      Client properties by name of the listener, under librdkafka's names; the first one answers for the partitions.
    type: dict
    required: true
  brokers: {type: list, elements: int, required: true, description: Ids that must be registered.}
  timeout: {type: int, default: 0, description: Seconds until it has to be whole; 0 asks once.}
  before:
    description:
      - What C(lacking) was before the first restart, or when the run began. The cluster is back where it is whole, or
        for 30 s (for half of a shorter I(timeout)) lacks nothing more.
    type: dict
  fail: {type: bool, default: true, description: Fail when the cluster is not whole; otherwise only describe it.}
  returned:
    description:
      - With I(before), ids of the brokers that were started and must be registered.
      - Without I(before), ids of those that may be started; what C(lacking) is by them alone is not counted.
    type: list
    elements: int
    default: []
  sick:
    description: Ids of brokers with a disk that failed. That they are in fewer ISRs is a warning.
    type: list
    elements: int
    default: []
  throttles: {type: bool, default: false, description: Look for limits that somebody left who moved replicas.}
  log_dirs:
    description:
      - Ask each registered broker what its log dirs hold, and the controller about what looks left behind there; that
        is asked again 10 s later.
      - With I(throttles) also look for limits of copies between log dirs.
    type: bool
    default: false
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: The same as without., support: full}
  diff_mode: {description: There is none., support: none}
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait for the cluster
  millrace.kafka.kafka_cluster:
    listeners: {CLIENT: {bootstrap.servers: "198.18.1.21:9092"}}
    brokers: [1, 2, 3]
    timeout: 120
  delegate_to: localhost
"""

RETURN = """
waiting:
  description: >-
    C(what) keeps the wait going, its C(timeout) (seconds), and C(waited) for the next call.
  type: dict
  returned: with pause, where the wait goes on
brokers:
  description: >-
    By id (a text), each registered broker's C(rack), null where it did not say, and C(address:port) by name of the
    listener.
  type: dict
  returned: always
controller: {description: "Id of the controller, -1 where there is none.", type: int, returned: always}
lacking:
  description: >-
    What is not whole, by kind, C(brokers), C(offline) and C(under_replicated), of which each replica is named.
  type: dict
  returned: where the cluster answered
at: {description: When that was seen (seconds since 1970)., type: float, returned: with lacking}
problems: {description: What keeps the cluster from being whole., type: list, elements: str, returned: always}
offline: {description: Number of partitions without a leader., type: int, returned: always}
alone:
  description: By id (a text), the partitions without a leader with which that broker alone was in sync at last.
  type: dict
  returned: always
under_replicated: {description: Number of partitions with a replica out of sync., type: int, returned: always}
out_of_sync:
  description: By id (a text) of registered brokers, how many of their replicas are out of sync; others are left out.
  type: dict
  returned: always
partitions: {description: Number of partitions., type: int, returned: always}
undeclared:
  description: >-
    By id (a text), number of replicas of those brokers that are not in I(brokers), and are registered or hold some.
  type: dict
  returned: always
leaders: {description: "By id (a text), number of partitions that the broker leads.", type: dict, returned: always}
replicas: {description: "By id (a text), number of replicas that the broker holds.", type: dict, returned: always}
throttled:
  description: "By id (a text), bytes a second that a broker still sends or takes, though no replica is being moved."
  type: dict
  returned: with throttles
log_dirs:
  description:
    - "Of each log dir C(broker), C(path), C(replicas) (number, without copies on their way there), C(bytes) that they
      have, C(largest) of them, C(size) and C(free) bytes of its file system, null where the broker does not tell, and
      C(given_up), whether the broker serves nothing from it."
  type: list
  elements: dict
  returned: with I(log_dirs), where the cluster answered
silent:
  description: By id (a text) of brokers that did not tell what their log dirs hold, why.
  type: dict
  returned: with C(log_dirs)
strays:
  description:
    - "Replicas that are not their broker's, by log dir: C(broker), C(path), C(bytes), and C(partitions), each as
      TOPIC-NUMBER. Null where nobody could be asked for them."
    - A disk that was away while a topic was deleted or moved brings them back. Kafka does not delete them.
  type: list
  elements: dict
  returned: with C(log_dirs)
copies_throttled:
  description: By id (a text), bytes a second that a broker may copy between its log dirs, though nothing is copied.
  type: dict
  returned: with C(log_dirs)
"""


def back(module: AnsibleModule, cluster: Cluster) -> None:
    """Answer whether the cluster is as good as before; ends the module."""
    expected, returned, seconds = (module.params[name] for name in ("brokers", "returned", "timeout"))
    part = Part(module.params["pause"], **module.params["waited"])
    patience = Patience(seconds, min(SAME, seconds / 2), part, at_last=True)
    before, confirm = module.params["before"], partial(confirmed, cluster)
    verdict = after_restart(cluster.state, expected, returned, before, patience, confirm)
    if verdict.rest and not verdict.go:
        module.exit_json(changed=False, waiting=waiting([verdict.why], seconds, **verdict.rest.seen()))
    if not verdict.go:
        words = f"Kafka cluster not whole after {seconds} s: {verdict.why}; what this run started is not back"
        module.fail_json(
            msg=f"{words}; no other was stopped. Look at: journalctl -u kafka on the brokers named",
            lacking=verdict.lacking,
        )
    if verdict.why:
        module.warn(verdict.why)
    module.exit_json(changed=False, lacking=verdict.lacking)


def described(state: State, problems: list[str], expected: Sequence[int] = ()) -> dict[str, Any]:
    """Return a state as the module answers it."""
    return {
        "brokers": {str(broker): dict(facts) for broker, facts in state.brokers.items()},
        "controller": state.controller,
        "problems": problems,
        "offline": len(state.offline()),
        "alone": {str(broker): names for broker, names in state.alone().items()},
        "under_replicated": len(state.under_replicated()),
        "out_of_sync": {str(broker): count for broker, count in state.out_of_sync().items()},
        "partitions": len(state.partitions),
        "leaders": {str(broker): count for broker, count in state.leaders().items()},
        "replicas": {str(broker): count for broker, count in state.replicas().items()},
        "undeclared": {str(broker): count for broker, count in state.undeclared(expected).items()},
    }


def throttled(cluster: Cluster, state: State) -> dict[str, str]:
    """Return what limits replication though nothing moves; who does not answer has said so elsewhere."""
    try:
        found = left_behind(next(iter(cluster.clients.values())), state.brokers)
    except AdminError:
        return {}
    return {str(broker): rate for broker, rate in found.items()}


def look(module: AnsibleModule, cluster: Cluster) -> None:
    """Wait until the cluster is whole, and describe it; ends the module."""
    sick = module.params["sick"]
    wait = Wait(module.params["timeout"], module.params["pause"], **module.params["waited"])
    state, found = cluster.wait(module.params["brokers"], wait.part, sick, partial(confirmed, cluster))
    if found and wait.left() > 0:
        module.exit_json(changed=False, waiting=waiting(found, wait.timeout, begun=wait.begun))
    if excused := sorted({str(p) for p in state.under_replicated()} - {str(p) for p in state.under_replicated(sick)}):
        module.warn(
            f"{len(excused)} partitions lack a replica on a disk that failed, of the brokers {sick} "
            f"({', '.join(excused[:5])}{', ...' if len(excused) > 5 else ''})"
        )
    result = described(state, found, module.params["brokers"])
    if state.brokers:
        result["lacking"] = lacking(state, module.params["brokers"], module.params["returned"])
        result["at"] = time.time()
    if module.params["throttles"]:
        result["throttled"] = throttled(cluster, state)
    if module.params["log_dirs"] and state.brokers:
        asked = next(iter(cluster.clients.values()))
        result |= log_dir_contents.described(log_dir_contents.look(asked, state, module.params["throttles"]))
    if found and module.params["fail"]:
        module.fail_json(
            msg=f"Kafka cluster not whole after {module.params['timeout']} s: {'; '.join(found)}. No "
            "broker was stopped. "
            "Look at: journalctl -u kafka on the brokers named",
            **result,
        )
    module.exit_json(changed=False, **result)


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            "listeners": {"type": "dict", "required": True},
            "brokers": {"type": "list", "elements": "int", "required": True},
            "timeout": {"type": "int", "default": 0},
            "fail": {"type": "bool", "default": True},
            "returned": {"type": "list", "elements": "int", "default": []},
            "sick": {"type": "list", "elements": "int", "default": []},
            "before": {"type": "dict"},
            "throttles": {"type": "bool", "default": False},
            "log_dirs": {"type": "bool", "default": False},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    try:
        cluster = Cluster(module.params["listeners"])
        if module.params["before"]:
            back(module, cluster)
        look(module, cluster)
    except ImportError as error:
        module.fail_json(msg=missing_required_lib(error.name or "confluent-kafka"))
    except ClientError as error:
        if module.params["fail"]:
            module.fail_json(msg=str(error), problems=[str(error)])
        module.exit_json(changed=False, **described(State(), [str(error)]))


if __name__ == "__main__":
    main()
