#!/usr/bin/python
"""Decides whether brokers may stop, in which order they are restarted, and whether they are back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import restart_waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_views import confirmed, with_failed_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Block, Rules, blocks
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import UntoldError, judging, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_order import batches
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Part, Patience, Verdict, waiting

DOCUMENTATION = """
module: kafka_gate
short_description: Decide whether brokers may stop now, in which order, and whether they are back
version_added: "1.0.0"
description:
  - Decides whether brokers may stop together. They may if there is a controller, no other rack is down, and each
    partition that they hold in sync has all its other replicas in sync, keeps C(min.insync.replicas) of its topic (and
    O(margin) more) without them, and has no replica that is being moved. A broker that is down, offline or does not
    answer may always be restarted.
  - Each broker that stays is asked itself, and the worst answer counts, also for C(min.insync.replicas). The answer of
    a broker that has just started, or that the controller cannot reach, is outdated; a dead broker counts as in sync
    until its session expires.
  - If the rest of the cluster is not healthy, only what has been so for 30 s counts (half of a shorter O(timeout)).
  - After 5 s, O(former) is ignored if only itself names it as the controller, or if all that stay name another.
  - The gate is closed if no broker answers. It is closed at once if no broker can report settings of topics, since each
    such request occupies a thread of a broker while ZooKeeper has no quorum.
  - Runs where confluent-kafka and kafka-python are installed and the listeners can be reached (the control node, or a
    host of the group admin).
options:
  listeners:
    description: >-
      Client properties by name of the listener, with librdkafka's names. Partitions are read through the first one. The
      principal needs DESCRIBE and DESCRIBE_CONFIGS on the cluster and on topics.
    type: dict
    required: true
  brokers: {type: list, elements: int, required: true, description: Ids of all brokers of the cluster.}
  stop: {type: list, elements: int, required: true, description: Ids of the brokers in question.}
  question:
    description:
      - V(may_stop) waits until the brokers of O(stop) may stop together, and fails if they may not; at once if a topic
        has too few replicas.
      - V(order) returns which of them are restarted together and in which order, and whether the first may stop now.
        Fails if a topic has too few replicas for any of them to be restarted. Waits while brokers name different
        controllers; the answer of a single broker in O(stop) is not required.
      - V(back) waits until they are back after a restart, and nothing is missing that is not in O(before).
      - V(started) waits until they are registered and in sync with the partitions that have a leader, whichever other
        brokers are down. Replicas of a log directory that the broker has taken offline are not waited for; they cause a
        warning.
    type: str
    choices: [may_stop, order, back, started]
    default: may_stop
  parallel:
    description: >-
      With C(question=order), V(rack) restarts all brokers of a rack together, if the partitions they hold allow it.
    type: str
    choices: [one, rack]
    default: one
  racks: {type: dict, default: {}, description: "By id, the rack of each declared broker."}
  together:
    description: >-
      By id, the name of the set of brokers that C(parallel=rack) restarts together, if it is not the rack: in a
      stretched cluster, C(broker.rack) is a whole datacenter. Brokers without a set are restarted one at a time.
    type: dict
  margin:
    description: Number of in-sync replicas that have to remain in addition to C(min.insync.replicas).
    type: int
    default: 0
  accepts:
    description: >-
      Names or patterns of topics with too few replicas whose partitions may have no leader, or not be writable, while
      their broker is down.
    type: list
    elements: str
    default: []
  fail:
    description: >-
      With C(question=may_stop), fail if the gate is closed. Otherwise return the answer as soon as nothing has changed
      for half of O(timeout).
    type: bool
    default: true
  before: {type: dict, default: {}, description: "With C(question=back), an earlier value of RV(lacking)."}
  prefer:
    description: With C(question=back), elect the preferred leaders of the partitions of these brokers.
    type: bool
    default: false
  then:
    description: With C(question=back), ids of the brokers that are to stop next.
    type: list
    elements: int
    default: []
  stopped:
    description: >-
      With C(question=may_stop), those of O(stop) that this run has stopped already. What is missing because of them is
      not waited for.
    type: list
    elements: int
    default: []
  former:
    description: Ids of brokers that were the controller until now. The wait ends only when no broker names them.
    type: list
    elements: int
    default: []
  timeout: {type: int, default: 0, description: Seconds to wait; 0 checks once.}
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: "The same as without check mode, but elects no leaders.", support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.zookeeper_gate}
  - {module: millrace.kafka.kafka_cluster}
  - {module: millrace.kafka.kafka_controller}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait until broker 1 may stop
  millrace.kafka.kafka_gate:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
    brokers: [1, 2, 3]
    stop: [1]
    timeout: 300
  delegate_to: localhost

