#!/usr/bin/python
"""Waits until a ZooKeeper ensemble is healthy, and sets the ACL of its root znode."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.tls import served
from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import OwnFileError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Wait, waiting
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import (
    EnsembleError,
    digest_mismatches,
    keep_root_acl,
    undeclared_servers,
    wait,
)
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import IDLE

DOCUMENTATION = """
module: zookeeper_ensemble
short_description: Wait until an ensemble has a leader and all followers in sync, and set the ACL of the root znode
version_added: "1.0.0"
description:
  - Waits until a ZooKeeper ensemble has one leader and all other servers follow it in sync.
  - Changes nothing without O(root_acl). With it, only clients with the subject of that certificate may write to the
    root znode, and all clients may read it.
  - Fails if the ensemble is not healthy, if a certificate is not in use, or if the root znode has an ACL of another
    owner; the message names the server.
  - Runs where the client ports can be reached (the control node, or a host of the group admin).
options:
  servers: {type: dict, required: true, description: "By name of each server, its address for clients."}
  port: {type: int, default: 2281, description: Client port of every server.}
  tls:
    description: >-
      If the port uses TLS, C(certificate), a PEM file with certificate and key, and C(ca). Empty for a plaintext port.
    type: dict
    default: {}
  served:
    description: >-
      Client ports, as the filter P(millrace.kafka.zookeeper_endpoints_with_tls#filter) returns them. Each has to serve
      the certificate on its disk.
    type: list
    elements: dict
    default: []
  root_acl:
    description: C(certificate) and C(ca) of the owner of the root znode, as in O(tls).
    type: dict
    default: {}
  timeout:
    description: "Seconds to wait until the ensemble is healthy, and then until certificates are in use; 0 checks once."
    type: int
    default: 0
  expected:
    description: >-
      Names of the servers that have to serve. Others that do not serve cause a warning. By default, all have to serve.
    type: list
    elements: str
  members:
    description: >-
      Number of servers in the inventory. If set, servers that follow the leader in addition are counted
      (RV(undeclared)).
    type: int
  compare:
    description: >-
      Whether the servers that serve also need the same number of znodes. A server whose data differed from the leader's
      since it was started causes a warning.
    type: bool
    default: false
  fail: {type: bool, default: true, description: Fail if the ensemble is not healthy; otherwise only describe it.}
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: Compares the ACL and does not write it., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: ["kazoo (with O(root_acl))", "openssl (with O(served))"]
seealso:
  - {module: millrace.kafka.zookeeper_gate}
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

- name: Allow only brokers to write to the root znode
  millrace.kafka.zookeeper_ensemble:
    servers: {dc1-zk1: 198.18.1.11, dc1-zk2: 198.18.1.12, dc1-zk3: 198.18.1.13}
    tls: {certificate: /srv/pki/certificates/dc1-zk1/admin.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
    root_acl: {certificate: /srv/pki/certificates/dc1-zk1/kafka.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
    timeout: 60
  delegate_to: localhost
  run_once: true

- name: Describe an ensemble without TLS, without failing
  millrace.kafka.zookeeper_ensemble:
    servers: {dc1-zk1: 198.18.1.11, dc1-zk2: 198.18.1.12, dc1-zk3: 198.18.1.13}
    port: 2181
    members: 3
    fail: false
  delegate_to: localhost
"""

RETURN = """
waiting:
  description: >-
    C(what) the module waits for, its C(timeout) in seconds, and C(waited) for the next call.
  type: dict
  returned: with O(pause), if the wait continues
  sample: {what: [dc1-zk2 is down], timeout: 60, waited: {begun: 8123.4}}
modes:
  description:
    - By name of the server, V(leader), V(follower), V(observer), V(standalone), V(read-only), V(not serving) or
      V(down).
    - Empty if a file of O(tls) cannot be read, so that no server was asked.
  type: dict
  returned: always
  sample: {dc1-zk1: follower, dc1-zk2: leader, dc1-zk3: follower}
problems:
  description: What keeps the ensemble from being healthy.
  type: list
  elements: str
  returned: always
  sample: []
undeclared:
  description: Number of servers that follow or observe the leader in addition to O(members).
  type: int
  returned: with O(members)
  sample: 0
changes:
  description: "One line if the ACL of the root znode was changed, otherwise empty."
  type: list
  elements: str
  returned: success
  sample: []
"""

SILENT = 12.0  # seconds: a leader counts a server that has disappeared for syncLimit more ticks


def healthy(module: AnsibleModule) -> dict[str, str]:
    """Wait until the ensemble is healthy, and return {server: its mode, as leader}.

    Ends the module if the ensemble is not healthy in time, or with `waiting` if the wait continues in another call.
    """
    seconds, servers, port, tls = (module.params[name] for name in ("timeout", "servers", "port", "tls"))
    this = Wait(seconds, module.params["pause"], module.params["waited"].get("begun"))
    try:
        modes, problems = wait(servers, port, this.part, tls, module.params["expected"], module.params["compare"])
    except OwnFileError as error:
        answer = {"modes": {}, "problems": [str(error)]}
        if module.params["fail"]:
            module.fail_json(msg=f"{error}. No server was stopped.", **answer)
        module.exit_json(changed=False, changes=[], **answer)
    if problems and this.left() > 0:
        module.exit_json(changed=False, waiting=waiting(problems, seconds, begun=this.begun))
    if problems and not module.params["fail"]:
        module.exit_json(changed=False, modes=modes, problems=problems, changes=[], **undeclared(module, modes))
    if problems:
        module.fail_json(
            msg=f"ZooKeeper ensemble not healthy after {seconds} s: {'; '.join(problems)}. No server was stopped. "
            "Look at: journalctl -u zookeeper on the servers named",
            modes=modes,
            problems=problems,
        )
    for name, count in digest_mismatches(servers, port, tls).items() if module.params["compare"] else ():
        module.warn(
            f"the data of {name} differed from the leader's {count} times since it was started: stop this server "
            "alone, move its version-2 aside, and start it, so that it copies all data again"
        )
    if down := [name for name, mode in modes.items() if mode in ("down", *IDLE)]:
        module.warn(f"the ensemble is not healthy: {', '.join(down)}, not in this run, does not serve; start it")
    return modes


def undeclared(module: AnsibleModule, modes: dict[str, str]) -> dict[str, int]:
    """Return {undeclared: number of running servers that the inventory does not declare}.

    Returns {} if the option `members`, the declared number of servers, is not set. `modes` is {server: mode}.
    """
    servers, port, tls, members = (module.params[name] for name in ("servers", "port", "tls", "members"))
    return {} if members is None else {"undeclared": undeclared_servers(servers, port, tls, modes, members, SILENT)}


def in_use(module: AnsibleModule, modes: dict[str, str]) -> None:
    """Wait until the ports in the option `served` serve the certificates on their disks.

    Without this option, return at once. The module fails after the timeout, or ends with `waiting` if the wait
    continues in another call. `modes`, {server: mode}, is put into the result.
    """
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
            "compare": {"type": "bool", "default": False},
            "fail": {"type": "bool", "default": True},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    modes = healthy(module)
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
    module.exit_json(changed=bool(changes), changes=changes, modes=modes, problems=[], **undeclared(module, modes))


if __name__ == "__main__":
    main()
