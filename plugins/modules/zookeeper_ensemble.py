#!/usr/bin/python
"""Wait until a ZooKeeper ensemble is whole."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.tls import served
from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import OwnFileError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Wait, waiting
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import (
    EnsembleError,
    keep_root_acl,
    strangers,
    wait,
)
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import IDLE

DOCUMENTATION = """
module: zookeeper_ensemble
short_description: Wait until an ensemble has one leader and all others follow in sync; keep the ACL of the root znode
description:
  - Without I(root_acl) it changes nothing. With it, only the holder of that certificate's subject may write to the
    root znode; everybody reads.
  - Runs where the client ports can be reached (the control node, or a host of the group admin).
  - Fails where the ensemble is not whole, a certificate is not in use, or the ACL is another's, and says which server
    to look at.
options:
  servers: {type: dict, required: true, description: "Name to address of every server, as clients reach it."}
  port: {type: int, default: 2281, description: Client port of every server.}
  tls:
    description: >-
      Where that port speaks TLS, C(certificate), a PEM file with its key, and C(ca). Empty for a port in the clear.
    type: dict
    default: {}
  served:
    description: >-
      Client ports as the filter zookeeper_endpoints_with_tls gives them; each has to serve the certificate that is on
      its disk.
    type: list
    elements: dict
    default: []
  root_acl: {type: dict, default: {}, description: "Certificate and CA of the owner of the root znode, as in I(tls)."}
  timeout:
    description: "Seconds until it has to be whole, and again until certificates are in use; 0 asks once."
    type: int
    default: 0
  expected:
    description: >-
      Names of the servers that have to serve. That others do not is a warning. Where it is not said, all have to.
    type: list
    elements: str
  members:
    description: >-
      Number of servers that the inventory has. Where it is said, those that follow the leader besides are counted
      (C(strangers)).
    type: int
  fail: {type: bool, default: true, description: Fail when the ensemble is not whole; otherwise only describe it.}
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: The ACL is compared and not written., support: full}
  diff_mode: {description: There is none., support: none}
requirements: ["kazoo (with I(root_acl))", "openssl (with I(served))"]
seealso:
  - {plugin: millrace.kafka.zookeeper_endpoints_with_tls, plugin_type: filter}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Wait for the ensemble
  millrace.kafka.zookeeper_ensemble:
    servers: {dc1-zk1: 198.18.1.11}
    tls: {certificate: /srv/pki/certificates/dc1-zk1/admin.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
    timeout: 60
  delegate_to: localhost
  run_once: true
"""

RETURN = """
waiting:
  description: >-
    C(what) keeps the wait going, its C(timeout) (seconds), and C(waited) for the next call.
  type: dict
  returned: with pause, where the wait goes on
modes:
  description:
    - By name of the server, C(leader), C(follower), C(observer), C(standalone), C(read-only), C(not serving), C(down).
    - Empty where a file of I(tls) cannot be read, so that nobody was asked.
  type: dict
  returned: always
problems: {description: What keeps the ensemble from being whole., type: list, elements: str, returned: always}
strangers:
  description: Number of servers that follow or observe the leader, and are more than I(members).
  type: int
  returned: with members
changes:
  description: "One line where the ACL of the root znode was another, else none."
  type: list
  elements: str
  returned: success
"""

SILENT = 12.0  # seconds: a leader counts a server that is gone for syncLimit ticks more


def whole(module: AnsibleModule) -> dict[str, str]:
    """Return the modes of an ensemble that is whole; ends the module where it is not, or not yet."""
    seconds, servers, port, tls = (module.params[name] for name in ("timeout", "servers", "port", "tls"))
    this = Wait(seconds, module.params["pause"], module.params["waited"].get("begun"))
    try:
        modes, found = wait(servers, port, this.part, tls, module.params["expected"])
    except OwnFileError as error:
        answer = {"modes": {}, "problems": [str(error)]}
        if module.params["fail"]:
            module.fail_json(msg=f"{error}. No server was stopped.", **answer)
        module.exit_json(changed=False, changes=[], **answer)
    if found and this.left() > 0:
        module.exit_json(changed=False, waiting=waiting(found, seconds, begun=this.begun))
    if found and not module.params["fail"]:
        module.exit_json(changed=False, modes=modes, problems=found, changes=[], **besides(module, modes))
    if found:
        module.fail_json(
            msg=f"ZooKeeper ensemble not whole after {seconds} s: {'; '.join(found)}. No server was stopped. "
            "Look at: journalctl -u zookeeper on the servers named",
            modes=modes,
            problems=found,
        )
    if away := [name for name, mode in modes.items() if mode in ("down", *IDLE)]:
        module.warn(f"the ensemble is not whole: {', '.join(away)} of no host of this run")
    return modes


def besides(module: AnsibleModule, modes: dict[str, str]) -> dict[str, int]:
    """Return how many servers are there besides those of the inventory, where that is asked."""
    servers, port, tls, members = (module.params[name] for name in ("servers", "port", "tls", "members"))
    return {} if members is None else {"strangers": strangers(servers, port, tls, modes, members, SILENT)}


def in_use(module: AnsibleModule, modes: dict[str, str]) -> None:
    """Return when certificates are in use; ends the module where they are not, or not yet."""
    seconds, endpoints = module.params["timeout"], module.params["served"]
    this = Wait(seconds, module.params["pause"], module.params["waited"].get("whole"))
    left = served.wait(endpoints, module.params["tls"], this.part) if endpoints else []
    if left and this.left() > 0:
        module.exit_json(changed=False, waiting=waiting(left, seconds, whole=this.begun))
    if left:
        module.fail_json(
            msg=f"certificates not in use after {seconds} s: {'; '.join(left)}. No server was stopped.",
            modes=modes,
            problems=[],
        )


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
            "expected": {"type": "list", "elements": "str"},
            "members": {"type": "int"},
            "fail": {"type": "bool", "default": True},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    modes = whole(module)
    in_use(module, modes)
    changes: list[str] = []
    if module.params["root_acl"]:
        try:
            changes = keep_root_acl(
                list(module.params["servers"].values()),
                module.params["port"],
                module.params["root_acl"],
                module.check_mode,
            )
        except ImportError:
            module.fail_json(msg=missing_required_lib("kazoo"))
        except EnsembleError as error:
            module.fail_json(msg=str(error), modes=modes, problems=[])
    more = besides(module, modes)
    module.exit_json(changed=bool(changes), changes=changes, modes=modes, problems=[], **more)


if __name__ == "__main__":
    main()
