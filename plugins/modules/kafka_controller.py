#!/usr/bin/python
"""Moves the controller to another broker before the broker of this host stops."""

from __future__ import annotations

import json
import sys

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: kafka_controller
short_description: Move the controller to another broker before the broker of this host stops
version_added: "1.0.0"
description:
  - Moves the controller of a Kafka cluster to another broker. If the broker that stops is the controller, clients are
    informed late of their new leaders; if the controller is moved before, they are not.
  - Run the module on the host of the controller, after M(millrace.kafka.kafka_gate) has allowed the stop. Then wait
    with M(millrace.kafka.kafka_gate) and its option C(former), until no broker names the former controller any more.
  - Runs C(/etc/kafka/hand_over.py), which the role C(kafka) installs. The script deletes the controller's znode once,
    and nothing else. It pauses the process of this broker during the election, for at most 0.5 s.
  - Does nothing on the host of another broker, within 5 s of an election, and if no other broker is registered.
  - Never fails. Causes a warning if the controller could not be moved. If the znode was not deleted, Kafka elects
    another controller as soon as the broker has stopped.
options:
  stopped: {type: list, elements: int, default: [], description: Ids of the brokers that stop together with this one.}
  script: {type: path, default: /etc/kafka/hand_over.py, description: Path of the script that the role installed.}
  properties:
    description: Path of the broker's configuration.
    type: path
    default: /etc/kafka/server.properties
attributes:
  check_mode: {description: Does not run the script and reports no change., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.kafka_gate}
  - {module: millrace.kafka.kafka_leaders}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Move the controller away from broker 1
  millrace.kafka.kafka_controller:
    stopped: [1]
  register: handed_over

- name: Move the controller away from a rack that is about to stop
  millrace.kafka.kafka_controller:
    stopped: [1, 4, 7]

- name: Wait until no broker names the former controller
  millrace.kafka.kafka_gate:
    listeners: {REPLICATION: {bootstrap.servers: "198.18.2.21:9093"}}
    brokers: [1, 2, 3]
    stop: [1]
    former: "{{ handed_over.former | default([1]) }}"
    timeout: 60
  delegate_to: localhost
"""

RETURN = """
elected:
  description: Id of the broker that is the controller now and keeps running; empty if there is none.
  type: list
  elements: int
  returned: success
  sample: [2]
former:
  description: Id of the broker that is no longer the controller; empty if the controller did not change.
  type: list
  elements: int
  returned: success, unless the script was killed
  sample: [1]
state:
  description:
    - V(handed_over), another broker is the controller now; V(not_controller), this broker was not the controller.
    - V(refused) or V(failed), nothing was deleted; V(stopping), the elected broker is about to stop, too; V(unknown),
      the znode may have been deleted and no new controller is known; V(not_asked), check mode.
  type: str
  returned: success
  sample: handed_over
answer:
  description: The same as a sentence.
  type: str
  returned: success
  sample: broker 2 is the controller now
"""

HANDED_OVER = "handed_over"
NOT_CONTROLLER = "not_controller"
FAILED = "failed"
UNKNOWN = "unknown"
# States of hand_over.py. With any other than the first two, this broker may be the controller when it stops.


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "stopped": {"type": "list", "elements": "int", "default": []},
            "script": {"type": "path", "default": "/etc/kafka/hand_over.py"},
            "properties": {"type": "path", "default": "/etc/kafka/server.properties"},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, elected=[], former=[], state="not_asked", answer="not asked in check mode")
    files = [module.params["script"], module.params["properties"]]
    command = [sys.executable, "-I", "-S", *files, *map(str, module.params["stopped"])]
    try:
        status, out, error = module.run_command(command, handle_exceptions=False)
        printed = json.loads(out) if status == 0 else {"message": error.strip().rpartition("\n")[2]}
        printed |= {"former": [], "state": FAILED} if status > 0 else {}  # the script could not even start
        if status == 0 and "state" not in printed:
            printed["message"] = f"{module.params['script']} is of another release: run kafka.yml, which replaces it"
    except (OSError, ValueError) as failed:
        status, printed = 1, {"message": str(failed), "state": FAILED}
    state = printed.get("state", UNKNOWN)
    answer = printed.get("message", "") or f"{module.params['script']} ended with {status}"
    if state not in (HANDED_OVER, NOT_CONTROLLER):
        module.warn(f"this broker may still be the controller when it stops: {answer}")
    elected = printed.get("elected", []) if state == HANDED_OVER else []
    former = {"former": printed["former"]} if "former" in printed else {}
    module.exit_json(changed=bool(printed.get("former")), state=state, answer=answer, elected=elected, **former)


if __name__ == "__main__":
    main()