- name: Get the order in which all brokers can be restarted, a rack at a time
  millrace.kafka.kafka_gate:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
    brokers: [1, 2, 3, 4, 5, 6]
    stop: [1, 2, 3, 4, 5, 6]
    racks: {1: a, 2: b, 3: c, 4: a, 5: b, 6: c}
    question: order
    parallel: rack
  delegate_to: localhost
  register: order

- name: Wait until broker 1 is back and leads its partitions again
  millrace.kafka.kafka_gate:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
    brokers: [1, 2, 3]
    stop: [1]
    question: back
    prefer: true
    timeout: 300
  delegate_to: localhost

- name: Show whether a rack may stop now, without failing
  millrace.kafka.kafka_gate:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
    brokers: [1, 2, 3, 4, 5, 6]
    stop: [1, 4]
    fail: false
    timeout: 20
  delegate_to: localhost
  register: gate
"""

RETURN = """
waiting:
  description: >-
    C(what) the module waits for, its C(timeout) in seconds, and C(waited) for the next call.
  type: dict
  returned: with O(pause), if the wait continues
  sample: {what: [broker 2 is not registered], timeout: 300, waited: {begun: 8123.4}}
batches:
  description: Ids of the brokers that are restarted together, in the order of the restarts.
  type: list
  elements: list
  returned: with C(question=order)
  sample: [[2], [3], [1]]
open: {description: Whether the brokers may stop., type: bool, returned: with C(question=may_stop), sample: true}
answer:
  description: The same as a sentence, with the reasons and what would open the gate.
  type: str
  returned: with C(question=may_stop)
  sample: broker 1 may stop
lacking:
  description: What keeps the cluster from being healthy, as C(lacking) of M(millrace.kafka.kafka_cluster).
  type: dict
  returned: always; with C(question=order) only if RV(opened) is not empty
  sample: {brokers: [], offline: [], under_replicated: []}
at: {description: "Time of RV(lacking), in seconds since 1970.", type: float, returned: always, sample: 1790000000.5}
controller: {description: Id of the controller., type: int, returned: with C(question=order), sample: 1}
moved:
  description: Partitions that the brokers lead again.
  type: list
  elements: str
  returned: with C(question=back) and O(prefer)
  sample: [orders-0]
settled:
  description: Whether the cluster is healthy and all partitions are led by their preferred replicas.
  type: bool
  returned: with C(question=back), without O(then)
  sample: true
opened:
  description: "Ids of the brokers that are to stop next, if all of them may stop now; otherwise empty."
  type: list
  elements: int
  returned: with C(question=order), and with C(question=back) and O(then)
  sample: [2]
