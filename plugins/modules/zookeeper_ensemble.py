#!/usr/bin/python
"""Wait until a ZooKeeper ensemble is whole."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.millrace.ensemble import wait

DOCUMENTATION = """
module: zookeeper_ensemble
short_description: Wait until an ensemble has one leader and every other server follows in sync; changes nothing
options:
  servers: {type: dict, required: true, description: "Name to address of every server, as clients reach it."}
  port: {type: int, default: 2181}
  timeout: {type: int, default: 0, description: Seconds; 0 asks once.}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait for the ensemble
  zookeeper_ensemble:
    servers: {dc1-zk1: 198.18.1.11}
    timeout: 60
"""

RETURN = """
modes: {description: Mode of each server., type: dict, returned: always}
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "port": {"type": "int", "default": 2181},
            "timeout": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    seconds = module.params["timeout"]
    modes, found = wait(module.params["servers"], module.params["port"], seconds)
    if found:
        module.fail_json(
            msg=f"ZooKeeper ensemble not whole after {seconds} s: {'; '.join(found)}. No server was stopped. "
            "Look at: journalctl -u zookeeper on the servers named",
            modes=modes,
        )
    module.exit_json(changed=False, modes=modes)


if __name__ == "__main__":
    main()
