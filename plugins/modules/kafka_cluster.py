#!/usr/bin/python
"""Waits until a Kafka cluster is healthy, or describes it."""

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
short_description: Wait until all brokers are registered and all replicas are in sync, or describe the cluster
version_added: "1.0.0"
description:
  - Waits until every declared broker is registered and every partition has all of its replicas in sync; then returns
    facts of the cluster. Changes nothing.
  - A listener that does not answer within 5 s, or a file of its properties that cannot be read, is a problem as well.
  - Runs where confluent-kafka is installed and the listeners can be reached (the control node, or a host of the group
    admin).
options:
  listeners:
    description: >-
      Client properties by name of the listener, with librdkafka's names. Partitions are read through the first one.
    type: dict
    required: true
  brokers: {type: list, elements: int, required: true, description: Ids of the brokers that must be registered.}
  timeout: {type: int, default: 0, description: Seconds to wait until the cluster is healthy; 0 checks once.}
  before:
    description:
      - The value of RV(lacking) before the first restart, or when the run began. The wait ends when the cluster is
        healthy, or when for 30 s (half of a shorter O(timeout)) nothing is missing that was not missing before.
    type: dict
  fail: {type: bool, default: true, description: Fail if the cluster is not healthy; otherwise only describe it.}
  returned:
    description:
      - With O(before), ids of the brokers that were started and must be registered.
      - Without O(before), ids of brokers that may be started; what is missing because of them only is not in
        RV(lacking).
    type: list
    elements: int
    default: []
  sick:
    description: Ids of brokers with a failed disk. Their replicas that are out of sync cause only a warning.
    type: list
    elements: int
    default: []
  throttles: {type: bool, default: false, description: Look for replication throttles although no replica is moved.}
  log_dirs:
    description:
      - Ask each registered broker what its log dirs hold. Replicas that seem to be strays are checked with the
        controller, and again 10 s later.
      - With O(throttles), also look for throttles of copies between log dirs.
    type: bool
    default: false
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_gate}
  - {module: millrace.kafka.kafka_info}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait for the cluster
  millrace.kafka.kafka_cluster:
    listeners: {CLIENT: {bootstrap.servers: "198.18.1.21:9092"}}
    brokers: [1, 2, 3]
    timeout: 120
  delegate_to: localhost

- name: Describe the cluster with its log dirs and left-over throttles, without failing
  millrace.kafka.kafka_cluster:
    listeners: {CLIENT: {bootstrap.servers: "198.18.1.21:9092"}}
    brokers: [1, 2, 3]
    fail: false
    throttles: true
    log_dirs: true
  delegate_to: localhost
  register: cluster

- name: Wait until a restarted broker is back and nothing is missing that was not missing before
  millrace.kafka.kafka_cluster:
    listeners: {CLIENT: {bootstrap.servers: "198.18.1.21:9092"}}
    brokers: [1, 2, 3]
    returned: [2]
    before: "{{ cluster.lacking }}"
    timeout: 300
  delegate_to: localhost
"""

RETURN = """
waiting:
  description: >-
    C(what) the module waits for, its C(timeout) in seconds, and C(waited) for the next call.
  type: dict
  returned: with O(pause), if the wait continues
  sample: {what: [broker 2 is not registered], timeout: 120, waited: {begun: 8123.4}}
brokers:
  description: >-
    By id (a string), each registered broker's C(rack), and C(address:port) by name of listener. The rack is null if the
    broker has none, and C(?) if the broker does not report it.
  type: dict
  returned: always
  sample: {"1": {rack: rack_a, CLIENT: "198.18.1.21:9092"}}
controller: {description: "Id of the controller, -1 without one.", type: int, returned: always, sample: 1}
lacking:
  description: >-
    What keeps the cluster from being healthy, by kind: C(brokers), C(offline) (partitions), and C(under_replicated),
    where each replica is named.
  type: dict
  returned: if the cluster answered
  sample: {brokers: ["2"], offline: [], under_replicated: ["orders-0 on 2"]}
at:
  description: Time of RV(lacking), in seconds since 1970.
  type: float
  returned: with RV(lacking)
  sample: 1790000000.5
problems:
  description: What keeps the cluster from being healthy, as sentences.
  type: list
  elements: str
  returned: always
  sample: [broker 2 is not registered]
offline: {description: Number of partitions without a leader., type: int, returned: always, sample: 0}
alone:
  description: >-
    By id (a string), the partitions without a leader whose last in-sync replica is on that broker only.
  type: dict
  returned: always
  sample: {"2": [orders-0]}
under_replicated:
  description: Number of partitions with a replica out of sync.
  type: int
  returned: always
  sample: 12
out_of_sync:
  description: By id (a string) of a registered broker, the number of its replicas that are out of sync, if not 0.
  type: dict
  returned: always
  sample: {"3": 4}
partitions: {description: Number of partitions., type: int, returned: always, sample: 120}
undeclared:
  description: >-
    By id (a string) of a broker that is not in O(brokers) and is registered or holds replicas, its number of replicas.
  type: dict
  returned: always
  sample: {"9": 0}
leaders:
  description: "By id (a string), number of partitions that the broker leads."
  type: dict
  returned: always
  sample: {"1": 40, "2": 40, "3": 40}
