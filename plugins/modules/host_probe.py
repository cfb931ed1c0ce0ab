#!/usr/bin/python
"""Read what preflight and check need to know of a host, in one call."""

from __future__ import annotations

import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.millrace.probe import probe

DOCUMENTATION = """
module: host_probe
short_description: Read addresses, mounts, disks, clock, limits, firewall, units and ZooKeeper mode of a host, and try its peers; changes nothing
options:
  mounts: {type: list, elements: str, default: [], description: Paths that should be mount points.}
  kafka_log_dirs:
    type: list
    elements: str
    default: []
    description: Directories whose meta.properties is read; which of them a running broker has given up.
  zookeeper_data_dir: {type: str, description: Directory whose myid is read.}
  java_executable: {type: str, default: /usr/bin/java, description: Path of the java that is looked for.}
  zookeeper_address: {type: str, description: Where this host's ZooKeeper server answers.}
  zookeeper_port: {type: int}
  zookeeper_tls: {type: dict, description: "certificate (a PEM file with its key) and ca, on the host, where that port speaks TLS."}
  units: {type: list, elements: str, default: [], description: systemd units whose state is read.}
  peers: {type: list, elements: dict, default: [], description: "address and port of what this host has to reach."}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Probe
  host_probe:
    mounts: [/data/kafka1]
    kafka_log_dirs: [/data/kafka1]
  register: __probe
"""

RETURN = """
probe: {description: The facts; see module_utils/millrace/probe.py., type: dict, returned: success}
"""


def main() -> None:
    """Run as an Ansible module."""
    texts = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "mounts": texts,
            "kafka_log_dirs": texts,
            "zookeeper_data_dir": {"type": "str"},
            "java_executable": {"type": "str", "default": "/usr/bin/java"},
            "zookeeper_address": {"type": "str"},
            "zookeeper_port": {"type": "int"},
            "zookeeper_tls": {"type": "dict"},
            "units": texts,
            "peers": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, probe=probe(module.params))
    except (OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg=f"probe: {error}")


if __name__ == "__main__":
    main()
