#!/usr/bin/python
"""Makes brokers reload certificates and CAs from their disks, without a restart."""

from __future__ import annotations

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reload import Reload, ReloadError

DOCUMENTATION = """
module: kafka_certificates
short_description: Make brokers reload the certificates and CAs that are on their disks
version_added: "1.0.0"
description:
  - Reloads the certificates and truststores of brokers' listeners, without a restart. Asks every listener by a TLS
    handshake which certificate it serves and which CAs it accepts, and reloads those that differ from the files on the
    broker's disk, one after the other.
  - Truststores that grow are reloaded first, then certificates, then truststores that shrink. A reload that would cut a
    broker off from the others is rejected.
  - Fails if a listener does not answer, if a broker rejects a file (it then keeps the old one), or if a listener does
    not serve the new certificate after 20 s; RV(changes) lists what was started.
  - Runs where confluent-kafka and openssl are installed and the listeners can be reached (the control node, or a host
    of the group admin).
options:
  admin:
    description: >-
      Client properties of a super user, with librdkafka's names. C(ssl.certificate.location), a PEM file with its
      key, and C(ssl.ca.location) are required: handshakes use them, too.
    type: dict
    required: true
  endpoints:
    description: The listeners, as the filter P(millrace.kafka.kafka_endpoints_with_tls#filter) returns them.
    type: list
    elements: dict
    required: true
attributes:
  check_mode: {description: Asks the listeners and reloads nothing., support: full}
  diff_mode: {description: Shows the lines of RV(changes)., support: full}
requirements: [confluent-kafka, openssl]
seealso:
  - {module: millrace.kafka.tls_served}
  - {plugin: millrace.kafka.kafka_endpoints_with_tls, plugin_type: filter}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Reload certificates that changed on disk
  millrace.kafka.kafka_certificates:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    endpoints: "{{ groups['kafka'] | millrace.kafka.kafka_endpoints_with_tls(hostvars, pki_made.hosts) }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
changes:
  description: One line for each reload.
  type: list
  elements: str
  returned: always
  sample: ["broker 1 (dc1-kafka1), listener CLIENT: serves the certificate 1f"]
served:
  description: >-
    The certificate that each listener serves, with C(host), C(listener), C(serial) (hexadecimal) and C(until), in the
    order of the brokers.
  type: list
  elements: dict
  returned: success
  sample: [{host: dc1-kafka1, listener: CLIENT, serial: 1f, until: "2027-01-31T12:00:00Z"}]
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
