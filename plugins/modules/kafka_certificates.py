#!/usr/bin/python
"""Have brokers take new certificates and CAs from their disks, without a restart."""

from __future__ import annotations

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reload import Reload, ReloadError

DOCUMENTATION = """
module: kafka_certificates
short_description: Have listeners serve the certificates and trust the CAs that are on the brokers' disks
description:
  - Asks every listener by a handshake which certificate it serves and which CAs it accepts, and reloads those that
    differ, one after the other.
  - Truststores that grow come first, certificates next, truststores that shrink last; what would cut a broker off is
    refused.
  - Fails where a listener does not answer, a broker refuses a file (it goes on with what it had), or a listener does
    not serve it after 20 s; C(changes) says what was begun.
  - Runs where confluent-kafka and openssl are installed and the listeners can be reached (the control node, or a host
    of the group admin).
options:
  admin:
    description: >-
      Client properties of a super user, under librdkafka's names. C(ssl.certificate.location), a PEM file with its
      key, and C(ssl.ca.location) are needed: handshakes use them too.
    type: dict
    required: true
  endpoints:
    description: The listeners as the filter kafka_endpoints_with_tls gives them.
    type: list
    elements: dict
    required: true
attributes:
  check_mode: {description: Listeners are asked and nothing is reloaded., support: full}
  diff_mode: {description: The lines of C(changes)., support: full}
requirements: [confluent-kafka, openssl]
seealso:
  - {plugin: millrace.kafka.kafka_endpoints_with_tls, plugin_type: filter}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Certificates in use
  millrace.kafka.kafka_certificates:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    endpoints: "{{ groups['kafka'] | millrace.kafka.kafka_endpoints_with_tls(hostvars, pki_made.hosts) }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
changes: {description: One line per reload., type: list, elements: str, returned: always}
served:
  description: >-
    What each listener serves, C(host), C(listener), C(serial) (hexadecimal) and C(until), in the order of the
    brokers.
  type: list
  elements: dict
  returned: success
"""


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            "admin": {"type": "dict", "required": True},
            "endpoints": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        reload = Reload(module.params["admin"], module.params["endpoints"], module.check_mode)
    except ImportError:
        module.fail_json(msg=missing_required_lib("confluent-kafka"))
    except ClientError as error:
        module.fail_json(msg=str(error))
    try:
        found = reload.converge()
    except ReloadError as error:
        module.fail_json(msg=str(error), changes=reload.changes)
    served = [
        {"host": e["host"], "listener": e["listener"], "serial": s.serial, "until": s.until}
        for e, s in zip(reload.endpoints, found, strict=True)
    ]
    lines = "".join(f"{line}\n" for line in reload.changes)
    module.exit_json(
        changed=bool(reload.changes), changes=reload.changes, served=served, diff={"before": "", "after": lines}
    )


if __name__ == "__main__":
    main()
