#!/usr/bin/python
"""Decides whether ZooKeeper servers may stop, in which order they are restarted, and whether they serve again."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import OwnFileError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Part, Patience, Verdict, waiting
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import Ensemble, Voter, order
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.restart import (
    SAME,
    after_start,
    before_stop,
    seen,
)

DOCUMENTATION = """
module: zookeeper_gate
short_description: Decide whether ZooKeeper servers may stop now, in which order, and whether they serve again
version_added: "1.0.0"
description:
  - Decides whether ZooKeeper servers may stop together. They may if the servers that answer have a quorum without them,
    by groups and weights, and all followers of the leader are in sync. Changes nothing.
  - A server that reports that it does not serve, or that it is read-only, may always be restarted.
  - If a server does not answer, the leader has to report whether it has that server as a follower (C(mntr), from
    ZooKeeper 3.6). The quorum then consists of the servers that the leader has.
  - If the ensemble is not healthy, only what has been so for 10 s counts (half of a shorter O(timeout)).
  - The gate is closed if no server answers.
  - Runs where the client ports can be reached (the control node, or a host of the group admin).
options:
  servers: {type: dict, required: true, description: "By name of each server, its address for clients."}
  stop: {type: list, elements: str, required: true, description: Names of the servers in question.}
  question:
    description:
      - V(may_stop) waits until the servers of O(stop) may stop together, and fails if they may not.
      - V(order) returns the order in which they are restarted, one at a time, the leader last.
      - V(started) waits until they serve, with one leader and all followers in sync. Servers that did not serve
        according to O(before) are not waited for. If there can be no quorum without other servers, it is enough that
        they answer.
    type: str
    choices: [may_stop, order, started]
    default: may_stop
  port: {type: int, default: 2281, description: Client port of every server.}
  tls:
    description: >-
      If the port uses TLS, C(certificate), a PEM file with certificate and key, and C(ca). Empty for a plaintext port.
    type: dict
    default: {}
  ids: {type: dict, required: true, description: "By name of each server, its id (myid)."}
  groups: {type: dict, default: {}, description: Ids of the servers of each group of a hierarchical quorum.}
  weights: {type: dict, default: {}, description: "Weight by id, if it is not 1."}
  observers: {type: list, elements: str, default: [], description: Ids of servers that do not vote.}
  fail:
    description: >-
      With C(question=may_stop), fail if the gate is closed. Otherwise return the answer as soon as nothing has changed
      for half of O(timeout).
    type: bool
    default: true
  before: {type: dict, default: {}, description: "With C(question=started), an earlier value of RV(lacking)."}
  stopped:
    description: >-
      With C(question=may_stop), those of O(stop) that this run has stopped already. They are not waited for.
    type: list
    elements: str
    default: []
  timeout: {type: int, default: 0, description: Seconds to wait; 0 checks once.}
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.kafka_gate}
  - {module: millrace.kafka.zookeeper_ensemble}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait until a server may stop
  millrace.kafka.zookeeper_gate:
    servers: {dc1-zk1: 198.18.1.11, dc1-zk2: 198.18.1.12, dc1-zk3: 198.18.1.13}
    ids: {dc1-zk1: 1, dc1-zk2: 2, dc1-zk3: 3}
    stop: [dc1-zk1]
    timeout: 120
  delegate_to: localhost

- name: Get the order in which all servers can be restarted
  millrace.kafka.zookeeper_gate:
    servers: {dc1-zk1: 198.18.1.11, dc1-zk2: 198.18.1.12, dc1-zk3: 198.18.1.13}
    ids: {dc1-zk1: 1, dc1-zk2: 2, dc1-zk3: 3}
    stop: [dc1-zk1, dc1-zk2, dc1-zk3]
    question: order
  delegate_to: localhost
  register: order

- name: Wait until a restarted server serves again
  millrace.kafka.zookeeper_gate:
    servers: {dc1-zk1: 198.18.1.11, dc1-zk2: 198.18.1.12, dc1-zk3: 198.18.1.13}
    ids: {dc1-zk1: 1, dc1-zk2: 2, dc1-zk3: 3}
    stop: [dc1-zk1]
    question: started
    timeout: 120
  delegate_to: localhost
"""

RETURN = """
waiting:
  description: >-
    C(what) the module waits for, its C(timeout) in seconds, and C(waited) for the next call.
  type: dict
  returned: with O(pause), if the wait continues
  sample: {what: [dc1-zk2 is down], timeout: 120, waited: {begun: 8123.4}}
order:
  description: "Names of the servers, in the order of the restarts."
  type: list
  elements: str
  returned: with C(question=order)
  sample: [dc1-zk1, dc1-zk3, dc1-zk2]
