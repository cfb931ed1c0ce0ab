#!/usr/bin/python
"""Waits until the worker of MirrorMaker on this host has joined the others, and returns the settings that it uses."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.mirror_maker import effects, worker_log

DOCUMENTATION = """
module: mirror_maker_worker
short_description: Wait until a worker of MirrorMaker has started, and return the settings that it uses
version_added: "1.0.0"
description:
  - Reads in the journal of this host what C(mirror-maker.service) has logged since its start. Waits until the worker
    has joined the other workers for each pair of clusters, until the connectors that it runs have started, and until
    tasks have not moved between workers for O(settle) seconds. Also waits for the values of O(properties), but does not
    fail without them. Changes nothing.
  - MirrorMaker ignores properties that it does not know. RV(settings) shows what its parts really use.
options:
  pairs: {type: list, elements: str, required: true, description: "Source and target of each flow, as C(west->east)."}
  properties:
    type: list
    elements: dict
    required: true
    description: The properties that are compared with the log, as the filter C(mirror_maker_compared) returns them.
    suboptions:
      key: {type: str, required: true, description: Key of the property in C(mirror-maker.properties).}
      name: {type: str, required: true, description: Name under which parts of the worker log it.}
      value: {type: str, required: true, description: Its value.}
      kinds: {type: str, required: true, description: Regular expression of the classes of settings that use it.}
      client: {type: str, default: "", description: Regular expression of the client.id of clients that use it.}
      flow: {type: str, default: "", description: "The flow that alone uses it, as C(west->east)."}
  timeout: {type: int, default: 120, description: Seconds to wait at most.}
  settle: {type: int, default: 8, description: Seconds without a move of tasks between workers.}
  unit: {type: str, default: mirror-maker.service, description: Systemd unit of the worker.}
attributes:
  check_mode: {description: The module only reads., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.kafka_mirrors}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait until the worker has started
  millrace.kafka.mirror_maker_worker:
    pairs: [west->east]
    properties:
      - key: east.exactly.once.source.support
        name: exactly.once.source.support
        value: enabled
        kinds: DistributedConfig
  register: worker

- name: Return the size of fetches after a change
  millrace.kafka.mirror_maker_worker:
    pairs: [west->east]
    properties:
      - key: west->east.source.consumer.max.partition.fetch.bytes
        name: max.partition.fetch.bytes
        value: "1048576"
        kinds: ConsumerConfig
        client: replication-consumer
    settle: 20
"""

RETURN = """
settings:
  description: Each part of the worker with its C(kind), C(client) (its client.id) and C(values) by name.
  type: list
  elements: dict
  returned: success
  sample: [{kind: DistributedConfig, client: "", values: {exactly.once.source.support: enabled}}]
tasks:
  description: Tasks of this worker by pair.
  type: dict
  returned: success
  sample: {west->east: [MirrorSourceConnector-0]}
leaders:
  description: URL of the leading worker by pair.
  type: dict
  returned: success
  sample: {west->east: "http://198.18.60.31:8083/"}
"""


PROPERTY: dict[str, Any] = {
    **{name: {"type": "str", "required": True} for name in ("key", "name", "value", "kinds")},
    **{name: {"type": "str", "default": ""} for name in ("client", "flow")},
}


def logged(unit: str) -> tuple[bool, list[str]]:
    """Return whether a unit runs, and the lines that its last process has logged.

    Raises CalledProcessError without journalctl.
    """
    run = {"check": True, "capture_output": True, "text": True, "errors": "replace"}
    shown = subprocess.run(["systemctl", "show", "-p", "InvocationID,ActiveState", unit], **run)  # type: ignore[call-overload]
    found = dict(line.split("=", 1) for line in str(shown.stdout).splitlines() if "=" in line)
    process = f"_SYSTEMD_INVOCATION_ID={found['InvocationID']}"
    journal = subprocess.run(["journalctl", "--no-pager", "-o", "cat", process], **run)  # type: ignore[call-overload]
    return found["ActiveState"] == "active", str(journal.stdout).splitlines()


def problem(log: worker_log.WorkerLog, pairs: Sequence[str]) -> str:
    """Return what a worker has not done yet; '' if it runs as it should."""
    if missing := worker_log.not_joined(log, pairs):
        return f"has not joined the other workers of {', '.join(missing)}"
    waiting = worker_log.not_started(log)
    return f"has not started {', '.join(waiting)}" if waiting else ""


def values_of(blocks: Sequence[worker_log.Block], wanted: Sequence[effects.Wanted]) -> list[dict[str, Any]]:
    """Return kind, client and values of the parts of a worker that use one of the properties."""
    names = {one.name for one in wanted} | {*effects.FLOW_OF_PART}
    return [
        {"kind": one.kind, "client": one.client, "values": values}
        for one in blocks
        if (values := {name: value for name, value in one.values.items() if name in names})
    ]


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "pairs": {"type": "list", "elements": "str", "required": True},
            "properties": {"type": "list", "elements": "dict", "required": True, "options": PROPERTY},
            "timeout": {"type": "int", "default": 120},
            "settle": {"type": "int", "default": 8},
            "unit": {"type": "str", "default": "mirror-maker.service"},
        },
        supports_check_mode=True,
    )
    options, tick = module.params, threading.Event()
    wanted = [effects.Wanted(**one) for one in options["properties"]]
    deadline, moved, tasks = time.monotonic() + options["timeout"], time.monotonic(), None
    while True:
        active, lines = logged(options["unit"])
        log = worker_log.read(lines)
        settings = values_of(worker_log.current(log), wanted)
        if log.tasks != tasks:
            moved, tasks = time.monotonic(), log.tasks
        what = problem(log, options["pairs"]) if active else "does not run"
        wrong = effects.wrong(wanted, settings, len(options["pairs"]) > 1) if log.begun else []
        late, settled = time.monotonic() >= deadline, time.monotonic() >= moved + options["settle"]
        if not what and settled and (late or not wrong):
            break
        if late:
            errors = [line for line in lines if line.startswith(("ERROR", "FATAL"))][-3:]
            why = "; its last errors: " + " / ".join(errors) if errors else ""
            if not lines:
                why = "; its journal is empty, so it logs elsewhere (StandardOutput in mirror_maker_unit_overrides)"
            said = f"{options['unit']} {what or 'moves its tasks'} after {options['timeout']} s{why}"
            module.fail_json(msg=said)
        tick.wait(1)
    module.exit_json(changed=False, settings=settings, tasks=log.tasks, leaders=log.leaders)


if __name__ == "__main__":
    main()
