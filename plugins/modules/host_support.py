#!/usr/bin/python
"""Reads a host's versions, units, configuration files, system facts and journals, without secrets."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.host.support import collect

DOCUMENTATION = """
module: host_support
short_description: Read what helps to find the cause of a failure on a host, without secrets
version_added: "1.0.0"
description:
  - Reads versions, units, the configuration files that the roles write, disks, memory, sockets, the clock, and journals
    of a host. Changes nothing.
  - Values of settings that are named like a secret, private keys, tokens, and passwords in URLs are replaced by
    "(removed)" before the texts leave the host. Files that consist of secrets, such as keystores, are not read.
  - What cannot be read is listed in RV(support.left_out); the module does not fail because of it.
  - Use it with C(no_log), because redaction does not recognize each secret.
options:
  units: {type: list, elements: str, default: [], description: systemd units of the host's functions.}
  java_executables: {type: list, elements: str, default: [], description: Paths of the java that the units run.}
  since: {type: str, default: "-2h", description: "Start of the journals, as C(journalctl) takes it."}
  to: {type: str, description: "End of the journals, as C(journalctl --until) takes it."}
  most: {type: int, default: 20000, description: "Maximum of entries of the journal; the newest are returned."}
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.support_bundle}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Read a broker's host
  millrace.kafka.host_support:
    units: [kafka.service]
    since: -2h
  no_log: true
  register: support_host
"""

RETURN = """
support:
  description: The texts, and what was left out.
  type: dict
  returned: always
  contains:
    files:
      description: >-
        Each with its C(name) in the bundle, its C(source) (a path or a command), C(content), the number of C(removed)
        secrets, and whether the text was C(cut).
      type: list
      elements: dict
      sample:
        - {name: files/etc/hosts, source: /etc/hosts, content: "127.0.0.1 localhost", removed: 0, cut: false}
    left_out:
      description: Each with its C(source) and the C(reason).
      type: list
      elements: dict
      sample: [{source: /etc/kafka/tls/keystore.pem, reason: "a key, a certificate or a keystore"}]
"""


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "default": []},
            "java_executables": {"type": "list", "elements": "str", "default": []},
            "since": {"type": "str", "default": "-2h"},
            "to": {"type": "str"},
            "most": {"type": "int", "default": 20000},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, support=collect(module.params))


if __name__ == "__main__":
    main()
