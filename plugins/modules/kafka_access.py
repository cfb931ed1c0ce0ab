#!/usr/bin/python
"""Converge the users and ACLs of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import access_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import KINDS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import PRUNE, WRITES, Work, converge
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import ALWAYS, GENERATION, LOGIN
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import gone as absent

DOCUMENTATION = """
module: kafka_access
short_description: Converge SCRAM users and ACLs of a cluster, each in one batch
description:
  - Nobody can read a password back, so a user whose mechanism and iterations are as declared is logged in once, to
    see whether it holds, eight users side by side. A password that does not leaves a line in a broker's log. Where
    nobody can log in, a number stands for the password, by I(verify).
  - What is not named is left alone, but for what I(prune) says; C(state=absent) removes.
  - A user who is absent, and not only with one I(mechanism), loses every ACL too, where I(super_users) says that there
    are any.
  - Users come first, then ACLs, of which those that grant come first.
  - "Refused, with everything else that is wrong: an ACL of a principal without C(User:), or of an operation that its
    kind of resource has not; ACLs that would keep I(principal) from altering the cluster."
  - "A user cannot log in 20 s after its password was written: that is a failure, other than with
    C(verify=generation)."
options:
  login:
    description: >-
      Those of the listener where users log in, without a login. At one that asks for no password, C(verify=login) is
      refused.
    type: dict
    required: true
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
      verify:
        description:
          - How it is known that a password is unchanged.
          - C(login) tries it.
          - C(generation) looks at a number that stands for the password and is kept with it, as rounds of hashing
            besides I(iterations). It is for where nobody can log in; a password that somebody else set with the same
            number is not seen.
          - C(always) writes it in each run.
        type: str
        choices: [login, generation, always]
        default: login
      generation:
        description: >-
          Number of the password with C(verify=generation), 1 where it is not said; one more with each new password, up
          to 1023. I(iterations) beside it are a multiple of 1024, so that no other two numbers make the same sum.
        type: int
      state: {type: str, choices: [present, absent], default: present, description: Whether the user is there.}
      credential:
        description: Otherwise a certificate stands for the user. A password that the cluster keeps goes.
        type: bool
        default: true
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
  principal: {type: str, default: "User:admin", description: Who asks.}
  super_users: {type: list, elements: str, default: [], description: Principals that need no ACL.}
extends_documentation_fragment:
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
  - millrace.kafka.kafka_prune
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
cluster_id: {description: Id of the cluster that answered., type: str, returned: when it answered}
plan:
  description: Names by what happens to them.
  type: dict
  returned: when it answered
  contains:
    create: {description: What is not there., type: list, elements: str}
    update: {description: What is otherwise than declared., type: list, elements: str}
    delete: {description: "What is declared absent, or pruned.", type: list, elements: str}
    unchanged: {description: What is as declared., type: list, elements: str}
    unmanaged: {description: "What is on the cluster and not declared, or not managed.", type: list, elements: str}
outcome:
  description: Where writing failed, what became of the changes, each as kind and name.
  type: dict
  returned: where writing failed
  contains:
    done: {description: What was written., type: list, elements: str}
    failed: {description: "What was not, and why.", type: dict}
    not_tried: {description: What was not begun., type: list, elements: str}
    unknown:
      description: What of C(failed) may have been done all the same, and could not be read back.
      type: list
      elements: str
"""


USER: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "password": {"type": "str", "no_log": True},
    "mechanism": {"type": "str", "choices": ["SCRAM-SHA-512", "SCRAM-SHA-256"]},
    "iterations": {"type": "int", "default": 8192},
    "verify": {"type": "str", "choices": [LOGIN, GENERATION, ALWAYS], "default": LOGIN},
    "generation": {"type": "int"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "credential": {"type": "bool", "default": True},
}


ACL: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "principal": {"type": "str", "required": True},
        "operations": {"type": "list", "elements": "str", "required": True},
        "resource": {"type": "str", "required": True, "choices": [kind.lower() for kind in KINDS]},
        "name": {"type": "str"},
        "pattern": {"type": "str", "choices": ["literal", "prefixed"], "default": "literal"},
        "permission": {"type": "str", "choices": ["allow", "deny"], "default": "allow"},
        "host": {"type": "str", "default": "*"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    },
}


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **WRITES,
            "login": {"type": "dict", "required": True},
            "users": {"type": "list", "elements": "dict", "default": [], "options": USER},
            "acls": ACL,
            "prune": PRUNE,
            "principal": {"type": "str", "default": "User:admin"},
            "super_users": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    said: dict[str, Any] = module.params
    logins = Logins(said["login"])

    def planned(admin: Admin, _: Metadata) -> Sequence[Work]:
        safe = [said["principal"], *said["super_users"]]
        users = access_control.plan_users(admin, logins, said["users"], said["prune"], safe)
        gone = absent(said["users"]) if said["super_users"] else []
        acls = access_control.plan_acls(
            admin, said["acls"], said["prune"], said["principal"], said["super_users"], gone
        )
        return [
            (users, lambda changes, look: access_control.write_users(admin, logins, changes, look)),
            (acls, lambda changes, look: access_control.write_acls(admin, changes, look)),
        ]

    converge(module, "users and ACLs", planned)


if __name__ == "__main__":
    main()
