#!/usr/bin/python
"""Makes the files, users, units and other parts of a host match what one role declares, in one call."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.module_utils.host.state import Host

DOCUMENTATION = """
module: host_state
short_description: Converge the files, users, kernel settings and units of a role on a host, in one call
version_added: "1.0.0"
description:
  - Converges everything that a role keeps on a host. It takes lists, because the cost of a play is the number of its
    module calls.
  - Works in the order of the options, except that units with C(state=absent) are stopped and disabled first, while
    their files still exist.
  - Removes only what is declared with C(state=absent). Directories are never changed recursively.
  - Follows a symbolic link only on the way to a directory, and only if root alone could have created it. Fails if a
    service created a link in a directory of its own, or if a link is at the path of a file.
  - New files have the declared mode, new parent directories 0755, whatever the umask of the host.
  - Fails at the first change that is not possible; RV(changes) lists what was done before.
options:
  nftables:
    description:
      - Tables of the family inet, each with the file that creates it. The table in the kernel is compared with the
        table that the file creates in an empty network namespace, so a table that was flushed or changed by hand is
        loaded again, in one transaction. Other tables are not touched.
    type: list
    elements: dict
    default: []
    suboptions:
      table: {type: str, required: true, description: Name of the table.}
      path: {type: str, required: true, description: The file. Its directory is removed with it if it is empty then.}
      content:
        description: "Rules for C(nft -f) that replace the table. Required, except with C(state=absent)."
        type: str
      state: {type: str, choices: [present, absent], default: present, description: Whether table and file exist.}
  users:
    description: System users (without login), each with a group of the same name. Existing users are not changed.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Name of the user.}
      home: {type: str, required: true, description: Home directory; it is not created.}
  directories:
    description: Directories with their parents. Owner and mode are set on the directory itself only.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: The directory.}
      owner: {type: str, default: root, description: Name of a user.}
      group: {type: str, default: root, description: Name of a group.}
      mode: {type: str, default: "0755", description: Octal digits.}
      mount:
        description:
          - A disk has to be mounted there. If none is mounted, or it returns errors or is read-only, the module warns
            and leaves the directory unchanged; a service with several disks continues with the others.
        type: bool
        default: false
  files:
    description: Whole files. The diff of a secret file shows only that it changed.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: The file. Its directory has to exist.}
      content: {type: str, description: "The whole text; this or O(files[].secret_base64), unless C(state=absent)."}
      secret_base64:
        description: >-
          The content in base64, any bytes. O(files[].content) is visible in the host's journal, where Ansible logs
          every call, and with C(-vvv); this is not. It is a single line because Ansible masks secrets line by line.
        type: str
      owner: {type: str, default: root, description: Name of a user.}
      group: {type: str, default: root, description: Name of a group.}
      mode: {type: str, default: "0644", description: Octal digits.}
      secret: {type: bool, default: false, description: Do not show the text in the diff.}
      validate:
        description:
          - A command that checks the new file before it replaces the old one, with C(%s) for its path, as
            C(nft -c -f %s). If it fails, the old file stays.
        type: str
      state: {type: str, choices: [present, absent], default: present, description: Whether the file exists.}
  blocks:
    description: A marked part of a file that other programs write too, between C(# BEGIN MARKER) and C(# END MARKER).
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: The file.}
      marker: {type: str, required: true, description: Name of the part.}
      content: {type: str, required: true, description: Text between the two markers.}
  links:
    description: Symbolic links, replaced atomically. Fails if anything else is at the path.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: The link.}
      target: {type: str, required: true, description: "Its target, which need not exist."}
  sysctl:
    description: Kernel settings that must hold now (a file under /etc/sysctl.d makes them survive a reboot).
    type: dict
    default: {}
  units:
    description:
      - systemd units. V(started) does not restart a running unit; RV(units) returns in C(restart_owed) whether it has a
        pending restart, that is, whether O(units[].digest) differs from the CONFIG_DIGEST in the environment of the
        running process. So an interrupted run loses no restart.
      - V(converged) starts the unit, and restarts it if a restart is pending.
      - V(absent) stops and disables the unit and resets its failed state; O(files) removes the file.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: "Full name, as C(kafka.service)."}
      enabled: {type: bool, default: true, description: Whether the unit starts at boot.}
      state:
        description: State of the unit.
        type: str
        choices: [started, stopped, converged, absent]
        default: started
      digest:
        description:
          - The CONFIG_DIGEST with which the process has to be started. The default is the digest that O(files) of this
            call write into the unit. Without a digest, no restart is ever pending.
        type: str
      restart:
        description:
          - V(mark) records in /run/millrace that the process that runs now is to be restarted, unless that is recorded
            for the same O(units[].restart_hosts) already.
          - V(again) records it in any case.
          - V(keep) only reports what is recorded.
          - V(end) removes the record; with O(units[].restart_hosts), only if it was made for the same hosts.
          - After that, C(restart_owed) is true while the marked process runs, and C(marked) is true if there is a
            record. V(converged) restarts a marked process, also without this option.
        type: str
        choices: [mark, again, keep, end]
      restart_hosts: {type: list, elements: str, description: Hosts of the run that marks the unit.}
      live:
        description:
          - Dynamic settings, which the process can receive while it runs. This module does not set them. RV(units)
            returns in C(live) whether the process has to receive some, judged by the LIVE_DIGEST in the environment of
            the process and a record in /var/lib/millrace, which also lists the values that were set before. So an
            interrupted run forgets no setting.
        type: dict
        suboptions:
          digest: {type: str, required: true, description: The LIVE_DIGEST of a process that is started with them.}
          settings: {type: dict, required: true, description: "By name, the value as text; null for Kafka's default."}
          told:
            description: Reports that the process received the settings. By name, the list of values that were set.
            type: dict
      watch:
        description: Seconds after a start during which the unit must not end. If it ends, fail with its last messages.
        type: int
        default: 0
      answers:
        description: A Kafka listener. The watch ends as soon as the broker processes requests on it.
        type: dict
        suboptions:
          at: {type: str, required: true, description: "The address it is bound to, as host:port."}
          tls: {type: bool, required: true, description: Whether it uses TLS.}
