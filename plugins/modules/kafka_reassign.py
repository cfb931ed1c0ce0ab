#!/usr/bin/python
"""Moves replicas and leaders of a Kafka cluster under a plan and a throttle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import TOPIC, WRITES
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import control as disks
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import actions, control, record, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request, parse
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS

DOCUMENTATION = """
module: kafka_reassign
version_added: "1.0.0"
short_description: Move replicas and leaders of a Kafka cluster under a plan and a throttle
description:
  - Moves replicas of partitions between brokers, or between the log dirs of a broker, and balances leaders.
  - The module computes a plan with as few copies as possible; its action prints the plan before anything moves. Its
    criteria, in this order, are the spread of each partition over racks, the number of replicas of each broker (as far
    as racks allow it), the number of leaders, and the bytes. The same cluster always gives the same plan.
  - A few partitions move at a time, within I(rate). No further move starts while a partition is under-replicated for
    another reason. At the end each partition has the planned replicas, all in sync, and the throttles of the run are
    removed; throttles that another tool set stay.
  - With I(disk), I(empty) and I(disks) replicas move between log dirs, and never to other brokers.
  - The record of a run is a file in I(record_directory) until the run ends. The same call resumes an interrupted run;
    I(cancel) reverts it.
  - The module refuses a request before anything moves, with all reasons together. It refuses unknown brokers and
    topics; reassignments of another tool; partitions that are under-replicated for another reason; disks of which less
    than 10 % would stay free; fewer racks for a partition, or more of its replicas in one rack; more replicas than
    brokers; fewer replicas than C(min.insync.replicas) requires; another request while a run is interrupted.
options:
  add: {type: list, elements: int, default: [], description: Ids of brokers that receive their share of the replicas.}
  drain: {type: list, elements: int, default: [], description: "Ids of brokers to empty; they may be down."}
  replace:
    description: >-
      Pairs of an old and a new broker, as C(3:7). Broker 7 receives all replicas of broker 3, which may be down.
    type: list
    elements: str
    default: []
  rebalance: {type: bool, default: false, description: Whether to balance replicas over all brokers.}
  leaders: {type: bool, default: false, description: Whether to balance leaders over all brokers; nothing is copied.}
  replication_factor: {type: int, description: Number of replicas that each partition of I(topic) gets.}
  declared:
    description: >-
      Topics as M(millrace.kafka.kafka_topics) takes them. Each existing topic whose number of replicas differs from its
      C(replication_factor) gets the declared number, all topics in one plan. I(topic) selects some of them.
    type: list
    elements: dict
  disk:
    description: >-
      A broker, a log dir to empty, and the log dir of the same broker that receives its replicas, as
      C(3:/data/1:/data/2).
    type: list
    elements: str
    default: []
  empty:
    description: >-
      A broker and a log dir to empty, as C(3:/data/1). The replicas move to the other log dirs of the same broker.
    type: list
    elements: str
    default: []
  disks: {type: list, elements: int, default: [], description: Ids of brokers whose log dirs are balanced by bytes.}
  cancel: {type: bool, default: false, description: Whether to revert all moves of an interrupted run.}
  topic:
    description: Topics to move; all if none is named. Not allowed with I(cancel), which reverts the whole run.
    type: list
    elements: str
    default: []
  rate:
    description: >-
      Bytes a second that each broker may send and receive for the run, as C(50MB), or C(unlimited). With I(disk),
      I(empty) and I(disks), bytes a second that a broker may copy between its log dirs. Required, except with
      I(leaders) and I(cancel). Without it, I(cancel) uses the rate of the interrupted run.
    type: str
    default: ""
  fewer_racks:
    description: Whether partitions may be in fewer racks afterwards, or have more of their replicas in one rack.
    type: bool
    default: false
  brokers:
    description: >-
      All brokers of the inventory. While no broker of a rack is up, nothing is moved, because the replicas would not be
      spread over that rack.
    type: list
    elements: dict
    default: []
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      rack: {type: str, description: "C(broker.rack), if the broker has one."}
  devices:
    description: >-
      By broker id and log dir, the device that holds the log dir. Log dirs on one device share its free space. Log dirs
      without an entry are taken to share a file system if their sizes and free bytes are equal, unless they hold more
      than is in use of one.
    type: dict
    default: {}
  plan:
    description: Name of the plan that check mode printed. If the plan would now be another one, nothing is moved.
    type: str
    default: ""
extends_documentation_fragment: [millrace.kafka.kafka_cluster, millrace.kafka.kafka_moves, millrace.kafka.waits]
attributes:
  check_mode: {description: Returns the plan and moves nothing., support: full}
  diff_mode: {description: The plan shows the changes., support: none}
seealso:
  - {module: millrace.kafka.kafka_topics}
  - {module: millrace.kafka.kafka_log_dir}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Move its share of the replicas to a new broker
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    add: [4]
    rate: 50MB
  delegate_to: localhost

- name: Drain a broker before its host is removed
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    drain: [3]
    rate: 50MB
  delegate_to: localhost

- name: Replace broker 3, which may be down, by broker 7
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    replace: ["3:7"]
    rate: 50MB
  delegate_to: localhost

- name: Balance the replicas of two topics over all brokers
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    rebalance: true
    topic: [orders, returns]
    rate: 50MB
  delegate_to: localhost

- name: Balance leaders, which copies nothing
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    leaders: true
  delegate_to: localhost

- name: Give a topic three replicas
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    replication_factor: 3
    topic: [orders]
    rate: 50MB
  delegate_to: localhost

- name: Give all topics their declared number of replicas
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    declared: "{{ kafka_topics }}"
    rate: 50MB
  delegate_to: localhost

- name: Empty a log dir of broker 3, into its other log dirs
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    empty: ["3:/data/1"]
    rate: 50MB
  delegate_to: localhost

