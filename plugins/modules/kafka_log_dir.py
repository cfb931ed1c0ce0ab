#!/usr/bin/python
"""Replaces a failed disk of a Kafka broker by a new one, under a throttle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import WRITES
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import add_disk
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.new_disk import NewDisk
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, record, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS

DOCUMENTATION = """
module: kafka_log_dir
version_added: "1.0.0"
short_description: Replace a failed disk of a broker by a new one, under a throttle
description:
  - Replaces a failed disk of a Kafka broker by a new one that is mounted at the same log dir.
  - With C(begin), checks the disk by the facts of its host and the state of the cluster, and throttles the copies.
    Restart the broker then; this module does not restart it.
  - With C(wait), waits until the broker is in sync with all partitions that it had on the failed disk, and removes the
    throttles of the run; throttles that another tool set stay.
  - The record of a run is a file in I(record_directory) until the run ends. The same call resumes an interrupted run.
  - The module refuses a disk before anything changes, with all reasons together. It refuses a disk that is not mounted,
    that fails, or that holds any data but this broker's; another log dir that fails, because a broker recreates no
    replica while a log dir is offline; disks of which less than 10 % would stay free; partitions of which this broker
    alone was in sync, because it would lead them with an empty replica.
  - C(begin) and C(cancel) are refused while M(millrace.kafka.kafka_reassign), or the timer, moves replicas from the
    same host. C(wait) is not.
  - Nothing is formatted, and nothing is deleted.
options:
  broker: {type: int, required: true, description: C(broker.id).}
  log_dir: {type: str, required: true, description: "The log dir, as C(/data/2)."}
  question:
    description:
      - C(begin) before the broker is restarted, C(wait) afterwards.
      - C(cancel) removes the throttles of an interrupted run, of any broker and log dir, and deletes its record.
    type: str
    choices: [begin, wait, cancel]
    default: begin
  mounts:
    description: By log dir of the broker, the facts of its file system (C(mounts) of M(millrace.kafka.host_probe)).
    type: dict
    required: true
  meta_properties:
    description: By log dir, its meta.properties (C(meta_properties) of M(millrace.kafka.host_probe)).
    type: dict
    default: {}
  is_mount: {type: bool, default: true, description: Whether the log dir has to be a mount point.}
  lost:
    description: >-
      Partitions, as C(orders-0), of which this broker alone was in sync, and whose records may be given up.
    type: list
    elements: str
    default: []
  rate:
    description: >-
      Bytes a second that each broker may send and receive for the copies, as C(50MB). Without a limit if it is empty or
      C(unlimited).
    type: str
    default: ""
extends_documentation_fragment: [millrace.kafka.kafka_cluster, millrace.kafka.kafka_moves, millrace.kafka.waits]
attributes:
  check_mode: {description: Returns what would be copied and changes nothing., support: full}
  diff_mode: {description: The plan shows the changes., support: none}
seealso:
  - {module: millrace.kafka.kafka_reassign}
  - {module: millrace.kafka.host_probe}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Check a new disk of broker 3, and throttle its copies
  millrace.kafka.kafka_log_dir:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    broker: 3
    log_dir: /data/2
    mounts: "{{ preflight_probe.probe.mounts }}"
    meta_properties: "{{ preflight_probe.probe.meta_properties }}"
    rate: 50MB
  delegate_to: localhost

- name: Wait until the restarted broker is in sync
  millrace.kafka.kafka_log_dir:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    broker: 3
    log_dir: /data/2
    question: wait
    mounts: "{{ preflight_probe.probe.mounts }}"
    meta_properties: "{{ preflight_probe.probe.meta_properties }}"
  delegate_to: localhost

- name: Give up the records of a partition that no other broker has in sync
  millrace.kafka.kafka_log_dir:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    broker: 3
    log_dir: /data/2
    lost: [orders-0]
    mounts: "{{ preflight_probe.probe.mounts }}"
    meta_properties: "{{ preflight_probe.probe.meta_properties }}"
  delegate_to: localhost

- name: Cancel an interrupted run
  millrace.kafka.kafka_log_dir:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    broker: 3
    log_dir: /data/2
    question: cancel
    mounts: {}
  delegate_to: localhost
"""

RETURN = """
cluster_id:
  description: Id of the cluster that answered.
  type: str
  returned: always
  sample: q1Sh-9_ISia_zwGINzRvyQ
plan:
  description: "Lines of the plan: what is copied, how long it takes, and whether the broker is restarted."
  type: list
  elements: str
  returned: with C(begin)
  sample:
    - "broker=3 log_dir=/data/2: 1 replicas are copied to the disk, 614.4 MiB"
    - "broker 3 is restarted through the gate, or started if it is down"
    - "  orders-0: from 1, 614.4 MiB"
restart:
  description: Whether the broker has to be started or restarted to use the disk.
  type: bool
  returned: with C(begin)
  sample: true
