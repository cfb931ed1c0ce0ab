#!/usr/bin/python
"""Read which certificates ports serve."""

from __future__ import annotations

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.tls.served import differs, observe

DOCUMENTATION = """
module: tls_served
short_description: Read by a handshake which certificate each port serves and whose it accepts; changes nothing
description:
  - Runs where the ports can be reached (the control node, or a host of the group admin). Nothing but the handshake is
    sent.
  - A port that does not answer within 5 s, or whose certificate a client refuses, does not fail the task; it has
    C(error).
options:
  endpoints:
    description: Ports as the filters kafka_endpoints_with_tls and zookeeper_endpoints_with_tls give them.
    type: list
    elements: dict
    required: true
    suboptions:
      host: {type: str, required: true, description: "Name of the host, for messages."}
      address: {type: str, required: true, description: "Address to connect to, which has to be in the certificate."}
      port: {type: int, required: true, description: TCP port.}
      serial: {type: str, required: true, description: "Serial of the certificate on its disk, hexadecimal."}
      trusted:
        description: Subjects of the CAs on its disk. Empty where the port asks for no certificate.
        type: list
        elements: str
  tls:
    description: What a client has.
    type: dict
    required: true
    suboptions:
      certificate: {type: str, required: true, description: PEM file with certificate and key.}
      ca: {type: str, required: true, description: PEM file with the CAs.}
attributes:
  check_mode: {description: The same as without., support: full}
  diff_mode: {description: There is none., support: none}
requirements: [openssl]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Certificates in use
  millrace.kafka.tls_served:
    endpoints: [{host: dc1-zk1, address: 198.18.1.11, port: 2281, serial: 1f, trusted: ["CN=Infra CA,O=lab"]}]
    tls: {certificate: /srv/pki/certificates/dc1-zk1/admin.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
  delegate_to: localhost
  run_once: true
"""

RETURN = """
served:
  description: One for each endpoint, in their order.
  type: list
  elements: dict
  returned: success
  contains:
    host: {description: As given., type: str}
    address: {description: As given., type: str}
    port: {description: As given., type: int}
    serial: {description: "Serial of the certificate that is served, hexadecimal.", type: str}
    until: {description: "Its last second, as 2027-01-31T12:00:00Z.", type: str}
    authorities:
      description: "Subjects of the CAs that the port accepts, sorted; asked only where I(trusted) is not empty."
      type: list
      elements: str
    error: {description: "Why there is no certificate, else empty.", type: str}
    differs: {description: "What the port does otherwise than what is on its disk, else empty.", type: str}
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