open: {description: Whether the servers may stop., type: bool, returned: with C(question=may_stop), sample: true}
answer:
  description: The same as a sentence, with the reasons and what would open the gate.
  type: str
  returned: with C(question=may_stop)
  sample: dc1-zk1 may stop
lacking:
  description: "What keeps the ensemble from being healthy, by kind: C(servers), C(leaders) and C(followers)."
  type: dict
  returned: except with C(question=order)
  sample: {servers: [], leaders: [], followers: []}
at:
  description: "Time of RV(lacking), in seconds since 1970."
  type: float
  returned: except with C(question=order)
  sample: 1790000000.5
"""


def voters(module: AnsibleModule) -> list[Voter]:
    """Return the servers that vote (all but observers), each with its group and weight in a hierarchical quorum."""
    groups = {str(member): int(group) for group, members in module.params["groups"].items() for member in members}
    weights = {str(number): int(weight) for number, weight in module.params["weights"].items()}
    ids = {name: str(number) for name, number in module.params["ids"].items()}
    return [
        Voter(name, groups.get(number), weights.get(number, 1))
        for name, number in ids.items()
        if number not in module.params["observers"]
    ]


def stopped(module: AnsibleModule) -> str:
    """Return a sentence that names the servers in the option `stopped`, which this run has stopped, for messages."""
    names = ", ".join(module.params["stopped"])
    return f"This run has stopped {names}, which start.yml starts again; no other" if names else "No server was stopped"


def answer(module: AnsibleModule, verdict: Verdict) -> None:
    """End the module with `verdict`, the result of a wait.

    If the wait continues, the module ends with `waiting`, and its action calls it again.
    """
    seconds, stop = module.params["timeout"], ", ".join(module.params["stop"])
    if verdict.rest and not verdict.go:
        module.exit_json(changed=False, waiting=waiting([verdict.why], seconds, **verdict.rest.seen()))
    result: dict[str, Any] = {"lacking": verdict.lacking, "at": time.time()}
    if module.params["question"] == "may_stop":
        may = "may stop" if verdict.go else "may not stop now"
        result |= {"open": verdict.go, "answer": f"{stop} {may}{': ' if verdict.why else ''}{verdict.why}"}
        if not module.params["fail"]:
            module.exit_json(changed=False, **result)
    if not verdict.go:
        failed = {
            "may_stop": f"{stop} may not stop now: the gate is closed after {seconds} s: {verdict.why}. "
            f"{stopped(module)}",
            "started": f"ZooKeeper ensemble not healthy after {seconds} s: {verdict.why}; {stop} did not come back, "
            "no other server was stopped",
        }[module.params["question"]]
        module.fail_json(msg=f"{failed}. Look at: journalctl -u zookeeper on the servers named", **result)
    if verdict.why:
        module.warn(verdict.why)
    module.exit_json(changed=False, **result)


def main() -> None:
    """Run as an Ansible module."""
    names: dict[str, Any] = {"type": "list", "elements": "str"}
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "stop": {**names, "required": True},
            "question": {"type": "str", "choices": ["may_stop", "order", "started"], "default": "may_stop"},
            "port": {"type": "int", "default": 2281},
            "tls": {"type": "dict", "default": {}},
            "ids": {"type": "dict", "required": True},
            "groups": {"type": "dict", "default": {}},
            "weights": {"type": "dict", "default": {}},
            "observers": {**names, "default": []},
            "fail": {"type": "bool", "default": True},
            "before": {"type": "dict", "default": {}},
            "stopped": {**names, "default": []},
            "timeout": {"type": "int", "default": 0},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    stop, seconds = module.params["stop"], module.params["timeout"]
    part, enough = Part(module.params["pause"], **module.params["waited"]), not module.params["fail"]
    patience = Patience(seconds, min(SAME, seconds / 2), part, enough=enough)

    def look() -> Ensemble:
        asks, of = (
            module.params["question"] == "may_stop",
            {name: str(one) for name, one in module.params["ids"].items()},
        )
        servers, port, tls = (module.params[name] for name in ("servers", "port", "tls"))
        return seen(servers, port, voters(module), tls, of if asks else None)

    try:
        if module.params["question"] == "order":
            module.exit_json(changed=False, order=order(look().modes, stop))
        if module.params["question"] == "started":
            answer(module, after_start(look, stop, module.params["before"], patience))
        answer(module, before_stop(look, stop, patience, module.params["stopped"]))
    except OwnFileError as error:
        module.fail_json(msg=f"{error}. {stopped(module)}")


if __name__ == "__main__":
    main()
