#!/usr/bin/python
"""Have brokers take new certificates and CAs from their disks, without a restart."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.millrace.reload import Reload, ReloadError

DOCUMENTATION = """
module: kafka_certificates
short_description: Have listeners serve the certificates and trust the CAs that are on the brokers' disks
description:
  - Asks every listener by a handshake which certificate it serves and which CAs it accepts, and reloads those that differ, one after the other.
  - Truststores that grow come first, certificates next, truststores that shrink last; what would cut a broker off is refused.
  - Runs where confluent-kafka and openssl are installed and the listeners can be reached (the control node, or a host of the group admin).
options:
  admin: {type: dict, required: true, description: "Client properties of a super user with a certificate, under librdkafka's names."}
  endpoints: {type: list, elements: dict, required: true, description: The listeners as the filter kafka_endpoints_with_tls gives them.}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Certificates in use
  kafka_certificates:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    endpoints: "{{ groups['kafka'] | kafka_endpoints_with_tls(hostvars, pki_made.hosts) }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
changes: {description: One line per reload., type: list, elements: str, returned: always}
served: {description: "Serial and end of what each listener serves, in the order of the brokers.", type: list, elements: dict, returned: success}
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={"admin": {"type": "dict", "required": True}, "endpoints": {"type": "list", "elements": "dict", "required": True}},
        supports_check_mode=True,
    )
    try:
        reload = Reload(module.params["admin"], module.params["endpoints"], module.check_mode)
    except ImportError:
        module.fail_json(msg=missing_required_lib("confluent-kafka"))
    try:
        found = reload.converge()
    except ReloadError as error:
        module.fail_json(msg=str(error), changes=reload.changes)
    served = [
        {"host": e["host"], "listener": e["listener"], "serial": s.serial, "until": s.until} for e, s in zip(reload.endpoints, found, strict=True)
    ]
    lines = "".join(f"{line}\n" for line in reload.changes)
    module.exit_json(changed=bool(reload.changes), changes=reload.changes, served=served, diff={"before": "", "after": lines})


if __name__ == "__main__":
    main()
