#!/usr/bin/python
"""Creates, changes and deletes the users and ACLs of a Kafka cluster."""

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
short_description: Create, change and delete SCRAM users and ACLs of a cluster
version_added: "1.0.0"
description:
  - Creates, changes and deletes SCRAM users and ACLs, each kind in one batch. Users are written first, then ACLs; among
    ACLs, new ones are created before others are deleted.
  - Passwords cannot be read back. If mechanism and iterations of a user are as declared, the module logs in once as the
    user to find out whether the password is, eight users in parallel. A wrong password leaves a line in a broker's log.
    Where no login is possible, O(users[].verify) selects another way.
  - Users and ACLs that are not named are not changed, unless O(prune) includes them. C(state=absent) deletes.
  - A user that is absent (as a whole, not only with one mechanism) also loses all of its ACLs, if O(super_users) names
    the super users.
  - "Rejects, together with all other mistakes: an ACL whose principal does not begin with C(User:); an operation that
    does not exist for the kind of resource; ACLs that would prevent O(principal) from altering the cluster."
  - Fails if a user cannot log in 20 s after its password was written, except with C(verify=generation).
options:
  login:
    description: >-
      Client properties of the listener where users log in, without user and password. If that listener asks for no
      password, C(verify=login) is rejected.
    type: dict
    required: true
  users:
    description: SCRAM users.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Name of the user.}
      password: {type: str, description: "Password. Required, except with C(state=absent)."}
      mechanism:
        description: >-
          SCRAM mechanism of the password. The default is V(SCRAM-SHA-512); with C(state=absent), all mechanisms that
          the user has.
        type: str
        choices: [SCRAM-SHA-512, SCRAM-SHA-256]
      iterations: {type: int, default: 8192, description: Number of hash iterations.}
      verify:
        description:
          - How to find out whether the password in the cluster is the declared one.
          - V(login) logs in with it.
          - V(generation) compares a number that represents the password and is stored with it, as additional hash
            iterations. Use it where no login is possible. A password that another program set with the same number is
            not detected.
          - V(always) writes the password in each run.
        type: str
        choices: [login, generation, always]
        default: login
      generation:
        description: >-
          Number of the password with C(verify=generation), by default 1. Add 1 with each new password, up to 1023.
          O(users[].iterations) has to be a multiple of 1024 then, so that each pair of numbers has its own sum.
        type: int
      state: {type: str, choices: [present, absent], default: present, description: Whether the user exists.}
      credential:
        description: >-
          Whether the user has a password. V(false) is for a user that logs in with a certificate; a password that the
          cluster has for it is deleted.
        type: bool
        default: true
  acls:
    description: ACLs. An entry with several operations becomes one ACL for each.
    type: list
    elements: dict
    default: []
    suboptions:
      principal: {type: str, required: true, description: "Principal, as C(User:orders)."}
      operations: {type: list, elements: str, required: true, description: "Operations, as C([READ, DESCRIBE])."}
      resource:
        description: Kind of resource.
        type: str
        required: true
        choices: [topic, group, transactional_id, cluster]
      name: {type: str, description: Name of the resource or its prefix. V(*) is all. Not used for V(cluster).}
      pattern:
        description: Whether the name is the full name or a prefix.
        type: str
        choices: [literal, prefixed]
        default: literal
      permission:
        description: Whether to allow or to deny. V(deny) overrides any V(allow).
        type: str
        choices: [allow, deny]
        default: allow
      host: {type: str, default: "*", description: Address from which the client connects.}
      state: {type: str, choices: [present, absent], default: present, description: Whether the ACL exists.}
  principal:
    description: Principal as which this module connects; its own rights are never removed.
    type: str
    default: "User:admin"
  super_users: {type: list, elements: str, default: [], description: Principals that need no ACL.}
extends_documentation_fragment:
  - millrace.kafka.kafka_cluster
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
  - millrace.kafka.kafka_prune
requirements: [confluent-kafka]
seealso:
  - {module: millrace.kafka.kafka_topics}
  - {module: millrace.kafka.kafka_quotas}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Create a user that may write to a topic
  millrace.kafka.kafka_access:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    login: {bootstrap.servers: "198.18.1.21:9092", security.protocol: SASL_SSL, ssl.ca.location: /srv/pki/ca.pem}
    users: [{name: orders, password: "{{ vault.passwords.orders }}"}]
    acls: [{principal: "User:orders", operations: [WRITE], resource: topic, name: orders}]
  delegate_to: localhost

- name: Delete a user with its password and all of its ACLs
  millrace.kafka.kafka_access:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    login: {bootstrap.servers: "198.18.1.21:9092", security.protocol: SASL_SSL, ssl.ca.location: /srv/pki/ca.pem}
    users: [{name: orders, state: absent}]
    super_users: ["User:admin", "User:kafka"]
  delegate_to: localhost

- name: Delete ACLs of the principals of a project that are not declared, at most 10
  millrace.kafka.kafka_access:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    login: {bootstrap.servers: "198.18.1.21:9092", security.protocol: SASL_SSL, ssl.ca.location: /srv/pki/ca.pem}
    acls: [{principal: "User:orders-api", operations: [READ], resource: topic, name: orders-, pattern: prefixed}]
    prune: {acls: ["User:orders-*"], max_deletes: 10}
  delegate_to: localhost
"""

RETURN = """
changes:
  description: One line for each change, without passwords.
  type: list
  elements: str
  returned: always
  sample:
    - "create user orders: + SCRAM-SHA-512: 8192 iterations"
    - "create ACL User:orders from * may WRITE topic orders (literal)"
cluster_id:
  description: Id of the cluster.
  type: str
  returned: when the cluster answered
  sample: 7wHBT0XWQfCNPKHxMJFAsA
plan:
  description: Names by what happens to them.
  type: dict
  returned: when the cluster answered
  contains:
    create: {description: Missing on the cluster., type: list, elements: str, sample: [orders]}
    update: {description: Different from the declaration., type: list, elements: str, sample: []}
    delete: {description: "Declared absent, or pruned.", type: list, elements: str, sample: []}
    unchanged: {description: As declared., type: list, elements: str, sample: [billing]}
    unmanaged: {description: On the cluster but not declared., type: list, elements: str, sample: []}
outcome:
  description: What was written before a write failed. Each change is named by kind and name.
  type: dict
  returned: if a write failed
  contains:
    done: {description: Written., type: list, elements: str, sample: [user orders]}
    failed: {description: "Not written, and why.", type: dict, sample: {user billing: no login after 20 s}}
    not_tried: {description: Not started., type: list, elements: str, sample: []}
    unknown:
      description: Those of C(failed) that may have been written and could not be read back.
      type: list
      elements: str
      sample: []
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
    options: dict[str, Any] = module.params
    logins = Logins(options["login"])

    def planned(admin: Admin, _: Metadata) -> Sequence[Work]:
        safe = [options["principal"], *options["super_users"]]
        users = access_control.plan_users(admin, logins, options["users"], options["prune"], safe)
        gone = absent(options["users"]) if options["super_users"] else []
        acls = access_control.plan_acls(
            admin, options["acls"], options["prune"], options["principal"], options["super_users"], gone
        )
        return [
            (users, lambda changes, look: access_control.write_users(admin, logins, changes, look)),
            (acls, lambda changes, look: access_control.write_acls(admin, changes, look)),
        ]

    converge(module, "users and ACLs", planned)


if __name__ == "__main__":
    main()
