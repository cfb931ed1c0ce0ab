#!/usr/bin/python
"""Converge the nft tables, users, directories, files, links, kernel settings and units of one role in one call."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.millrace.host_state import Host, StateError

DOCUMENTATION = """
module: host_state
short_description: Converge what a role keeps on a host, in one call
description:
  - The cost of a play is the number of module calls, so this one takes lists. Order of work is the order of the options,
    but for units that have to be absent; they are stopped and disabled while their files are still there.
  - Nothing is removed that is not named with C(state=absent); directories are never changed recursively.
  - Check mode and diff are complete, also on a host where the user or the parent directory does not exist yet.
options:
  nftables:
    description:
      - Tables of the family inet, each with the file that makes it. What the kernel holds is compared with what the file makes in an empty
        network namespace, so a table that was flushed or changed by hand is loaded anew, in one transaction. Other tables are not touched.
    type: list
    elements: dict
    default: []
    suboptions:
      table: {type: str, required: true}
      path: {type: str, required: true, description: "The file; an empty directory is not left behind."}
      content: {type: str, description: "Rules for `nft -f` that replace the table."}
      state: {type: str, choices: [present, absent], default: present}
  users:
    description: System users (no login), each with a group of the same name.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true}
      home: {type: str, required: true}
  directories:
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true}
      owner: {type: str, default: root}
      group: {type: str, default: root}
      mode: {type: str, default: "0755"}
  files:
    description: Whole files. The diff of a secret one shows that it changed, not how.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true}
      content: {type: str}
      secret_base64:
        description: >-
          In place of C(content), of any bytes. C(content) can be read in the host's journal, where Ansible notes every call, and with
          C(-vvv); this cannot. It is one line for that reason: what is masked is compared line by line.
        type: str
      owner: {type: str, default: root}
      group: {type: str, default: root}
      mode: {type: str, default: "0644"}
      secret: {type: bool, default: false}
      state: {type: str, choices: [present, absent], default: present}
  blocks:
    description: A marked part of a file that others write too.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true}
      marker: {type: str, required: true}
      content: {type: str, required: true}
  links:
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true}
      target: {type: str, required: true}
  sysctl:
    description: Kernel settings that must hold now (a file under /etc/sysctl.d makes them survive a reboot).
    type: dict
    default: {}
  units:
    description:
      - systemd units. A unit that runs is not touched by C(started); whether it runs with what is declared now is answered
        by C(restart_owed), which compares I(digest) with the CONFIG_DIGEST in the environment of the running process. So an
        interrupted run forgets no restart. C(converged) starts, and restarts a unit that is owed one. C(absent) stops and
        disables; the file is removed by I(files).
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true}
      enabled: {type: bool, default: true}
      state: {type: str, choices: [started, stopped, converged, absent], default: started}
      digest: {type: str}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Configure
  host_state:
    users: [{name: kafka, home: /var/lib/kafka}]
    files:
      - {path: /etc/kafka/server.properties, content: "{{ lookup('ansible.builtin.template', 'server.properties.j2') }}"}
    units: [{name: kafka.service, digest: "{{ __kafka_digest }}"}]
  register: __kafka_service
"""

RETURN = """
changes: {description: 'One line per change: what and where.', type: list, elements: str, returned: always}
units:
  description: 'Per unit: active (bool) and restart_owed (bool).'
  type: dict
  returned: always
"""

OWNED = {
    "path": {"type": "str", "required": True},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
}


def listing(options: dict[str, dict[str, object]]) -> dict[str, object]:
    """Return the spec of a list of dicts."""
    return {"type": "list", "elements": "dict", "default": [], "options": options}


STATE = {"type": "str", "choices": ["present", "absent"], "default": "present"}
SPEC = {
    "nftables": listing({"table": {"type": "str", "required": True}, "path": OWNED["path"], "content": {"type": "str"}, "state": STATE}),
    "users": listing({"name": {"type": "str", "required": True}, "home": {"type": "str", "required": True}}),
    "directories": listing({**OWNED, "mode": {"type": "str", "default": "0755"}}),
    "files": listing(
        {
            **OWNED,
            "content": {"type": "str"},
            "secret_base64": {"type": "str", "no_log": True},
            "mode": {"type": "str", "default": "0644"},
            "secret": {"type": "bool", "default": False},
            "state": STATE,
        }
    ),
    "blocks": listing({key: {"type": "str", "required": True} for key in ("path", "marker", "content")}),
    "links": listing({key: {"type": "str", "required": True} for key in ("path", "target")}),
    "sysctl": {"type": "dict", "default": {}},
    "units": listing(
        {
            "name": {"type": "str", "required": True},
            "enabled": {"type": "bool", "default": True},
            "state": {"type": "str", "choices": ["started", "stopped", "converged", "absent"], "default": "started"},
            "digest": {"type": "str"},
        }
    ),
}


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    host = Host(check_mode=module.check_mode)
    try:
        host.converge(module.params)
    except (StateError, OSError) as error:
        module.fail_json(msg=str(error), changes=host.changes)
    module.exit_json(changed=bool(host.changes), changes=host.changes, units=host.units, diff=host.diffs)


if __name__ == "__main__":
    main()
