#!/usr/bin/python
"""Removes registrations of lost brokers from ZooKeeper."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper import registrations
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import EnsembleError, session

DOCUMENTATION = """
module: zookeeper_registrations
short_description: Remove the registrations of brokers of a lost datacenter from ZooKeeper
version_added: "1.0.0"
description:
  - Deletes the znodes C(brokers/ids/ID) of lost brokers, and C(controller) if it names one of them, so that the
    controller elects new leaders at once instead of after the session timeout.
  - A broker that still runs would lead partitions without being registered. Use it only for brokers that cannot run or
    cannot reach the cluster any more, as playbooks/failover.yml does after its fence.
  - Deletes no other znode. Topics, replicas and settings of the brokers are kept.
options:
  servers: {type: dict, required: true, description: "By name of each ZooKeeper server, its address for clients."}
  port: {type: int, default: 2281, description: Client port of every server.}
  tls:
    description: "C(certificate) and C(ca) of the owner of Kafka's znodes, paths of PEM files. Empty: a plaintext port."
    type: dict
    default: {}
  chroot: {type: str, default: "", description: "Path of Kafka's znodes, for example C(/kafka)."}
  lost: {type: list, elements: int, required: true, description: Ids of the lost brokers.}
attributes:
  check_mode: {description: Reports what would be deleted., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [kazoo]
seealso:
  - {module: millrace.kafka.kafka_min_isr}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Remove the registrations of brokers 1 and 2
  millrace.kafka.zookeeper_registrations:
    servers: {dc2-zk1: 198.18.51.14, dc2-zk2: 198.18.51.15, dc2-zk3: 198.18.51.16}
    port: 2181
    chroot: /kafka
    lost: [1, 2]
  delegate_to: localhost
  run_once: true
"""

RETURN = """
removed:
  description: Ids of the brokers whose registration was deleted.
  type: list
  elements: int
  returned: success
  sample: [1, 2]
controller:
  description: Id of the lost broker whose registration as controller was deleted, -1 if there was none.
  type: int
  returned: success
  sample: 1
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "port": {"type": "int", "default": 2281},
            "tls": {"type": "dict", "default": {}},
            "chroot": {"type": "str", "default": ""},
            "lost": {"type": "list", "elements": "int", "required": True},
        },
        supports_check_mode=True,
    )
    servers, port, tls, chroot, lost = (module.params[name] for name in ("servers", "port", "tls", "chroot", "lost"))
    try:
        with session(list(servers.values()), port, tls) as client:
            done = registrations.remove(client, chroot.rstrip("/"), lost, module.check_mode)
    except ImportError:
        module.fail_json(msg=missing_required_lib("kazoo"))
    except EnsembleError as error:
        module.fail_json(msg=f"registrations of brokers: {error}; look at: journalctl -u zookeeper on the servers")
    module.exit_json(changed=bool(done["removed"]) or done["controller"] >= 0, **done)


if __name__ == "__main__":
    main()