moved:
  description: Replicas that are copied, as TOPIC-NUMBER.
  type: list
  elements: str
  returned: in check mode, and at the end with C(wait)
  sample: [orders-0]
bytes:
  description: Number of bytes that were copied.
  type: int
  returned: at the end with C(wait)
  sample: 644245094
seconds:
  description: Duration of the run in seconds.
  type: float
  returned: at the end with C(wait)
  sample: 14.2
notes:
  description: Notes on the result, as on throttles that stay.
  type: list
  elements: str
  returned: at the end with C(wait), and with C(cancel) if a run was canceled
  sample: []
broker:
  description: Broker of the run that was canceled.
  type: int
  returned: with C(cancel), if a run was canceled
  sample: 3
answer:
  description: One line on the result.
  type: str
  returned: at the end with C(wait), and with C(cancel)
  sample: "broker 3 serves from /data/2: 1 replicas, 614.4 MiB, are in sync after 14 s"
waiting:
  description: State of a run that has not ended. C(what) is its progress, C(waited) is the option of the next call.
  type: dict
  returned: with I(pause), while the run has not ended
  sample: {what: ["0 of 1 partitions, 12.0 MiB of 614.4 MiB"], timeout: 0, waited: {done: 0}}
"""


def request_of(module: KafkaModule) -> add_disk.Request:
    """Return the module's options as a request to add a new disk; fail the module if `rate` is invalid."""
    options = module.params
    paths = {os.path.normpath(path): facts for path, facts in options["mounts"].items()}
    meta = {os.path.normpath(path): facts for path, facts in options["meta_properties"].items()}
    lost = frozenset(name.strip() for name in options["lost"])
    path = os.path.normpath(options["log_dir"])
    disk = NewDisk(options["broker"], path, paths, meta, options["is_mount"], lost)
    try:
        rate = amounts.rate(options["rate"]) if options["rate"] else None
    except ValueError as error:
        module.fail_json(msg=f"log dir: nothing was changed: {error}")
    return add_disk.Request(disk, rate, bool(options["rate"]))


def answer(module: KafkaModule, request: add_disk.Request, admin: Admin, metadata: Metadata) -> dict[str, Any]:
    """Return the plan, the progress, or the result, as the option `question` (begin, wait, cancel) requires.

    `begin` and `cancel` hold a lock that keeps out runs of reassign.yml. `wait` needs no lock, because the record of
    the run exists by then, and other runs do not remove its throttles. Raises Refused if the request is rejected or the
    record cannot be read, Unfinished if another run has ended this run, AdminError if the cluster does not answer.
    """
    options, disk = module.params, request.disk
    directory = options["record_directory"]
    path = record.path_of(metadata.cluster_id, directory, record.DISK)
    try:
        if options["question"] == "wait":
            begun = record.load(path)
            if begun is None or begun.asked != disk.words:
                raise Unfinished(f"{disk.words} was ended by another run meanwhile", {"changed": True})
            return add_disk.wait(admin, begun, disk, path, options["pause"], options["waited"])
        moves = record.path_of(metadata.cluster_id, directory)
        with record.alone(moves, "a run of replace_disk.yml", look=module.check_mode):
            return begin_or_cancel(module, request, admin, metadata, path)
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}; this file records an unfinished run and must be readable") from error


def begin_or_cancel(
    module: KafkaModule, request: add_disk.Request, admin: Admin, metadata: Metadata, path: Path
) -> dict[str, Any]:
    """Begin or cancel a run, and return the module's result; the caller holds the lock.

    `path` is the record file of the run. Raises Refused if the request is rejected, Unfinished if a part was done,
    AdminError if the cluster does not answer, OSError if the record cannot be read.
    """
    begun = record.load(path)
    if module.params["question"] == "cancel":
        return add_disk.cancel(admin, begun, path, module.check_mode)
    there = snapshot.look(admin, snapshot.at_controller(admin, metadata))
    planned = add_disk.prepare(request, there, begun)
    plan = {"changed": planned.needed, "restart": planned.restart, "plan": list(planned.work.lines)}
    if planned.needed and not module.check_mode:
        add_disk.begin(admin, planned, path)
    return {**plan, **({"moved": [str(move) for move in planned.work.left]} if module.check_mode else {})}


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **WRITES,
            "broker": {"type": "int", "required": True},
            "log_dir": {"type": "str", "required": True},
            "question": {"type": "str", "choices": ["begin", "wait", "cancel"], "default": "begin"},
            "mounts": {"type": "dict", "required": True},
            "meta_properties": {"type": "dict", "default": {}},
            "is_mount": {"type": "bool", "default": True},
            "lost": {"type": "list", "elements": "str", "default": []},
            "rate": {"type": "str", "default": ""},
            "record_directory": {"type": "str", "default": record.FOLDER},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    request = request_of(module)
    ask(module, "log dir", lambda admin, metadata: answer(module, request, admin, metadata))


if __name__ == "__main__":
    main()
