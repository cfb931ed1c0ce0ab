#!/usr/bin/python
"""Have another broker be the controller before the one of this host stops."""

from __future__ import annotations

import json
import sys

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: kafka_controller
short_description: Have another broker be the controller before the one of this host stops
description:
  - The controller moves what a broker leads that stops; of its own stop, clients hear late. Run this on the host of the
    controller, when it may stop, and then have M(millrace.kafka.kafka_gate) wait until nobody names it any more
    (I(former) there).
  - Runs C(/etc/kafka/hand_over.py), which the role C(kafka) installs with what it reads of the broker's file. It
    deletes the znode of the controller, once, and nothing else, and holds this broker's process while another one is
    elected, for at most 0.5 s. On the host of another broker, within 5 s of an election, and where nobody else is
    registered, it does nothing.
  - Never fails. Where it comes to nothing, it warns; where nothing was deleted, Kafka elects another controller when
    the broker has stopped.
options:
  stopped: {type: list, elements: int, default: [], description: Ids of the brokers that stop together with this one.}
  script: {type: path, default: /etc/kafka/hand_over.py, description: What the role installed.}
  properties: {type: path, default: /etc/kafka/server.properties, description: The broker's file.}
attributes:
  check_mode: {description: Asks nobody, and says that nothing changes., support: full}
  diff_mode: {description: There is none., support: none}
seealso:
  - {module: millrace.kafka.kafka_gate}
  - {module: millrace.kafka.kafka_leaders}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Another one is the controller
  millrace.kafka.kafka_controller:
    stopped: [1]
"""

RETURN = """
elected:
  description: Ids of the brokers that are the controller in place of this one, one or none.
  type: list
  elements: int
  returned: success
former:
  description: Ids of the brokers that are the controller no more, one or none.
  type: list
  elements: int
  returned: success, but where what runs was killed, and nobody knows
answer: {description: "What was done, as C(broker 2 is the controller now).", type: str, returned: success}
"""

NOW = "is the controller now"
NOT = "is not the controller"


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
        module.exit_json(changed=False, elected=[], former=[], answer="nobody was asked")
    files = [module.params["script"], module.params["properties"]]
    command = [sys.executable, "-I", "-S", *files, *map(str, module.params["stopped"])]
    try:
        status, out, error = module.run_command(command, handle_exceptions=False)
        said = json.loads(out) if status == 0 else {"said": error.strip().rpartition("\n")[2], "elected": []}
        said |= {"former": []} if status > 0 else {}  # it could not even begin
    except (OSError, ValueError) as failed:
        status, said = 1, {"said": str(failed), "elected": []}
    answer = said.pop("said") or f"it ended with {status}"
    if NOW not in answer and NOT not in answer:
        module.warn(f"no other broker is known to be the controller before this one is stopped: {answer}")
    said["elected"] = said["elected"] if NOW in answer else []
    module.exit_json(changed=bool(said.get("former")), answer=answer, **said)


if __name__ == "__main__":
    main()
