"""The page of the action of the same name; nothing is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: certificates
short_description: Make, keep and check the certificates of hosts, on the control node
description:
  - Makes private CAs and certificates in a folder of the control node, or takes those of an outside CA. The answer
    says which files each host gets; the module host_state puts them there, the filter host_file reads those that are
    secret.
  - Everything is checked before it is used. All that is wrong is printed, and the task fails once; then nothing was
    written, but for keys and requests to an outside CA, which have to be there before it can answer.
  - Runs in the process of Ansible itself, so no secret leaves it. No connection to a host is needed.
  - Options are the inputs of the role pki without their prefix. Without I(hosts), I(directory) and I(authorities) are
    required.
  - With I(hosts), each host's inputs are read from the inventory; options of the task go before them.
options:
  hosts:
    description: >-
      Names of the hosts to take, all in one call. Without it, the task's own host by the task's options alone.
    type: list
    elements: str
  fail:
    description: Fail where something is wrong. Otherwise it is listed in C(problems). Only with I(hosts).
    type: bool
    default: true
  ports:
    description:
      - What tls_served answered. No host gets a certificate from a CA that some port does not trust yet, also where
        an interrupted run left that port behind the folder. Only with I(hosts).
    type: list
    elements: dict
    default: []
extends_documentation_fragment: [millrace.kafka.pki]
attributes:
  check_mode:
    description: >-
      Writes nothing, makes no key, and says what a real run would change. Files that are not made yet are
      placeholders.
    support: full
  diff_mode:
    description: Shows subjects, names and dates, never a key.
    support: full
requirements: [cryptography]
seealso:
  - {module: millrace.kafka.host_state}
  - {plugin: millrace.kafka.host_file, plugin_type: filter}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Make and check for all hosts of the play, with the inputs that the inventory sets
  millrace.kafka.certificates:
    hosts: "{{ ansible_play_hosts }}"
  register: pki_made
  run_once: true

- name: Put them on the host
  millrace.kafka.host_state:
    directories: "{{ pki_made.hosts[inventory_hostname].directories }}"
    files: "{{ pki_made.hosts[inventory_hostname].files | map('millrace.kafka.host_file') }}"

- name: For one host
  millrace.kafka.certificates:
    directory: /srv/millrace-pki
    passphrase: "{{ vault.pki_passphrase }}"
    authorities: [{name: infra, subject: "CN=Infra CA,O=lab"}]
    certificates:
      - {name: admin, subject: "CN=admin,OU=admins,O=lab", authority: infra, usage: [client]}
"""

RETURN = """
changes:
  description: "One line per change on the control node, of all hosts."
  type: list
  elements: str
  returned: success
hosts:
  description: >-
    By name of the host, C(changes), C(held), C(trusted), C(directories) and C(files), which without I(hosts) are the
    answer.
  type: dict
  returned: with I(hosts)
held:
  description: >-
    By name of the certificate, C(subject), C(issuer) (the CA that has to be trusted for it), C(serial) (hexadecimal),
    C(until) (as 2027-01-31) and C(path) on the host, empty for one that stays on the control node.
  type: dict
  returned: without I(hosts)
trusted:
  description: "By path of the truststore, the subjects of its CAs, sorted."
  type: dict
  returned: without I(hosts)
directories:
  description: "Folders of the files, C(path), C(group) and C(mode)."
  type: list
  elements: dict
  returned: without I(hosts)
files:
  description: >-
    C(path), C(group), C(mode), C(function) where one was said, and C(content), or C(source) (a path of the control
    node) where the content is secret.
  type: list
  elements: dict
  returned: without I(hosts)
problems:
  description: Mistakes and warnings, one line each, as docs/errors.md lists them.
  type: list
  elements: str
  returned: with I(fail=false); otherwise warnings are Ansible's own
"""