replicas:
  description: "By id (a string), number of replicas that the broker holds."
  type: dict
  returned: always
  sample: {"1": 120, "2": 120, "3": 120}
throttled:
  description: "By id (a string), the bytes per second to which replication is throttled although no replica is moved."
  type: dict
  returned: with O(throttles)
  sample: {"2": "10485760"}
log_dirs:
  description:
    - Each log dir with C(broker), C(path), C(replicas) (their number, without copies in progress), C(bytes) of all
      replicas, C(largest) replica in bytes, C(size) and C(free) bytes of its file system, null if the broker does not
      report them, and C(given_up), whether the broker has taken the log dir offline.
  type: list
  elements: dict
  returned: with O(log_dirs), if the cluster answered
  sample:
    - {broker: 1, path: /data/1, replicas: 40, bytes: 1048576, largest: 65536, size: null, free: null, given_up: false}
silent:
  description: By id (a string) of a broker that did not report its log dirs, the reason.
  type: dict
  returned: with RV(log_dirs)
  sample: {"2": no answer in time}
strays:
  description:
    - "Replicas that do not belong to their broker, by log dir: C(broker), C(path), C(bytes), and C(partitions), each as
      TOPIC-NUMBER. Null if no broker could be asked."
    - They appear when a disk returns that was away while a topic was deleted or moved. Kafka does not delete them.
  type: list
  elements: dict
  returned: with RV(log_dirs)
  sample: [{broker: 1, path: /data/2, bytes: 1024, partitions: [old-0]}]
copies_throttled:
  description: >-
    By id (a string), the bytes per second to which copies between log dirs are throttled although nothing is copied.
  type: dict
  returned: with RV(log_dirs)
  sample: {}
"""


def back(module: AnsibleModule, cluster: Cluster) -> None:
    """Wait until the brokers in `returned` are back and the cluster is as healthy as `before`; end the module.

    `returned` and `before` are options of the module. If the wait continues, the module ends with `waiting`, and its
    action calls it again.
    """
    expected, returned, seconds = (module.params[name] for name in ("brokers", "returned", "timeout"))
    part = Part(module.params["pause"], **module.params["waited"])
    patience = Patience(seconds, min(SAME, seconds / 2), part, at_last=True)
    before, confirm = module.params["before"], partial(confirmed, cluster)
    verdict = after_restart(cluster.state, expected, returned, before, patience, confirm)
    if verdict.rest and not verdict.go:
        module.exit_json(changed=False, waiting=waiting([verdict.why], seconds, **verdict.rest.seen()))
    if not verdict.go:
        text = f"Kafka cluster not healthy after {seconds} s: {verdict.why}; the brokers that were started are not back"
        module.fail_json(
            msg=f"{text}; no other broker was stopped. Look at: journalctl -u kafka on the brokers named",
            lacking=verdict.lacking,
        )
    if verdict.why:
        module.warn(verdict.why)
    module.exit_json(changed=False, lacking=verdict.lacking)


def described(state: State, problems: list[str], expected: Sequence[int] = ()) -> dict[str, Any]:
    """Convert a state of the cluster to the result of the module.

    `problems` are the reasons why the cluster is not healthy; `expected` are the ids of the declared brokers.
    """
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
    """Return {broker: rate} of replication throttles that remain although no replicas are being moved.

    Return {} if a broker does not answer; the module reports this elsewhere.
    """
    try:
        rates = left_behind(next(iter(cluster.clients.values())), state.brokers)
    except AdminError:
        return {}
    return {str(broker): rate for broker, rate in rates.items()}


def look(module: AnsibleModule, cluster: Cluster) -> None:
    """Wait until the cluster is healthy, and end the module with a description of the cluster.

    If the wait continues, the module ends with `waiting`, and its action calls it again.
    """
    sick = module.params["sick"]
    wait = Wait(module.params["timeout"], module.params["pause"], **module.params["waited"])
    state, problems = cluster.wait(module.params["brokers"], wait.part, sick, partial(confirmed, cluster))
    if problems and wait.left() > 0:
        module.exit_json(changed=False, waiting=waiting(problems, wait.timeout, begun=wait.begun))
    if excused := sorted({str(p) for p in state.under_replicated()} - {str(p) for p in state.under_replicated(sick)}):
        module.warn(
            f"{len(excused)} partitions have a replica out of sync because of a failed disk of the brokers {sick} "
            f"({', '.join(excused[:5])}{', ...' if len(excused) > 5 else ''})"
        )
    result = described(state, problems, module.params["brokers"])
    if state.brokers:
        result["lacking"] = lacking(state, module.params["brokers"], module.params["returned"])
        result["at"] = time.time()
    if module.params["throttles"]:
        result["throttled"] = throttled(cluster, state)
    if module.params["log_dirs"] and state.brokers:
        asked = next(iter(cluster.clients.values()))
        result |= log_dir_contents.described(log_dir_contents.look(asked, state, module.params["throttles"]))
    if problems and module.params["fail"]:
        module.fail_json(
            msg=f"Kafka cluster not healthy after {module.params['timeout']} s: {'; '.join(problems)}. No broker was "
            "stopped. Look at: journalctl -u kafka on the brokers named",
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