attributes:
  check_mode:
    description: Reports all changes, also if the user or the parent directory does not exist yet.
    support: full
  diff_mode: {description: "Shows all changes, except secrets.", support: full}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Configure a service
  millrace.kafka.host_state:
    users: [{name: kafka, home: /var/lib/kafka}]
    files:
      - {path: /etc/kafka/log4j.properties, content: "{{ lookup('ansible.builtin.template', 'log4j.properties.j2') }}"}
    units: [{name: kafka.service, digest: "{{ __kafka_digest }}"}]
  register: kafka_state

- name: Start the service, restart it if a restart is pending, and wait until its listener answers
  millrace.kafka.host_state:
    units:
      - {name: kafka.service, state: converged, watch: 60, answers: {at: "198.18.2.21:9093", tls: true}}

- name: Remove a service with its files
  millrace.kafka.host_state:
    files:
      - {path: /etc/systemd/system/old.service, state: absent}
      - {path: /etc/old.conf, state: absent}
    units: [{name: old.service, state: absent}]
"""

RETURN = """
changes:
  description: "One line for each change: what and where."
  type: list
  elements: str
  returned: always
  sample: [file /etc/kafka/server.properties, restart kafka.service]
units:
  description:
    - By name of the unit, the booleans C(active), C(restart_owed) (whether a restart is pending) and C(started), and
      C(marked) if a restart was recorded.
    - With O(units[].live), also C(live), with C(owed), whether the process has to receive settings; C(anew), whether
      it has all from its files or gets all by a pending restart; and C(digest), C(settings) and C(told), which
      M(millrace.kafka.kafka_live_config) needs.
  type: dict
  returned: success
  sample: {kafka.service: {active: true, restart_owed: false, started: false}}
"""

OWNED: dict[str, Any] = {
    "path": {"type": "str", "required": True},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
}


def listing(options: dict[str, Any], **rules: Any) -> dict[str, Any]:
    """Return the argument spec of an option that is a list of dicts with these options.

    `rules` are rules between the options of an entry, as required_if.
    """
    return {"type": "list", "elements": "dict", "default": [], "options": options, **rules}


STATE: dict[str, Any] = {"type": "str", "choices": ["present", "absent"], "default": "present"}
SPEC = {
    "nftables": listing(
        {"table": {"type": "str", "required": True}, "path": OWNED["path"], "content": {"type": "str"}, "state": STATE},
        required_if=[("state", "present", ("content",))],
    ),
    "users": listing({"name": {"type": "str", "required": True}, "home": {"type": "str", "required": True}}),
    "directories": listing(
        {**OWNED, "mode": {"type": "str", "default": "0755"}, "mount": {"type": "bool", "default": False}}
    ),
    "files": listing(
        {
            **OWNED,
            "content": {"type": "str"},
            "secret_base64": {"type": "str", "no_log": True},
            "mode": {"type": "str", "default": "0644"},
            "secret": {"type": "bool", "default": False},
            "validate": {"type": "str"},
            "state": STATE,
        },
        required_if=[("state", "present", ("content", "secret_base64"), True)],
        mutually_exclusive=[("content", "secret_base64")],
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
            "restart": {"type": "str", "choices": ["mark", "again", "keep", "end"]},
            "restart_hosts": {"type": "list", "elements": "str"},
            "live": {
                "type": "dict",
                "options": {
                    "digest": {"type": "str", "required": True},
                    "settings": {"type": "dict", "required": True},
                    "told": {"type": "dict"},
                },
            },
            "watch": {"type": "int", "default": 0},
            "answers": {
                "type": "dict",
                "options": {"at": {"type": "str", "required": True}, "tls": {"type": "bool", "required": True}},
            },
        }
    ),
}


def refuse(msg: str, **more: Any) -> None:
    """Raise StateError with the message; this function replaces AnsibleModule.fail_json.

    So main() can fail with a result that lists the changes made before.
    """
    raise StateError(": ".join(str(part) for part in (more.get("path"), msg, more.get("details")) if part))


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    fail, module.fail_json = module.fail_json, refuse
    host = Host(module)
    try:
        host.converge(module.params)
    except (StateError, OSError) as error:
        fail(msg=str(error), changes=host.changes)
    module.exit_json(changed=bool(host.changes), changes=host.changes, units=host.units, diff=host.diffs)


if __name__ == "__main__":
    main()
