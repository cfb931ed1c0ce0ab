#!/usr/bin/python
"""Let a Kafka broker take in a new disk in place of one of its log dirs that failed."""

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
short_description: Let a broker take in a new disk in place of a log dir that failed, under a limit
description:
  - With C(begin), judges the disk by what its host says, and the cluster, and sets the limits of what is copied; the
    broker has to be restarted then, which this module does not do. With C(wait), waits until the broker is in sync
    with all that it had on the disk that failed, and takes the limits back; those that others set stay.
  - What was begun stands in a file of I(record_directory) until its end. The same call again goes on after an
    interruption.
  - "Refused, with all else that is wrong: a disk that is not mounted, that fails, or that holds anything but this
    broker's own data; another log dir that fails, for beside it the broker makes no replica anew; more than the disks
    hold, of which 10 % stay free; partitions with which the broker alone was in sync, for it would lead them with
    nothing. So is everything but C(wait) while M(millrace.kafka.kafka_reassign), or the timer, moves replicas from the
    same host."
  - Nothing is formatted, and nothing is deleted.
options:
  broker: {type: int, required: true, description: C(broker.id).}
  log_dir: {type: str, required: true, description: "The log dir, as C(/data/2)."}
  question:
    description:
      - C(begin) before the broker is restarted, C(wait) afterwards.
      - C(cancel) takes back the limits of a run that was interrupted, whichever it was, and forgets it.
    type: str
    choices: [begin, wait, cancel]
    default: begin
  mounts:
    description: By log dir of the broker, what its host says of it (C(mounts) of M(millrace.kafka.host_probe)).
    type: dict
    required: true
  meta_properties: {type: dict, default: {}, description: "By log dir, what its meta.properties says (the same)."}
  is_mount: {type: bool, default: true, description: A file system has to be mounted there.}
  lost:
    description: >-
      Partitions, as C(orders-0), whose records are given up, where the broker alone was in sync with them.
    type: list
    elements: str
    default: []
  rate:
    description: >-
      Bytes a second that each broker may send, and take, for it, as C(50MB); empty, or C(unlimited), without a limit.
    type: str
    default: ""
extends_documentation_fragment: [millrace.kafka.kafka_moves, millrace.kafka.waits]
attributes:
  check_mode: {description: Says what would be copied., support: full}
  diff_mode: {description: The plan says it., support: none}
seealso:
  - {module: millrace.kafka.kafka_reassign}
  - {module: millrace.kafka.host_probe}
author: [Millrace developers]
"""

EXAMPLES = """
- name: What broker 3 has to copy, and whether it may
  millrace.kafka.kafka_log_dir:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    broker: 3
    log_dir: /data/2
    mounts: "{{ preflight_probe.probe.mounts }}"
    meta_properties: "{{ preflight_probe.probe.meta_properties }}"
    rate: 50MB
  delegate_to: localhost
"""

RETURN = """
cluster_id: {description: Id of the cluster that answered., type: str, returned: always}
plan: {description: "What is copied, and for how long, in lines.", type: list, elements: str, returned: with begin}
restart:
  description: Whether the broker has to be started, or restarted, to take the disk in.
  type: bool
  returned: with begin
moved:
  description: "Replicas that are copied, as TOPIC-NUMBER."
  type: list
  elements: str
  returned: in check mode, and with wait at the end
bytes: {description: How many were copied., type: int, returned: at the end}
seconds: {description: How long it took., type: float, returned: at the end}
notes: {description: What is to be known of it., type: list, elements: str, returned: at the end}
broker: {description: Whose disk the run was to take in., type: int, returned: "with cancel, where one is called off"}
answer: {description: What was done in one line., type: str, returned: "with wait, at the end, and with cancel"}
waiting:
  description: >-
    C(what) is under way, and C(waited) for the next call.
  type: dict
  returned: with pause, where it goes on
"""


def asked(module: KafkaModule) -> add_disk.Asked:
    """Return the request; ends the module where the rate is none."""
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
    return add_disk.Asked(disk, rate, bool(options["rate"]))


def answer(module: KafkaModule, request: add_disk.Asked, admin: Admin, metadata: Metadata) -> dict[str, Any]:
    """Return what is to be done, what is waited for, or what was done. Raises Refused, Unfinished, AdminError.

    What begins, and what is called off, keeps runs of moves away for that moment; what is waited for is written down by
    then, and each of both kinds of runs leaves the limits that the other needs.
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
            return begun_or_called_off(module, request, admin, metadata, path)
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}; it says what a run has begun, and has to be readable") from error


def begun_or_called_off(
    module: KafkaModule, request: add_disk.Asked, admin: Admin, metadata: Metadata, path: Path
) -> dict[str, Any]:
    """Return the same, of whom nobody else on this host disturbs. Raises Refused, Unfinished, AdminError, OSError."""
    begun = record.load(path)
    if module.params["question"] == "cancel":
        return add_disk.called_off(admin, begun, path, module.check_mode)
    found = snapshot.look(admin, snapshot.at_controller(admin, metadata))
    planned = add_disk.prepare(request, found, begun)
    told = {"changed": planned.needed, "restart": planned.restart, "plan": list(planned.work.lines)}
    if planned.needed and not module.check_mode:
        add_disk.begin(admin, planned, path)
    return {**told, **({"moved": [str(move) for move in planned.work.left]} if module.check_mode else {})}


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
    request = asked(module)
    ask(module, "log dir", lambda admin, metadata: answer(module, request, admin, metadata))


if __name__ == "__main__":
    main()
