#!/usr/bin/python
"""Ask whether brokers may stop now, in which order, and whether they are back."""

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
short_description: Tell whether brokers may stop now, in which order, and whether they are back and lead again
description:
  - Brokers may stop together where each partition that they hold in sync has all its other replicas in sync, keeps
    min.insync.replicas of its topic without them (and I(margin) more), and none of its replicas is being moved; where
    there is a controller, and no other rack is out. What is down, offline or answers nobody may always be restarted.
  - Each broker that stays is asked itself, and the worst answer counts, also of min.insync.replicas. One that has just
    started, or that the controller does not reach, says what was; a dead one is in sync until its session ends.
  - Where the cluster is not whole elsewhere, only what has been so for 30 s is judged (half of a shorter I(timeout)).
  - After 5 s I(former) counts no more where it alone says that it controls, or where all that stay name another one.
  - A gate that nobody answers is closed; at once where no broker says settings of topics, for without a quorum of
    ZooKeeper each such question keeps a thread of a broker.
  - Runs where confluent-kafka and kafka-python are installed and the listeners can be reached (the control node, or a
    host of the group admin).
options:
  listeners:
    description: >-
      Client properties by name of the listener, under librdkafka's names; the first one answers for the partitions. The
      principal needs DESCRIBE and DESCRIBE_CONFIGS on the cluster and on topics.
    type: dict
    required: true
  brokers: {type: list, elements: int, required: true, description: Ids of all brokers that there have to be.}
  stop: {type: list, elements: int, required: true, description: Ids of those that it is about.}
  question:
    description:
      - C(may_stop) waits until I(stop) may stop together, and fails where they may not; at once for too few replicas.
      - C(order) tells which of them are restarted together, and after one another, and whether the first may stop now.
        Fails where a topic has too few replicas for any of them to be restarted. Waits while brokers name different
        controllers; of one broker alone, I(stop), no word is wanted.
      - C(back) waits until they are back after a restart, and the cluster is whole, or lacks nothing but I(before).
      - C(started) waits until they are registered and in sync with what somebody leads, whoever else is away. What a
        broker lacks that has given up a log directory is not waited for; there is a warning.
    type: str
    choices: [may_stop, order, back, started]
    default: may_stop
  parallel:
    description: With C(order), C(rack) for all brokers of a rack together, where what they hold bears that.
    type: str
    choices: [one, rack]
    default: one
  racks: {type: dict, default: {}, description: "By id, the rack of each declared broker."}
  together:
    description: >-
      By id, what C(parallel=rack) restarts together, where I(racks) says another: in a stretched cluster broker.rack is
      a whole datacenter. Those with none go one by one.
    type: dict
  margin: {type: int, default: 0, description: Replicas in sync that have to stay besides min.insync.replicas.}
  accepts:
    description: >-
      Names or patterns of topics with too few replicas, whose partitions may be without a leader, or without writers,
      while their broker is away.
    type: list
    elements: str
    default: []
  fail:
    description: With C(may_stop), fail at a closed gate; else say so when nothing has changed for half of I(timeout).
    type: bool
    default: true
  before: {type: dict, default: {}, description: "With C(back), what C(lacking) was."}
  prefer: {type: bool, default: false, description: "With C(back), have them lead again what they prefer to."}
  then: {type: list, elements: int, default: [], description: "With C(back), ids of those that are to stop next."}
  stopped:
    description: With C(may_stop), those of I(stop) that this run has stopped; what lacks by them is not waited for.
    type: list
    elements: int
    default: []
  former: {type: list, elements: int, default: [], description: "Controllers of a moment ago, whom nobody may name."}
  timeout: {type: int, default: 0, description: Seconds that are waited; 0 asks once.}
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: "The same as without, but for I(prefer).", support: full}
  diff_mode: {description: There is none., support: none}
requirements: [confluent-kafka, kafka-python]
seealso: [{module: millrace.kafka.zookeeper_gate}, {module: millrace.kafka.kafka_cluster}]
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
"""

RETURN = """
waiting:
  description: >-
    C(what) keeps the wait going, its C(timeout) (seconds), and C(waited) for the next call.
  type: dict
  returned: with pause, where the wait goes on
batches:
  description: Ids of those that are restarted together, in the order of the batches.
  type: list
  elements: list
  returned: with order
open: {description: Whether they may stop., type: bool, returned: with may_stop}
answer:
  description: The same in words, with what is in the way and what would clear it.
  type: str
  returned: with may_stop
lacking:
  description: What is not whole, as C(lacking) of kafka_cluster.
  type: dict
  returned: always, but with order only where C(opened) names somebody
