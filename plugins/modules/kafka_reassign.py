#!/usr/bin/python
"""Move replicas and leaders of a Kafka cluster under a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import TOPIC, WRITES
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import control as disks
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import actions, control, record, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Asked, asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS

DOCUMENTATION = """
module: kafka_reassign
short_description: Move replicas and leaders to other brokers, under a plan and a limit
description:
  - Plans which replicas go where, with as few copies as can be; its action prints the plan before anything moves. In
    the order in which they count, racks are kept even for each partition, then replicas over brokers (as far as racks
    let them), then leaders, then bytes. The same cluster gives the same plan.
  - Moves a few partitions at a time, within I(rate), and begins no more while a partition is under-replicated for
    another reason. In the end each partition has the planned replicas, all in sync, and the limits are taken back;
    limits that others set stay.
  - With I(disk), I(empty) and I(disks) replicas go from one log dir of a broker to another, and never to other brokers.
  - What was begun stands in a file of I(record_directory) until its end. The same call again goes on after an
    interruption; I(cancel) puts everything back.
  - "Refused, with all else that is wrong: brokers and topics that are not there; moves that somebody else began;
    partitions that lack a replica for another reason; more than the disks hold, of which 10 % stay free; what would
    have a partition in fewer racks, or with more replicas than brokers; fewer replicas than C(min.insync.replicas)
    wants; another call while one is interrupted."
options:
  add: {type: list, elements: int, default: [], description: Ids of brokers that are to hold their share.}
  drain: {type: list, elements: int, default: [], description: "Ids of brokers, dead or not, that are to hold nothing."}
  replace:
    description: "Who takes the place of whom, as C(3:7): broker 7 gets what broker 3, dead perhaps, holds."
    type: list
    elements: str
    default: []
  rebalance: {type: bool, default: false, description: All brokers are to hold their share.}
  leaders: {type: bool, default: false, description: Brokers are to lead the same; nothing is copied.}
  replication_factor: {type: int, description: "How many replicas each partition of I(topic) is to have."}
  declared:
    description: >-
      Topics as M(millrace.kafka.kafka_topics) takes them. Each that is there, with another number of replicas than its
      C(replication_factor), is to have as many, all in one plan; I(topic) names some of them.
    type: list
    elements: dict
  disk:
    description: >-
      Which log dir of a broker goes empty, and where what it holds goes, as C(3:/data/1:/data/2).
    type: list
    elements: str
    default: []
  empty:
    description: >-
      Log dirs of brokers that are to hold nothing, as C(3:/data/1); what they hold goes to others of the same broker.
    type: list
    elements: str
    default: []
  disks: {type: list, elements: int, default: [], description: Ids of brokers whose log dirs are to hold as much.}
  cancel: {type: bool, default: false, description: What an interrupted call moved goes back.}
  topic:
    description: Topics that it is about; all where none is named. None with I(cancel), which is about all.
    type: list
    elements: str
    default: []
  rate:
    description: >-
      Bytes a second that each broker may send, and take, for it, as C(50MB), or C(unlimited); with I(disk), I(empty)
      and I(disks) those that it may copy. It has to be said, but with I(leaders) and I(cancel); without it I(cancel)
      has that of the call before.
    type: str
    default: ""
  fewer_racks:
    description: Partitions may come to be in fewer racks, or to have more of their replicas in one.
    type: bool
    default: false
  brokers:
    description: Brokers that are to be there. While none of a rack is, nothing is placed, for it would be without it.
    type: list
    elements: dict
    default: []
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      rack: {type: str, description: "C(broker.rack), if it has one."}
  devices:
    description: >-
      By id of a broker and log dir, the device on which its host has that. Log dirs on one share what is free; of those
      that are not here, so do two of one size with as much free, unless they hold more than is in use.
    type: dict
    default: {}
  plan:
    description: Name of the plan that check mode has printed; where it would be another one by now, nothing is moved.
    type: str
    default: ""
extends_documentation_fragment: [millrace.kafka.kafka_moves, millrace.kafka.waits]
attributes:
  check_mode: {description: Says what a run would move., support: full}
  diff_mode: {description: The plan says it., support: none}
author: [Millrace developers]
"""

EXAMPLES = """
- name: A new broker gets its share
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    add: [4]
    rate: 50MB
  delegate_to: localhost
