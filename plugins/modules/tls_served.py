#!/usr/bin/python
"""Read which certificates ports serve."""

from __future__ import annotations

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.millrace.served import differs, observe

DOCUMENTATION = """
module: tls_served
short_description: Read by a handshake which certificate each port serves and whose it accepts; changes nothing
options:
  endpoints:
    type: list
    elements: dict
    required: true
    description: "host, address, port, serial and trusted, as the filters *_endpoints_with_tls give them."
  tls: {type: dict, required: true, description: "certificate (a PEM file with its key) and ca that a client has."}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Certificates in use
  tls_served:
    endpoints: [{host: dc1-zk1, address: 198.18.1.11, port: 2281, serial: 1f, trusted: ["CN=Infra CA,O=lab"]}]
    tls: {certificate: /srv/pki/certificates/dc1-zk1/admin.pem, ca: /srv/pki/certificates/dc1-zk1/ca.pem}
"""

RETURN = """
served: {description: "Per endpoint: host, address, port, serial, until, authorities, error, differs.", type: list, elements: dict, returned: always}
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={"endpoints": {"type": "list", "elements": "dict", "required": True}, "tls": {"type": "dict", "required": True}},
        supports_check_mode=True,
    )
    endpoints = module.params["endpoints"]
    served = [
        {"host": endpoint["host"], "address": endpoint["address"], "port": endpoint["port"], **asdict(answer), "differs": differs(endpoint, answer)}
        for endpoint, answer in zip(endpoints, observe(endpoints, module.params["tls"]), strict=True)
    ]
    module.exit_json(changed=False, served=served)


if __name__ == "__main__":
    main()
