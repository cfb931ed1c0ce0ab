"""The page of the action of the same name; nothing is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: preflight
short_description: Say everything that is wrong with the inventory, then with the hosts, before anything is changed
description:
  - "Without I(register): the inventory alone, for all hosts that have a function, also under C(--limit). Certificates
    and the configuration of Spark jobs are checked too. Where nothing is wrong, prints what the layout survives."
  - "With I(register): what host_probe answered, for the hosts of the play."
  - All mistakes are printed at once, each with its place and advice, and the task fails once. Warnings fail nothing.
    docs/errors.md lists the codes.
  - Runs on the control node, reads the variables of all hosts, and changes nothing; use C(run_once). No connection is
    needed.
  - A tag of C(--tags) or C(--skip-tags) that no task of this collection has is warned of.
  - The variable C(preflight_output=json) has it print one line of JSON in place of the text.
options:
  register:
    description: Variable in which each host's answer of host_probe is. Selects the check of hosts.
    type: str
  mends:
    description: Codes of mistakes on hosts that the plays that follow mend. They are warnings in this run.
    type: list
    elements: str
    default: []
  undeclared:
    description:
      - With I(register), what kafka_cluster answered of brokers that nobody declares. One that holds replicas is a
        mistake.
    type: dict
    default: {}
  offline:
    description:
      - With I(register), the partitions without a leader, as kafka_cluster names them (C(lacking)). No log dir of a
        disk that failed is taken out beside them.
    type: list
    elements: str
    default: []
  alone:
    description:
      - With I(register), by id the partitions without a leader with which that broker alone was in sync, as
        kafka_cluster names them. It does not begin with an empty log dir in place of the one that had them.
    type: dict
    default: {}
  lost:
    description: Those of I(alone), as C(orders-0), whose records are given up.
    type: list
    elements: str
    default: []
  registered:
    description:
      - With I(register), ids of the brokers that live. Beside them nothing is installed in a run that knows nothing of
        what they run.
    type: list
    elements: str
    default: []
  survival:
    description: Whether what the layout survives is printed, where nothing is wrong.
    type: bool
    default: true
  changes:
    description:
      - Whether the plays that follow change hosts. Where nothing is wrong, the hosts are locked until this run ends,
        and a run that holds one of them is a mistake. Not in check mode, and not where C(--tags) chooses phases of
        preflight alone.
      - The locks are kept by the process of the run, which the inventory plugin C(millrace.kafka.site) prepares.
    type: bool
    default: false
  lock_directory:
    description: "Folder of the locks. Empty: C(/run/lock) where all users may write to it, else C(/var/tmp)."
    type: str
    default: ""
attributes:
  check_mode: {description: "The same as without, but for the lock.", support: full}
  diff_mode: {description: There is none., support: none}
seealso:
  - {module: millrace.kafka.host_probe}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Check the model
  millrace.kafka.preflight:
  register: preflight_model
  run_once: true

- name: Probe the host
  millrace.kafka.host_probe:
    peers: "{{ preflight_model.peers[inventory_hostname] }}"
    java_executables: "{{ preflight_model.java[inventory_hostname] }}"
  register: preflight_probe

- name: Check the hosts
  millrace.kafka.preflight:
    register: preflight_probe
  run_once: true
"""

RETURN = """
msg: {description: "How many hosts were checked, or how many mistakes there are.", type: str, returned: always}
peers:
  description: >-
    By host of the play, what it has to reach (C(host), C(address), C(port)); the option I(peers) of host_probe.
  type: dict
  returned: success, without I(register)
java:
  description: By host of the play, paths of the java that its units run; the option I(java_executables) of host_probe.
  type: dict
  returned: success, without I(register)
"""