"""

RETURN = """
cluster_id: {description: Id of the cluster that answered., type: str, returned: always}
plan:
  description: What is copied, for how long, and what brokers hold before and after, in lines.
  type: list
  elements: str
  returned: success
moved: {description: "Partitions that changed, as TOPIC-NUMBER.", type: list, elements: str, returned: success}
bytes: {description: How many were copied., type: int, returned: where something changed}
seconds: {description: How long it took., type: float, returned: at the end}
notes: {description: What is to be known of it., type: list, elements: str, returned: at the end}
waiting:
  description: >-
    C(what) is under way, and C(waited) for the next call.
  type: dict
  returned: with pause, where it goes on
"""

BROKER: dict[str, Any] = {"id": {"type": "int", "required": True}, "rack": {"type": "str"}}
IDS: dict[str, Any] = {"type": "list", "elements": "int", "default": []}
TEXTS: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
TEXT: dict[str, Any] = {"type": "str", "default": ""}
SWITCH: dict[str, Any] = {"type": "bool", "default": False}


def answer(module: KafkaModule, request: Asked, admin: Admin, metadata: Metadata) -> dict[str, Any]:
    """Return what was planned, what is under way, or what was done. Raises Refused, Unfinished, AdminError.

    Between two parts of a run its lock is free: who has taken it by the next one is waited for.
    """
    path = record.path_of(metadata.cluster_id, module.params["record_directory"])
    wait = record.PATIENCE if module.params["waited"] else 0
    with control.readable(path), record.alone(path, "a run of reassign.yml", look=module.check_mode, wait=wait):
        return by_record(module, request, admin, metadata, path)


def by_record(module: KafkaModule, request: Asked, admin: Admin, metadata: Metadata, path: Path) -> dict[str, Any]:
    """Return the same, of whom nobody else on this host disturbs. Raises Refused, Unfinished, AdminError, OSError."""
    pause, waited = module.params["pause"], module.params["waited"]
    begun = record.load(path)
    if waited:
        if begun is None or begun.asked != request.words:
            raise Unfinished(f"{request.words} was ended or put back by another run meanwhile", {"changed": True})
        carried_on = disks.carried_on if begun.kind == record.SHIFTS else control.carried_on
        return carried_on(admin, begun, path, pause, waited)
    if begun.kind == record.SHIFTS if begun else request.within:
        return between_disks(module, request, admin, metadata, begun, path)
    declared = {broker["id"]: broker["rack"] for broker in module.params["brokers"]}
    known = snapshot.at_controller(admin, metadata, begun.moves if begun else ())
    there = snapshot.look(admin, known, request.devices)
    planned = control.prepare(request, there, declared, begun, admin)
    if planned:
        control.meant(planned, module.params["plan"])
    if planned is None or module.check_mode:
        return control.told(planned, control.nothing_to_move(request, admin, metadata))
    return control.carried_out(admin, planned, path, pause)


def between_disks(
    module: KafkaModule, request: Asked, admin: Admin, metadata: Metadata, begun: record.Record | None, path: Path
) -> dict[str, Any]:
    """Return the same of replicas that stay on their broker. Raises Refused, Unfinished, AdminError, OSError."""
    there = snapshot.at_controller(admin, metadata)
    planned = disks.prepare(request, there.brokers, there.topics, begun, admin)
    if planned:
        control.meant(planned, module.params["plan"])
    if planned is None or module.check_mode:
        return control.told(planned, f"{request.words}: nothing to move")
    return control.carried_out(admin, planned, path, module.params["pause"], disks.carried_on)


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **WRITES,
            **dict.fromkeys(("add", "drain", "disks"), IDS),
            **dict.fromkeys(("replace", "topic", "disk", "empty"), TEXTS),
            **dict.fromkeys(("rebalance", "leaders", "cancel", "fewer_racks"), SWITCH),
            "replication_factor": {"type": "int"},
            "declared": {"type": "list", "elements": "dict", "options": TOPIC},
            **dict.fromkeys(("rate", "plan"), TEXT),
            "brokers": {"type": "list", "elements": "dict", "default": [], "options": BROKER},
            "devices": {"type": "dict", "default": {}},
            "record_directory": {"type": "str", "default": record.FOLDER},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    request, wrong = asked(module.params)
    if wrong:
        module.fail_json(msg=actions.listed("reassign: nothing was moved", wrong))
    ask(module, "reassign", lambda admin, metadata: answer(module, request, admin, metadata))


if __name__ == "__main__":
    main()
