"""Documents the action certificates, which does the work on the control node; no module is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: certificates
short_description: Create, renew and check the certificates of hosts, on the control node
version_added: "1.0.0"
description:
  - Creates private CAs and certificates in a directory of the control node, or imports those of an outside CA. Returns
    the files that each host gets; the module M(millrace.kafka.host_state) writes them to the host, and the filter
    P(millrace.kafka.host_file#filter) reads those that are secret.
  - Checks everything before anything is used. All mistakes are printed at once, and the task fails once. In that case
    nothing was written but keys and certificate requests to an outside CA, which have to exist before the CA can sign.
  - Runs in the Ansible process itself, so that no secret leaves it. No connection to a host is needed.
  - The options are the inputs of the role pki without their prefix. Without O(hosts), O(directory) and O(authorities)
    are required.
  - With O(hosts), the inputs of each host are read from the inventory, and the options of the task override them.
options:
  hosts:
    description: >-
      Names of the hosts, all in one call. Without it, the task covers its own host, with the options of the task only.
    type: list
    elements: str
  fail:
    description: Fail if a mistake is found. Otherwise return the mistakes in RV(problems). Only with O(hosts).
    type: bool
    default: true
  ports:
    description:
      - The result of M(millrace.kafka.tls_served). A host gets no certificate from a CA that some port does not trust
        yet, also if an interrupted run did not update that port. Only with O(hosts).
    type: list
    elements: dict
    default: []
extends_documentation_fragment: [millrace.kafka.pki]
attributes:
  check_mode:
    description: >-
      Writes nothing, creates no key, and reports what a real run would change. Files that do not exist yet are
      placeholders.
    support: full
  diff_mode:
    description: Shows subjects, names and dates, never a key.
    support: full
requirements: [cryptography]
seealso:
  - {module: millrace.kafka.host_state}
  - {module: millrace.kafka.tls_served}
  - {plugin: millrace.kafka.host_file, plugin_type: filter}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Create and check the certificates of all hosts of the play, with the inputs that the inventory sets
  millrace.kafka.certificates:
    hosts: "{{ ansible_play_hosts }}"
  register: pki_made
  run_once: true

- name: Write them to the host
  millrace.kafka.host_state:
    directories: "{{ pki_made.hosts[inventory_hostname].directories }}"
    files: "{{ pki_made.hosts[inventory_hostname].files | map('millrace.kafka.host_file') }}"

- name: Create one certificate for one host
  millrace.kafka.certificates:
    directory: /srv/millrace-pki
    passphrase: "{{ vault.pki_passphrase }}"
    authorities: [{name: infra, subject: "CN=Infra CA,O=lab"}]
    certificates:
      - {name: admin, subject: "CN=admin,OU=admins,O=lab", authority: infra, usage: [client]}

- name: Report mistakes and expiry dates without failing
  millrace.kafka.certificates:
    hosts: "{{ ansible_play_hosts }}"
    fail: false
  register: certificates
  check_mode: true
  run_once: true
"""

RETURN = """
changes:
  description: "One line for each change on the control node, of all hosts."
  type: list
  elements: str
  returned: success
  sample: ["certificate admin of dc1-kafka1: CN=admin,OU=admins,O=lab until 2027-01-31"]
hosts:
  description: >-
    By name of the host, C(changes), C(held), C(trusted), C(directories) and C(files); without O(hosts) these are the
    result itself.
  type: dict
  returned: with O(hosts)
  sample: {dc1-kafka1: {changes: [], held: {}, trusted: {}, directories: [], files: []}}
held:
  description: >-
    By name of the certificate, C(subject), C(issuer) (the CA that has to be trusted for it), C(serial) (hexadecimal),
    C(until) (the last day) and C(path) on the host, which is empty for a certificate that stays on the control node.
  type: dict
  returned: without O(hosts)
  sample:
    kafka: {subject: "CN=kafka,O=lab", issuer: "CN=Infra CA,O=lab", serial: 1f, until: "2027-01-31", path: /etc/k.pem}
trusted:
  description: "By path of the truststore, the subjects of its CAs, sorted."
  type: dict
  returned: without O(hosts)
  sample: {/etc/kafka/ca.pem: ["CN=Infra CA,O=lab"]}
directories:
  description: "Directories of the files, each with C(path), C(group) and C(mode)."
  type: list
  elements: dict
  returned: without O(hosts)
  sample: [{path: /etc/kafka/tls, group: kafka, mode: "0750"}]
files:
  description: >-
    Each with C(path), C(group), C(mode), C(function) if the declaration sets one, and C(content), or C(source) (a path
    of the control node) if the content is secret.
  type: list
  elements: dict
  returned: without O(hosts)
  sample: [{path: /etc/kafka/tls/ca.pem, group: kafka, mode: "0644", content: "-----BEGIN CERTIFICATE-----"}]
problems:
  description: Mistakes and warnings, one line each, as in docs/errors.md.
  type: list
  elements: str
  returned: with O(fail=false); otherwise warnings are reported as Ansible warnings
  sample: ["CERTIFICATE_EXPIRES dc1-kafka1/broker = 2026-12-01: expires in 4 days; run rotate_certificates.yml"]
"""