"""


def rules(module: AnsibleModule) -> Rules:
    """Return the options margin, accepts, racks and together as Rules for the gate.

    They decide how many in-sync replicas must remain, and which brokers may stop together.
    """
    racks, together = (
        {int(broker): str(rack or "") or None for broker, rack in (module.params[name] or {}).items()}
        for name in ("racks", "together")
    )
    sets = together if module.params["together"] is not None else None
    return Rules(module.params["margin"], module.params["accepts"], racks, sets)


def order(module: AnsibleModule, cluster: Cluster) -> None:
    """End the module with the order in which the brokers in the option `stop` are restarted, as `batches`."""
    stop, seconds = module.params["stop"], module.params["timeout"]
    patience = Patience(seconds, 0, Part(module.params["pause"], **module.params["waited"]))
    verdict, found = restart_waits.before_order(
        cluster.state, partial(snapshot, cluster, stop=stop, one_by_one=True), patience
    )
    if not verdict.go or found is None:
        return answer(module, Elections(cluster), verdict)
    lasting = [block for broker in stop for block in blocks(found, [broker], rules(module)) if block.lasting]
    if lasting:
        refuse(module, lasting)
    plan = batches(found, stop, rules(module), module.params["parallel"] == "rack")
    for why in dict.fromkeys(batch.why for batch in plan if batch.why):
        module.warn(why)
    module.exit_json(
        changed=False,
        batches=[list(batch.brokers) for batch in plan],
        controller=found.states[0].controller,
        opened=(may := opened(module, cluster, plan[0].brokers if plan else ())),
        at=time.time(),
        **({"lacking": {}} if may else {}),
    )


def opened(module: AnsibleModule, cluster: Cluster, stop: Sequence[int], **result: Any) -> list[int]:
    """Return `stop`, the next brokers to stop, if they may stop now; otherwise [].

    If they may stop now, the playbook need not call the module again to wait until they may. If no broker reports the
    settings of topics, the module fails, with `result` in its result.
    """
    try:
        return restart_waits.at_once(
            cluster.state,
            judging(cluster, stop, rules(module)),
            module.params["brokers"],
            stop,
        )
    except UntoldError as error:  # it is not asked again
        module.fail_json(msg=f"{error}. The cluster is healthy; no other broker was stopped", **result)
    return []


def refuse(module: AnsibleModule, reasons: Sequence[Block]) -> None:
    """Fail the module with reasons that waiting would not remove."""
    lines = "".join(f"\n- {text}" for text in dict.fromkeys(map(str, reasons)))
    module.fail_json(msg=f"the gate stays closed, and waiting would not open it; {stopped(module).lower()}:{lines}")


def stopped(module: AnsibleModule) -> str:
    """Return a sentence that names the brokers in the option `stopped`, which this run has stopped, for messages."""
    ids = module.params["stopped"]
    who = f"broker{'s' if ids[1:] else ''} {', '.join(map(str, ids))}"
    return f"This run has stopped {who}, which start.yml starts again; no other" if ids else "No broker was stopped"


def answer(module: AnsibleModule, elections: Elections, verdict: Verdict) -> None:
    """End the module with the result of `verdict`; a negative verdict fails the module.

    With the question `may_stop`, the module fails only if the option `fail` is set. With the question `back`, once
    restarted brokers are back, they are elected as preferred leaders, and the module checks whether the next brokers
    may stop. If the wait continues, the module ends with `waiting`, and its action calls it again.
    """
    seconds, stop, question = (module.params[name] for name in ("timeout", "stop", "question"))
    if verdict.rest and not verdict.go and not verdict.lasting:
        module.exit_json(changed=bool(elections.moved), waiting=waiting([verdict.why], seconds, **verdict.rest.seen()))
    who = f"broker{'s' if stop[1:] else ''} {', '.join(map(str, stop))}"
    were = "were restarted and are not back" if stop[1:] else "was restarted and is not back"
    result: dict[str, Any] = {"lacking": verdict.lacking, "at": time.time(), "changed": bool(elections.moved)}
    if elects(module):
        result["moved"] = sorted(elections.moved)
    if question == "may_stop":
        may = "may stop" if verdict.go else "may not stop now"
        result |= {"open": verdict.go, "answer": f"{who} {may}{': ' if verdict.why else ''}{verdict.why}"}
        if not module.params["fail"]:
            module.exit_json(**result)
    if not verdict.go:
        after = "" if verdict.lasting else f" after {seconds} s"
        failed = {
            "may_stop": f"{who} may not stop now: the gate is closed{after}: {verdict.why}. {stopped(module)}",
            "back": f"Kafka cluster not healthy{after}: {verdict.why}; {who} {were}; no other broker was stopped",
            "started": f"{who} did not come back{after}: {verdict.why}",
            "order": f"the gate is closed{after}: {verdict.why}. No broker was stopped",
        }[question]
        module.fail_json(msg=f"{failed}. Look at: journalctl -u kafka on the brokers named", **result)
    why, cluster = "", elections.cluster
    if elects(module):
        result["moved"], why = elections.lead_again()
        result["changed"] = bool(result["moved"])
    if question == "back" and (then := module.params["then"]):
        result["opened"] = opened(module, cluster, then, **result)
    elif question == "back":
        result["settled"] = restart_waits.settled(cluster.state, partial(confirmed, cluster), module.params["brokers"])
    for warning in filter(None, (verdict.why, why)):
        module.warn(warning)
    module.exit_json(**result)


def elects(module: AnsibleModule) -> bool:
    """Tell whether the module has to elect the preferred leaders after restarted brokers are back.

    The option `prefer` decides this; in check mode there is no election.
    """
    return bool(module.params["prefer"] and module.params["question"] == "back" and not module.check_mode)


def ask(module: AnsibleModule, elections: Elections) -> Verdict:
    """Wait for what the option `question` names, and return the verdict.

    `may_stop`: wait until the brokers in `stop` may stop. `back` and `started`: wait until these brokers are back.
    """
    cluster, part = elections.cluster, Part(module.params["pause"], **module.params["waited"])
    expected, stop, seconds = (module.params[name] for name in ("brokers", "stop", "timeout"))
    same, confirm = min(restart_waits.SAME, seconds / 2), partial(confirmed, cluster)
    if module.params["question"] == "back":
        last = Patience(seconds, same, part, at_last=True)
        state = elections.state if elects(module) else cluster.state
        return restart_waits.after_restart(state, expected, stop, module.params["before"], last, confirm)
    if module.params["question"] == "started":

        def sick(state: State) -> Sequence[int]:
            return with_failed_dirs(cluster, state, stop)

        return restart_waits.after_start(cluster.state, expected, stop, Patience(seconds, same, part), confirm, sick)
    judge = judging(cluster, stop, rules(module), module.params["former"], part.begun)
    patience = Patience(seconds, same, part, restart_waits.JUDGE, enough=not module.params["fail"])
    return restart_waits.before_restart(cluster.state, judge, expected, stop, patience, module.params["stopped"])


def main() -> None:
    """Run as an Ansible module."""
    ids: dict[str, Any] = {"type": "list", "elements": "int", "required": True}
    module = KafkaModule(
        argument_spec={
            "listeners": {"type": "dict", "required": True},
            "brokers": ids,
            "stop": ids,
            "question": {"type": "str", "choices": ["may_stop", "order", "back", "started"], "default": "may_stop"},
            "parallel": {"type": "str", "choices": ["one", "rack"], "default": "one"},
            "racks": {"type": "dict", "default": {}},
            "together": {"type": "dict"},
            "margin": {"type": "int", "default": 0},
            "accepts": {"type": "list", "elements": "str", "default": []},
            "fail": {"type": "bool", "default": True},
            "before": {"type": "dict", "default": {}},
            "prefer": {"type": "bool", "default": False},
            **{name: {"type": "list", "elements": "int", "default": []} for name in ("then", "stopped", "former")},
            "timeout": {"type": "int", "default": 0},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    try:
        elections = Elections(Cluster(module.params["listeners"]), module.params["stop"])
        if module.params["question"] == "order":
            order(module, elections.cluster)
        answer(module, elections, ask(module, elections))
    except ImportError as error:
        module.fail_json(msg=missing_required_lib(error.name or "confluent-kafka"))
    except ClientError as error:
        module.fail_json(msg=f"{error}. {stopped(module)}")


if __name__ == "__main__":
    main()
