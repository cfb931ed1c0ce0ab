#!/usr/bin/python
"""Converge the users and ACLs of a Kafka cluster."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.access import Access, AccessError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.client import ClientError

DOCUMENTATION = """
module: kafka_access
short_description: Converge SCRAM users and ACLs of a cluster, each in one batch
description:
  - Runs where confluent-kafka is installed and the listeners can be reached (the control node, or a host of the group
    admin).
  - Nobody can read a password back, so a user whose mechanism and iterations are as declared is logged in once, to
    see whether it holds.
  - What is not named is left alone; C(state=absent) removes.
  - Users come first, then ACLs. Fails where the cluster refuses, does not answer within 20 s, or a user cannot log in
    20 s after its password was written; C(changes) says what was begun.
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  login: {type: dict, required: true, description: "Those of the listener where users log in, without a login."}
  users:
    description: SCRAM users.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Name of the user.}
      password: {type: str, description: "Needed, but with C(state=absent)."}
      mechanism:
        description: >-
          How the password is kept; SCRAM-SHA-512 where it is not said, with C(state=absent) all that the user has.
        type: str
        choices: [SCRAM-SHA-512, SCRAM-SHA-256]
      iterations: {type: int, default: 8192, description: Rounds of hashing.}
      state: {type: str, choices: [present, absent], default: present, description: Whether the user is there.}
  acls:
    description: ACLs, one for each operation of an entry.
    type: list
    elements: dict
    default: []
    suboptions:
      principal: {type: str, required: true, description: "As User:orders."}
      operations: {type: list, elements: str, required: true, description: "As [READ, DESCRIBE]."}
      resource:
        description: Kind of resource.
        type: str
        required: true
        choices: [topic, group, transactional_id, cluster]
      name: {type: str, description: "Name of the resource, or the beginning of it. The cluster has none."}
      pattern: {type: str, choices: [literal, prefixed], default: literal, description: How the name is meant.}
      permission: {type: str, choices: [allow, deny], default: allow, description: A denial goes before any permission.}
      host: {type: str, default: "*", description: Address that the client connects from.}
      state: {type: str, choices: [present, absent], default: present, description: Whether the ACL is there.}
attributes:
  check_mode: {description: Passwords are tried and nothing is written., support: full}
  diff_mode: {description: The lines of C(changes)., support: full}
requirements: [confluent-kafka]
author: [Millrace developers]
"""

EXAMPLES = """
- name: A user who writes
  millrace.kafka.kafka_access:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    login: {bootstrap.servers: "198.18.1.21:9092", security.protocol: SASL_SSL, ssl.ca.location: /srv/pki/ca.pem}
    users: [{name: orders, password: "{{ vault.passwords.orders }}"}]
    acls: [{principal: "User:orders", operations: [WRITE], resource: topic, name: orders}]
  delegate_to: localhost
"""

RETURN = """
changes: {description: 'One line per change, without passwords.', type: list, elements: str, returned: always}
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "admin": {"type": "dict", "required": True},
            "login": {"type": "dict", "required": True},
            "users": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "name": {"type": "str", "required": True},
                    "password": {"type": "str", "no_log": True},
                    "mechanism": {"type": "str", "choices": ["SCRAM-SHA-512", "SCRAM-SHA-256"]},
                    "iterations": {"type": "int", "default": 8192},
                    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                },
            },
            "acls": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        access = Access(module.params["admin"], module.params["login"], module.check_mode)
    except ImportError:
        module.fail_json(msg=missing_required_lib("confluent-kafka"))
    except ClientError as error:
        module.fail_json(msg=str(error))
    try:
        access.converge(module.params["users"], module.params["acls"])
    except (AccessError, ClientError) as error:
        module.fail_json(
            msg=f"users and ACLs: {error}; look at: journalctl -u kafka on the brokers", changes=access.changes
        )
    lines = "".join(f"{line}\n" for line in access.changes)
    module.exit_json(changed=bool(access.changes), changes=access.changes, diff={"before": "", "after": lines})


if __name__ == "__main__":
    main()
