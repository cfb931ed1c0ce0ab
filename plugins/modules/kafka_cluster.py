#!/usr/bin/python
"""Wait until a Kafka cluster is whole, or describe it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart import (
    Part,
    after_restart,
    before_restart,
    lacking,
)
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Wait, waiting

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
  restart:
    description:
      - Id of a broker that is about to be restarted, or, with I(before), was. Then the question is whether it may be,
        or is back.
      - It may be stopped where the cluster is whole; or where it has not been for 30 s (for half of a shorter
        I(timeout)), and no partition would lose by it, because those that it is in sync with have all others in sync as
        well, or are offline, or are reached by nobody since it is registered at an address that is none of
        I(endpoints) and does not answer.
    type: int
  endpoints: {type: list, elements: str, default: [], description: "Its own, each C(LISTENER://address:port)."}
  before:
    description:
      - What C(lacking) was before. It is back where the cluster is whole, or for 30 s lacks nothing more.
      - "Without I(restart): after several restarts, what it was before the first, or when the run began."
    type: dict
  fail: {type: bool, default: true, description: Fail when the cluster is not whole; otherwise only describe it.}
  returned:
    description:
      - With I(before) and without I(restart), ids of the brokers that were started and must be registered.
      - Without I(before), ids of those that may be started; what C(lacking) is by them alone is not counted.
    type: list
    elements: int
    default: []
  sick:
    description: Ids of brokers with a disk that failed. That they are in fewer ISRs is a warning.
    type: list
    elements: int
    default: []
  pause:
    description: >-
      The action of the same name gives it, and I(waited), to say each 10 s what is waited for. Seconds after which the
      module returns C(waiting), where the wait goes on; 0 waits to the end.
    type: int
    default: 0
  waited: {type: dict, default: {}, description: "With I(pause), what C(waiting.waited) of the call before was."}
attributes:
  check_mode: {description: The same as without., support: full}
  diff_mode: {description: There is none., support: none}
requirements: [confluent-kafka]
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
  returned: with restart, and where the cluster answered
problems: {description: What keeps the cluster from being whole., type: list, elements: str, returned: always}
offline: {description: Number of partitions without a leader., type: int, returned: always}
under_replicated: {description: Number of partitions with a replica out of sync., type: int, returned: always}
partitions: {description: Number of partitions., type: int, returned: always}
leaders: {description: "By id (a text), number of partitions that the broker leads.", type: dict, returned: always}
"""


def gate(module: AnsibleModule, cluster: Cluster) -> None:
    """Answer whether a broker may be stopped, or is back; ends the module."""
    expected, broker, before = (module.params[name] for name in ("brokers", "restart", "before"))
    seconds = module.params["timeout"]
    patience, part = min(30.0, seconds / 2), Part(module.params["pause"], **module.params["waited"])
    if before is None:
        verdict = before_restart(cluster.state, expected, broker, module.params["endpoints"], seconds, patience, part)
        failed = f"broker {broker} was not stopped, for partitions would lose by it"
    else:
        returned = module.params["returned"] if broker is None else [broker]
        verdict = after_restart(cluster.state, expected, returned, before, seconds, patience, part)
        who = "what this run started" if broker is None else f"broker {broker} was restarted and"
        failed = f"{who} is not back; no other was stopped"
    if verdict.rest:
        seen = {name: value for name, value in asdict(verdict.rest).items() if name != "pause"}
        module.exit_json(changed=False, waiting=waiting([verdict.why], seconds, **seen))
    if not verdict.go:
        words = f"Kafka cluster not whole after {seconds} s: {verdict.why}; {failed}. "
        module.fail_json(msg=f"{words}Look at: journalctl -u kafka on the brokers named", lacking=verdict.lacking)
    if verdict.why:
        module.warn(verdict.why)
    module.exit_json(changed=False, lacking=verdict.lacking)


def described(state: State, problems: list[str]) -> dict[str, Any]:
    """Return a state as the module answers it."""
    return {
        "brokers": {str(broker): dict(facts) for broker, facts in state.brokers.items()},
        "controller": state.controller,
        "problems": problems,
        "offline": len(state.offline()),
        "under_replicated": len(state.under_replicated()),
        "partitions": len(state.partitions),
        "leaders": {str(broker): count for broker, count in state.leaders().items()},
    }


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
            "restart": {"type": "int"},
            "endpoints": {"type": "list", "elements": "str", "default": []},
            "before": {"type": "dict"},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    try:
        cluster = Cluster(module.params["listeners"])
    except ImportError:
        module.fail_json(msg=missing_required_lib("confluent-kafka"))
    except ClientError as error:
        if module.params["fail"]:
            module.fail_json(msg=str(error), problems=[str(error)])
        module.exit_json(changed=False, **described(State(), [str(error)]))
    if module.params["restart"] is not None or module.params["before"]:
        gate(module, cluster)
    sick = module.params["sick"]
    wait = Wait(module.params["timeout"], module.params["pause"], **module.params["waited"])
    state, found = cluster.wait(module.params["brokers"], wait.part, sick)
    if found and wait.left() > 0:
        module.exit_json(changed=False, waiting=waiting(found, wait.timeout, begun=wait.begun))
    if excused := sorted({str(p) for p in state.under_replicated()} - {str(p) for p in state.under_replicated(sick)}):
        module.warn(
            f"{len(excused)} partitions lack a replica on a disk that failed, of the brokers {sick} "
            f"({', '.join(excused[:5])}{', ...' if len(excused) > 5 else ''})"
        )
    result = described(state, found)
    if state.brokers:
        result["lacking"] = lacking(state, module.params["brokers"], module.params["returned"])
    if found and module.params["fail"]:
        module.fail_json(
            msg=f"Kafka cluster not whole after {module.params['timeout']} s: {'; '.join(found)}. No "
            "broker was stopped. "
            "Look at: journalctl -u kafka on the brokers named",
            **result,
        )
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
