#!/usr/bin/python
"""One podman container per inventory host: systemd, fixed addresses in its networks, a file system per data disk."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.millrace_lab.containers import Lab
from ansible.module_utils.millrace_lab.records import LabError

DOCUMENTATION = """
module: lab_hosts
short_description: Make or remove the containers of one lab
description:
  - Everything made carries the labels millrace.lab (the lab's name) and millrace.id (one random id per lab directory).
    - A lab on the same networks whose directory is gone is replaced; one whose directory is there is left alone,
      and this one refused.
  - Runs on the control node as root. The first act is a blackhole route over the lab's address range, so that
    nothing meant for a lab can leave the machine while a network is missing.
options:
  state: {type: str, choices: [present, absent], default: present}
  directory:
    {type: path, required: true, description: "Keys, known_hosts, ssh_config of this lab; its last part is the name."}
  image: {type: str, description: Name of the lab image (lab/image/build.sh prints it).}
  client_network: {type: str, description: Subnet of the client addresses.}
  replication_network: {type: str, default: "", description: Subnet of the replication addresses; empty for none.}
  hosts:
    description: The containers.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true}
      client_address: {type: str, required: true}
      replication_address: {type: str, default: "", description: Empty for a host on the client network alone.}
      disks: {type: list, elements: str, default: [], description: Mount points that get a file system of their own.}
      shared: {type: str, default: "", description: Mount point of a directory that hosts of the lab share.}
  disk_size: {type: str, default: 600M, description: Size of each file system (a sparse loop image).}
  replace: {type: bool, default: false, description: Remove labs of other checkouts that hold these networks.}
  config: {type: path, required: true, description: The containers.conf for podman.}
author: [Millrace developers]
"""
EXAMPLES = """
- name: Make the hosts
  lab_hosts:
    directory: .lab/lab
    image: localhost/millrace-lab:0123
    client_network: 198.18.1.0/24
    replication_network: 198.18.2.0/24
    hosts:
      - {name: dc1-kafka1, client_address: 198.18.1.21, replication_address: 198.18.2.21, disks: [/data/kafka1]}
    config: lab/podman.conf
"""
RETURN = """
actions: {description: What was done, type: list, elements: str, returned: always}
containers: {description: Name of each host's container, type: dict, returned: always}
"""


def main() -> None:
    """Run as an Ansible module."""
    host = {
        "name": {"type": "str", "required": True},
        "client_address": {"type": "str", "required": True},
        "replication_address": {"type": "str", "default": ""},
        "disks": {"type": "list", "elements": "str", "default": []},
        "shared": {"type": "str", "default": ""},
    }
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "directory": {"type": "path", "required": True},
            "image": {"type": "str"},
            "client_network": {"type": "str"},
            "replication_network": {"type": "str", "default": ""},
            "hosts": {"type": "list", "elements": "dict", "options": host, "default": []},
            "disk_size": {"type": "str", "default": "600M"},
            "replace": {"type": "bool", "default": False},
            "config": {"type": "path", "required": True},
        },
        required_if=[("state", "present", ("image", "client_network"))],
        supports_check_mode=True,
    )
    lab = Lab(module.params, module.check_mode)
    try:
        lab.present() if module.params["state"] == "present" else lab.absent()
    except LabError as error:
        module.fail_json(msg=f"lab {lab.name}: {error}", actions=lab.machine.actions)
    names = {host.name: lab.podman_name(host.name) for host in lab.hosts}
    module.exit_json(changed=bool(lab.machine.actions), actions=lab.machine.actions, containers=names)


if __name__ == "__main__":
    main()
