#!/usr/bin/python
"""Wait until a ZooKeeper ensemble is whole."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.millrace import served
from ansible.module_utils.millrace.ensemble import EnsembleError, keep_root_acl, wait

DOCUMENTATION = """
module: zookeeper_ensemble
short_description: Wait until an ensemble has one leader and every other server follows in sync; keep the ACL of the root znode
description:
  - Without C(root_acl) it changes nothing. With it, only the holder of that certificate's subject may write to the root znode; everybody reads.
options:
  servers: {type: dict, required: true, description: "Name to address of every server, as clients reach it."}
  port: {type: int, default: 2281}
  tls: {type: dict, default: {}, description: "certificate (a PEM file with its key) and ca, where that port speaks TLS."}
  served:
    description: Client ports as the filter zookeeper_endpoints_with_tls gives them; each has to serve the certificate that is on its disk.
    type: list
    elements: dict
    default: []
  root_acl: {type: dict, default: {}, description: "certificate and ca of the owner of the root znode, as in C(tls)."}
  timeout: {type: int, default: 0, description: Seconds; 0 asks once.}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait for the ensemble
  zookeeper_ensemble:
    servers: {dc1-zk1: 198.18.1.11}
    tls: {certificate: /srv/pki/certificates/dc1-zk1/admin.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
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
            "port": {"type": "int", "default": 2281},
            "tls": {"type": "dict", "default": {}},
            "served": {"type": "list", "elements": "dict", "default": []},
            "root_acl": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    seconds = module.params["timeout"]
    servers, port = module.params["servers"], module.params["port"]
    modes, found = wait(servers, port, seconds, module.params["tls"])
    if found:
        module.fail_json(
            msg=f"ZooKeeper ensemble not whole after {seconds} s: {'; '.join(found)}. No server was stopped. "
            "Look at: journalctl -u zookeeper on the servers named",
            modes=modes,
        )
    left = served.wait(module.params["served"], module.params["tls"], seconds) if module.params["served"] else []
    if left:
        module.fail_json(msg=f"certificates not in use after {seconds} s: {'; '.join(left)}. No server was stopped.", modes=modes)
    changes: list[str] = []
    if module.params["root_acl"]:
        try:
            changes = keep_root_acl(list(servers.values()), port, module.params["root_acl"], module.check_mode)
        except ImportError:
            module.fail_json(msg=missing_required_lib("kazoo"))
        except EnsembleError as error:
            module.fail_json(msg=str(error), modes=modes)
    module.exit_json(changed=bool(changes), changes=changes, modes=modes)


if __name__ == "__main__":
    main()