- name: Move all replicas of one log dir of broker 3 to another
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    disk: ["3:/data/1:/data/2"]
    rate: 50MB
  delegate_to: localhost

- name: Balance the log dirs of broker 3 by bytes
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    disks: [3]
    rate: 50MB
  delegate_to: localhost

- name: Resume an interrupted run with another rate, by the same request
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    drain: [3]
    rate: 100MB
  delegate_to: localhost

- name: Revert an interrupted run
  millrace.kafka.kafka_reassign:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    cancel: true
  delegate_to: localhost
"""

RETURN = """
cluster_id:
  description: Id of the cluster that answered.
  type: str
  returned: always
  sample: q1Sh-9_ISia_zwGINzRvyQ
plan:
  description: "Lines of the plan: what is copied, how long it takes, and what brokers hold before and after."
  type: list
  elements: str
  returned: success
  sample:
    - "drain=3 topic=orders: 1 partitions change; 1 replicas are copied, 614.4 MiB"
    - "at 50 MB/s per broker this takes 13 s or more"
    - "  orders-0: 3,1 -> 2,1, 614.4 MiB"
moved:
  description: Partitions that changed, as TOPIC-NUMBER.
  type: list
  elements: str
  returned: success
  sample: [orders-0]
bytes:
  description: Number of bytes that were copied.
  type: int
  returned: if something changed
  sample: 644245094
seconds:
  description: Duration of the run in seconds.
  type: float
  returned: at the end of the run
  sample: 14.2
notes:
  description: Notes on the result, as on brokers that are down or on replicas that were placed meanwhile.
  type: list
  elements: str
  returned: at the end of the run
  sample: ["broker 3 holds 1 partition (orders-2), placed there meanwhile: run the same command again"]
waiting:
  description: State of a run that has not ended. C(what) is its progress, C(waited) is the option of the next call.
  type: dict
  returned: with I(pause), while the run has not ended
  sample: {what: ["0 of 1 partitions, 12.0 MiB of 614.4 MiB"], timeout: 0, waited: {done: 0}}
"""

BROKER: dict[str, Any] = {"id": {"type": "int", "required": True}, "rack": {"type": "str"}}
IDS: dict[str, Any] = {"type": "list", "elements": "int", "default": []}
TEXTS: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
TEXT: dict[str, Any] = {"type": "str", "default": ""}
SWITCH: dict[str, Any] = {"type": "bool", "default": False}


def answer(module: KafkaModule, request: Request, admin: Admin, metadata: Metadata) -> dict[str, Any]:
    """Take the lock that keeps out other runs of reassign.yml, and return the plan, the progress, or the result.

    The lock is free between two calls for the same run, so a later call waits while another run holds it. Raises
    Refused if the request is rejected, the lock is held, or the record cannot be read. Raises Unfinished if a part was
    done, AdminError if the cluster does not answer.
    """
    path = record.path_of(metadata.cluster_id, module.params["record_directory"])
    wait = record.PATIENCE if module.params["waited"] else 0
    with control.readable(path), record.alone(path, "a run of reassign.yml", look=module.check_mode, wait=wait):
        return by_record(module, request, admin, metadata, path)


def by_record(module: KafkaModule, request: Request, admin: Admin, metadata: Metadata, path: Path) -> dict[str, Any]:
    """Begin a run, or continue the run in the record file at `path`; return the module's result.

    The caller holds the lock of the record. Raises Refused if the request is rejected, Unfinished if another run ended
    this run, AdminError if the cluster does not answer, OSError if the record cannot be read.
    """
    pause, waited = module.params["pause"], module.params["waited"]
    begun = record.load(path)
    if waited:
        if begun is None or begun.asked != request.words:
            raise Unfinished(f"{request.words} was ended or reverted by another run meanwhile", {"changed": True})
        continue_run = disks.continue_run if begun.kind == record.SHIFTS else control.continue_run
        return continue_run(admin, begun, path, pause, waited)
    if begun.kind == record.SHIFTS if begun else request.within:
        return between_disks(module, request, admin, metadata, begun, path)
    declared = {broker["id"]: broker["rack"] for broker in module.params["brokers"]}
    known = snapshot.at_controller(admin, metadata, begun.moves if begun else ())
    there = snapshot.look(admin, known, request.devices)
    planned = control.prepare(request, there, declared, begun, admin)
    if planned:
        control.require_plan(planned, module.params["plan"])
    if planned is None or module.check_mode:
        return control.plan_answer(planned, control.nothing_to_move(request, admin, metadata))
    return control.start_run(admin, planned, path, pause)


def between_disks(
    module: KafkaModule, request: Request, admin: Admin, metadata: Metadata, begun: record.Record | None, path: Path
) -> dict[str, Any]:
    """Begin a run that moves replicas between log dirs of a broker, and return the module's result.

    `begun` is the record of an unfinished run, if there is one; `path` is its file. Raises Refused if the request is
    rejected, Unfinished if a part was done, AdminError if the cluster does not answer, OSError if the record cannot be
    written.
    """
    there = snapshot.at_controller(admin, metadata)
    planned = disks.prepare(request, there.brokers, there.topics, begun, admin)
    if planned:
        control.require_plan(planned, module.params["plan"])
    if planned is None or module.check_mode:
        return control.plan_answer(planned, f"{request.words}: nothing to move")
    return control.start_run(admin, planned, path, module.params["pause"], disks.continue_run)


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
    request, mistakes = parse(module.params)
    if mistakes:
        module.fail_json(msg=actions.listed("reassign: nothing was moved", mistakes))
    ask(module, "reassign", lambda admin, metadata: answer(module, request, admin, metadata))


if __name__ == "__main__":
    main()