at: {description: When that was seen, type: float, returned: always}
controller: {description: Id of the controller., type: int, returned: with order}
moved: {description: Partitions that they lead again., type: list, elements: str, returned: with back and I(prefer)}
settled: {description: Nothing lacks and who is preferred leads., type: bool, returned: with back and no I(then)}
opened: {description: "Ids that may stop now, all that are next or none.", type: list, returned: with order and back}
"""


def rules(module: AnsibleModule) -> Rules:
    """Return what the operator says of the gate."""
    racks, together = (
        {int(broker): str(rack or "") or None for broker, rack in (module.params[name] or {}).items()}
        for name in ("racks", "together")
    )
    said = together if module.params["together"] is not None else None
    return Rules(module.params["margin"], module.params["accepts"], racks, said)


def order(module: AnsibleModule, cluster: Cluster) -> None:
    """Answer in which order brokers are restarted; ends the module."""
    stop, seconds = module.params["stop"], module.params["timeout"]
    patience = Patience(seconds, 0, Part(module.params["pause"], **module.params["waited"]))
    verdict, found = restart_waits.before_order(
        cluster.state, partial(snapshot, cluster, stop=stop, one_by_one=True), patience
    )
    if not verdict.go or found is None:
        return answer(module, Elections(cluster), verdict)
    few = [block for broker in stop for block in blocks(found, [broker], rules(module)) if block.lasting]
    if few:
        refuse(module, few)
    plan = batches(found, stop, rules(module), module.params["parallel"] == "rack")
    for words in dict.fromkeys(batch.why for batch in plan if batch.why):
        module.warn(words)
    module.exit_json(
        changed=False,
        batches=[list(batch.brokers) for batch in plan],
        controller=found.states[0].controller,
        opened=(may := opened(module, cluster, plan[0].brokers if plan else ())),
        at=time.time(),
        **({"lacking": {}} if may else {}),
    )


def opened(module: AnsibleModule, cluster: Cluster, stop: Sequence[int], **told: Any) -> list[int]:
    """Return those that are next where they may stop now, so that nobody has to ask again."""
    try:
        return restart_waits.at_once(
            cluster.state,
            judging(cluster, stop, rules(module)),
            module.params["brokers"],
            stop,
        )
    except UntoldError as error:  # it is not asked again
        module.fail_json(msg=f"{error}. Nobody lacks anything; no other broker was stopped", **told)
    return []


def refuse(module: AnsibleModule, found: Sequence[Block]) -> None:
    """End the module: waiting changes nothing."""
    words = "".join(f"\n- {text}" for text in dict.fromkeys(map(str, found)))
    module.fail_json(msg=f"the gate stays closed, and waiting would not open it; {stopped(module).lower()}:{words}")


def stopped(module: AnsibleModule) -> str:
    """Return in words whom this run has stopped."""
    ids = module.params["stopped"]
    who = f"broker{'s' if ids[1:] else ''} {', '.join(map(str, ids))}"
    return f"This run has stopped {who}, which start.yml starts again; no other" if ids else "No broker was stopped"


def answer(module: AnsibleModule, elections: Elections, verdict: Verdict) -> None:
    """End the module with what a wait came to."""
    seconds, stop, question = (module.params[name] for name in ("timeout", "stop", "question"))
    if verdict.rest and not verdict.go and not verdict.lasting:
        module.exit_json(changed=bool(elections.moved), waiting=waiting([verdict.why], seconds, **verdict.rest.seen()))
    who = f"broker{'s' if stop[1:] else ''} {', '.join(map(str, stop))}"
    were = "were restarted and are not back" if stop[1:] else "was restarted and is not back"
    told: dict[str, Any] = {"lacking": verdict.lacking, "at": time.time(), "changed": bool(elections.moved)}
    if prefers(module):
        told["moved"] = sorted(elections.moved)
    if question == "may_stop":
        may = "may stop" if verdict.go else "may not stop now"
        told |= {"open": verdict.go, "answer": f"{who} {may}{': ' if verdict.why else ''}{verdict.why}"}
        if not module.params["fail"]:
            module.exit_json(**told)
    if not verdict.go:
        after = "" if verdict.lasting else f" after {seconds} s"
        failed = {
            "may_stop": f"{who} may not stop now: the gate is closed{after}: {verdict.why}. {stopped(module)}",
            "back": f"Kafka cluster not whole{after}: {verdict.why}; {who} {were}; no other was stopped",
            "started": f"{who} did not come back{after}: {verdict.why}",
            "order": f"the gate is closed{after}: {verdict.why}. No broker was stopped",
        }[question]
        module.fail_json(msg=f"{failed}. Look at: journalctl -u kafka on the brokers named", **told)
    why, cluster = "", elections.cluster
    if prefers(module):
        told["moved"], why = elections.lead_again()
        told["changed"] = bool(told["moved"])
    if question == "back" and (then := module.params["then"]):
        told["opened"] = opened(module, cluster, then, **told)
    elif question == "back":
        told["settled"] = restart_waits.settled(cluster.state, partial(confirmed, cluster), module.params["brokers"])
    for words in filter(None, (verdict.why, why)):
        module.warn(words)
    module.exit_json(**told)


def prefers(module: AnsibleModule) -> bool:
    """Tell whether those that are back are to lead again."""
    return bool(module.params["prefer"] and module.params["question"] == "back" and not module.check_mode)


def ask(module: AnsibleModule, elections: Elections) -> Verdict:
    """Return what a wait came to."""
    cluster, part = elections.cluster, Part(module.params["pause"], **module.params["waited"])
    expected, stop, seconds = (module.params[name] for name in ("brokers", "stop", "timeout"))
    same, confirm = min(restart_waits.SAME, seconds / 2), partial(confirmed, cluster)
    if module.params["question"] == "back":
        last = Patience(seconds, same, part, at_last=True)
        state = elections.state if prefers(module) else cluster.state
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
