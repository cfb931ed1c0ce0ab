#!/usr/bin/python
"""Waits until the worker of MirrorMaker on this host has joined the others, and returns the settings that it uses."""

from __future__ import annotations

import subprocess
import threading
import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.mirror_maker import worker_log

DOCUMENTATION = """
module: mirror_maker_worker
short_description: Wait until a worker of MirrorMaker has started, and return the settings that it uses
version_added: "1.0.0"
description:
  - Reads in the journal of this host what C(mirror-maker.service) has logged since its start. Waits until the worker
    has joined the other workers for each pair of clusters, until the connectors that it runs have started, and until
    tasks have not moved between workers for O(settle) seconds. Changes nothing.
  - MirrorMaker ignores properties that it does not know. RV(settings) shows what its parts really use.
options:
  pairs: {type: list, elements: str, required: true, description: "Source and target of each flow, as C(west->east)."}
  names: {type: list, elements: str, required: true, description: Names of the properties to return.}
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
    names: [exactly.once.source.support]
  register: worker

- name: Return the size of fetches after a change
  millrace.kafka.mirror_maker_worker:
    pairs: [west->east]
    names: [max.partition.fetch.bytes]
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


def logged(unit: str) -> list[str]:
    """Return the lines that the running process of a unit has logged. Raises CalledProcessError without journalctl."""
    run = {"check": True, "capture_output": True, "text": True, "errors": "replace"}
    shown = subprocess.run(["systemctl", "show", "-p", "InvocationID", "--value", unit], **run)  # type: ignore[call-overload]
    process = f"_SYSTEMD_INVOCATION_ID={shown.stdout.strip()}"
    journal = subprocess.run(["journalctl", "--no-pager", "-o", "cat", process], **run)  # type: ignore[call-overload]
    return str(journal.stdout).splitlines()


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "pairs": {"type": "list", "elements": "str", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 120},
            "settle": {"type": "int", "default": 8},
            "unit": {"type": "str", "default": "mirror-maker.service"},
        },
        supports_check_mode=True,
    )
    options, tick = module.params, threading.Event()
    deadline, moved, tasks = time.monotonic() + options["timeout"], time.monotonic(), None
    while True:
        lines = logged(options["unit"])
        log = worker_log.read(lines)
        missing, waiting = worker_log.not_joined(log, options["pairs"]), worker_log.not_started(log)
        if log.tasks != tasks:
            moved, tasks = time.monotonic(), log.tasks
        if not missing and not waiting and time.monotonic() >= moved + options["settle"]:
            break
        if time.monotonic() >= deadline:
            errors = [line for line in lines if line.startswith(("ERROR", "FATAL"))][-3:]
            what = f"has not started {', '.join(waiting)}" if waiting else "moves its tasks"
            what = f"has not joined the other workers of {', '.join(missing)}" if missing else what
            why = "; its last errors: " + " / ".join(errors) if errors else ""
            if not lines:
                why = "; its journal is empty, so it logs elsewhere (StandardOutput in mirror_maker_unit_overrides)"
            module.fail_json(msg=f"{options['unit']} {what} after {options['timeout']} s{why}")
        tick.wait(1)
    names = set(options["names"])
    settings = [
        {"kind": one.kind, "client": one.client, "values": values}
        for one in log.blocks
        if (values := {name: value for name, value in one.values.items() if name in names})
    ]
    module.exit_json(changed=False, settings=settings, tasks=log.tasks, leaders=log.leaders)


if __name__ == "__main__":
    main()
