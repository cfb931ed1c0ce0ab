#!/usr/bin/python
"""Converge the nft tables, users, directories, files, links, kernel settings and units of one role in one call."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.module_utils.host.state import Host

DOCUMENTATION = """
module: host_state
short_description: Converge what a role keeps on a host, in one call
description:
  - The cost of a play is the number of module calls, so this one takes lists. Order of work is the order of the
    options, but for units that have to be absent; they are stopped and disabled while their files are still there.
  - Nothing is removed that is not named with C(state=absent); directories are never changed recursively.
  - A link is followed only where root alone could have put it, on the way to a directory. A link that a service put
    into a directory of its own ends the call, and so does one at the place of a file.
  - What is made has the mode that is said, parent directories 0755, whatever the umask of the host.
  - The first thing that cannot be reached ends the call with an error that says what and why; C(changes) says what
    was done before.
options:
  nftables:
    description:
      - Tables of the family inet, each with the file that makes it. What the kernel holds is compared with what the
        file makes in an empty network namespace, so a table that was flushed or changed by hand is loaded anew, in
        one transaction. Other tables are not touched.
    type: list
    elements: dict
    default: []
    suboptions:
      table: {type: str, required: true, description: Name of the table.}
      path: {type: str, required: true, description: "The file; an empty directory is not left behind."}
      content: {type: str, description: "Rules for C(nft -f) that replace the table; needed, but with C(state=absent)."}
      state: {type: str, choices: [present, absent], default: present, description: Whether table and file are there.}
  users:
    description: System users (no login), each with a group of the same name. One that is there is left as it is.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Name of the user.}
      home: {type: str, required: true, description: Home directory; it is not made.}
  directories:
    description: Directories with their parents. Owner and mode are set on the directory itself alone.
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
          - A disk is to be mounted there. Where none is, or it gives errors or takes no writes, there is a warning,
            and the directory is left as it is; a service with several of them goes on with the others.
        type: bool
        default: false
  files:
    description: Whole files. The diff of a secret one shows that it changed, not how.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: "The file; its directory has to be there."}
      content: {type: str, description: "The whole text; this or C(secret_base64), but with C(state=absent)."}
      secret_base64:
        description: >-
          In place of C(content), of any bytes. C(content) can be read in the host's journal, where Ansible notes
          every call, and with C(-vvv); this cannot. It is one line for that reason: what is masked is compared line
          by line.
        type: str
      owner: {type: str, default: root, description: Name of a user.}
      group: {type: str, default: root, description: Name of a group.}
      mode: {type: str, default: "0644", description: Octal digits.}
      secret: {type: bool, default: false, description: The diff does not show the text.}
      validate:
        description:
          - A command that judges the new file before it is put in its place, C(%s) in place of its path, as
            C(nft -c -f %s). Where it fails, the old file stays.
        type: str
      state: {type: str, choices: [present, absent], default: present, description: Whether the file is there.}
  blocks:
    description: A marked part of a file that others write too, between C(# BEGIN MARKER) and C(# END MARKER).
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: The file.}
      marker: {type: str, required: true, description: Name of the part.}
      content: {type: str, required: true, description: What stands between.}
  links:
    description: Symbolic links, flipped in one step. Anything else at the place of one is an error.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: str, required: true, description: The link.}
      target: {type: str, required: true, description: What it leads to; it need not be there.}
  sysctl:
    description: Kernel settings that must hold now (a file under /etc/sysctl.d makes them survive a reboot).
    type: dict
    default: {}
  units:
    description:
      - systemd units. A unit that runs is not touched by C(started); whether it runs with what is declared now is
        answered by C(restart_owed), which compares I(digest) with the CONFIG_DIGEST in the environment of the running
        process. So an interrupted run forgets no restart. C(converged) starts, and restarts a unit that is owed one.
        C(absent) stops and disables, and forgets that it failed; the file is removed by I(files).
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: "Full name, as C(kafka.service)."}
      enabled: {type: bool, default: true, description: Whether it starts at boot.}
      state:
        description: What it is to be.
        type: str
        choices: [started, stopped, converged, absent]
        default: started
      digest:
        description:
          - The CONFIG_DIGEST that a process has to be started with. Where it is not said, the one that I(files) of this
            call write into the unit itself. Without any no restart is owed.
        type: str
      restart:
        description:
          - C(mark) notes in /run/millrace that the process that runs now is to be restarted, where that is not noted
            yet for the same I(restart_hosts), C(again) in any case, C(end) forgets it, with I(restart_hosts) only where
            it was noted for the same. C(keep) only says what is noted.
            Then C(restart_owed) is true while that process runs, and C(marked) where anything is noted. C(converged)
            restarts it, also where this is not said.
        type: str
        choices: [mark, again, keep, end]
      restart_hosts: {type: list, elements: str, description: Hosts of the run that marks the unit.}
      live:
        description:
          - What the process can be told while it runs, by whoever asks for it; nothing of it is told here. Whether that
            is owed is answered by C(live), from the LIVE_DIGEST in the environment of the running process and a record
            in /var/lib/millrace, which also names what was told before. So an interrupted run forgets nothing of it.
        type: dict
        suboptions:
          digest: {type: str, required: true, description: The LIVE_DIGEST of a process that was started with it.}
          settings: {type: dict, required: true, description: "By name, the value as a text; null where none is said."}
          told: {type: dict, description: "It was told; by name, the values that were set for that, as a list."}
      watch:
        description: Seconds after a start in which it must not end; where it does, the call fails with what it said.
        type: int
        default: 0
      answers:
        description: A Kafka listener; the watch ends as soon as the broker processes what comes to it.
        type: dict
        suboptions:
          at: {type: str, required: true, description: "Where it is bound, as host:port."}
          tls: {type: bool, required: true, description: Whether it speaks TLS.}
attributes:
  check_mode: {description: "Complete, also where the user or the parent directory is not there yet.", support: full}
  diff_mode: {description: "Complete, but for secrets.", support: full}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Configure
  millrace.kafka.host_state:
    users: [{name: kafka, home: /var/lib/kafka}]
    files:
      - {path: /etc/kafka/log4j.properties, content: "{{ lookup('ansible.builtin.template', 'log4j.properties.j2') }}"}
    units: [{name: kafka.service, digest: "{{ __kafka_digest }}"}]
  register: __kafka_service
"""

RETURN = """
changes: {description: "One line per change, what and where.", type: list, elements: str, returned: always}
units:
  description: >-
    By name of the unit, C(active), C(restart_owed) and C(started), and perhaps C(marked), all bool. Where I(live) is
    said, C(live) has whether it is C(owed), C(anew) where the process has all from its files, or is owed the restart
    that gives it all, and what whoever tells it has to know: C(digest), C(settings), C(told).
  type: dict
  returned: success
"""

OWNED: dict[str, Any] = {
    "path": {"type": "str", "required": True},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
}


def listing(options: dict[str, Any], **rules: Any) -> dict[str, Any]:
    """Return the spec of a list of dicts; `rules` join options of one, as required_if."""
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
    """Stand in for fail_json in the primitives of AnsibleModule: main answers with what was done before, too."""
    raise StateError(": ".join(str(word) for word in (more.get("path"), msg, more.get("details")) if word))


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
