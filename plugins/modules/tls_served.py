#!/usr/bin/python
"""Reads which certificates TLS ports serve, and which CAs they accept."""

from __future__ import annotations

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.tls.served import differs, observe

DOCUMENTATION = """
module: tls_served
short_description: Read which certificate each port serves and which CAs it accepts
version_added: "1.0.0"
description:
  - Reads by a TLS handshake which certificate each port serves, and which CAs it accepts for certificates of clients.
    Changes nothing, and sends nothing but the handshake.
  - A port that does not answer within 5 s, or whose certificate a client rejects, does not fail the task; its
    C(error) has the reason.
  - Runs where the ports can be reached (the control node, or a host of the group admin).
options:
  endpoints:
    description: >-
      Ports, as the filters P(millrace.kafka.kafka_endpoints_with_tls#filter) and
      P(millrace.kafka.zookeeper_endpoints_with_tls#filter) return them.
    type: list
    elements: dict
    required: true
    suboptions:
      host: {type: str, required: true, description: "Name of the host, for messages."}
      address: {type: str, required: true, description: "Address to connect to, which has to be in the certificate."}
      port: {type: int, required: true, description: TCP port.}
      serial: {type: str, required: true, description: "Serial of the certificate on the host's disk, hexadecimal."}
      trusted:
        description: Subjects of the CAs on the host's disk. Empty if the port asks for no certificate.
        type: list
        elements: str
  tls:
    description: Files of the client.
    type: dict
    required: true
    suboptions:
      certificate: {type: str, required: true, description: PEM file with certificate and key.}
      ca: {type: str, required: true, description: PEM file with the CAs.}
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [openssl]
seealso:
  - {module: millrace.kafka.kafka_certificates}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Read the certificate of one port
  millrace.kafka.tls_served:
    endpoints: [{host: dc1-zk1, address: 198.18.1.11, port: 2281, serial: 1f, trusted: ["CN=Infra CA,O=lab"]}]
    tls: {certificate: /srv/pki/certificates/dc1-zk1/admin.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
  delegate_to: localhost
  run_once: true

- name: Compare all listeners of brokers with the files on their disks
  millrace.kafka.tls_served:
    endpoints: "{{ groups['kafka'] | millrace.kafka.kafka_endpoints_with_tls(hostvars, pki_made.hosts) }}"
    tls: "{{ admin_tls }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
served:
  description: One entry for each endpoint, in their order.
  type: list
  elements: dict
  returned: success
  contains:
    host: {description: As given., type: str, sample: dc1-zk1}
    address: {description: As given., type: str, sample: 198.18.1.11}
    port: {description: As given., type: int, sample: 2281}
    serial: {description: "Serial of the served certificate, hexadecimal.", type: str, sample: 1f}
    until: {description: Last second of its validity., type: str, sample: "2027-01-31T12:00:00Z"}
    authorities:
      description: "Subjects of the CAs that the port accepts, sorted; read only if C(trusted) is not empty."
      type: list
      elements: str
      sample: ["CN=Infra CA,O=lab"]
    error: {description: "Why no certificate was read, else empty.", type: str, sample: ""}
    differs:
      description: "How the port differs from the files on its disk, else empty."
      type: str
      sample: "serves the certificate 1e, on its disk is 1f"
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "endpoints": {"type": "list", "elements": "dict", "required": True},
            "tls": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    endpoints = module.params["endpoints"]
    served = [
        {
            "host": endpoint["host"],
            "address": endpoint["address"],
            "port": endpoint["port"],
            **asdict(answer),
            "differs": differs(endpoint, answer),
        }
        for endpoint, answer in zip(endpoints, observe(endpoints, module.params["tls"]), strict=True)
    ]
    module.exit_json(changed=False, served=served)


if __name__ == "__main__":
    main()
