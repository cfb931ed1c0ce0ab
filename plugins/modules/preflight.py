"""Documents the action preflight, which does the work on the control node; no module is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: preflight
short_description: Report all mistakes of the inventory, or of the hosts, before anything is changed
version_added: "1.0.0"
description:
  - Reports all mistakes at once, each with its place and advice, and fails once. Warnings do not fail the task.
    docs/errors.md lists the codes.
  - Without O(register), checks the inventory, for all hosts that have a function, also with C(--limit). Certificates
    and the configuration of Spark jobs are checked too. Without mistakes, prints which failures the layout survives.
  - With O(register), checks the results of M(millrace.kafka.host_probe) of the hosts of the play.
  - Runs on the control node, reads the variables of all hosts, and changes nothing; use C(run_once). No connection is
    needed.
  - Warns about a tag of C(--tags) or C(--skip-tags) that no task of this collection has.
  - If the variable C(drawing) names a file, and the inventory has no mistake, draws the site into this file on the
    control node, as SVG. An existing file is replaced if it is such a drawing, or with C(drawing_overwrite=true).
  - If the variable C(preflight_output) is V(json), prints one line of JSON in place of the text.
options:
  register:
    description: Variable that holds each host's result of M(millrace.kafka.host_probe). Selects the check of hosts.
    type: str
  mends:
    description: Codes of mistakes on hosts that later plays of this run correct. They are only warnings.
    type: list
    elements: str
    default: []
  undeclared:
    description:
      - With O(register), C(undeclared) of M(millrace.kafka.kafka_cluster), the brokers that the inventory does not
        declare. One that holds replicas is a mistake.
    type: dict
    default: {}
  offline:
    description:
      - With O(register), the partitions without a leader, from C(lacking) of M(millrace.kafka.kafka_cluster). While
        there are any, no log dir of a failed disk is removed from the broker.
    type: list
    elements: str
    default: []
  alone:
    description:
      - With O(register), C(alone) of M(millrace.kafka.kafka_cluster), by id of a broker the partitions without a leader
        whose last in-sync replica it has. The broker is not started with an empty log dir in place of the one that
        held them.
    type: dict
    default: {}
  lost:
    description: Partitions of O(alone), as C(orders-0), whose records may be lost.
    type: list
    elements: str
    default: []
  registered:
    description:
      - With O(register), ids of the registered brokers. While there are any, nothing is installed in a run that does
        not know which version they run.
    type: list
    elements: str
    default: []
  survival:
    description: Whether to print which failures the layout survives, if there are no mistakes.
    type: bool
    default: true
  changes:
    description:
      - Whether later plays change hosts. Without mistakes, the hosts are locked until this run ends; a host that
        another run has locked is a mistake. Not in check mode, and not if C(--tags) selects phases of preflight only.
      - The process of the run holds the locks; the inventory plugin P(millrace.kafka.site#inventory) prepares it.
    type: bool
    default: false
  lock_directory:
    description: "Directory of the locks. Empty: C(/run/lock) if all users may write to it, else C(/var/tmp)."
    type: str
    default: ""
attributes:
  check_mode: {description: "The same as without check mode, also the drawing, but does not lock.", support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.host_probe}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Check the inventory
  millrace.kafka.preflight:
  register: preflight_model
  run_once: true

- name: Probe the host
  millrace.kafka.host_probe:
    peers: "{{ preflight_model.peers[inventory_hostname] }}"
    java_executables: "{{ preflight_model.java[inventory_hostname] }}"
    exec_paths: "{{ preflight_model.exec_paths[inventory_hostname] }}"
  register: preflight_probe

- name: Check the hosts
  millrace.kafka.preflight:
    register: preflight_probe
  run_once: true

- name: Check the hosts before a run that changes them, and lock them
  millrace.kafka.preflight:
    register: preflight_probe
    changes: true
  run_once: true
"""

RETURN = """
msg:
  description: "The number of hosts that were checked, or of mistakes."
  type: str
  returned: always
  sample: 8 hosts checked
peers:
  description: >-
    By host of the play, the addresses that it has to reach (C(host), C(address), C(port)), for the option C(peers) of
    M(millrace.kafka.host_probe).
  type: dict
  returned: success, without O(register)
  sample: {dc1-kafka1: [{host: dc1-kafka2, address: 198.18.2.22, port: 9093}]}
java:
  description: >-
    By host of the play, the paths of the java that its units run, for the option C(java_executables) of
    M(millrace.kafka.host_probe).
  type: dict
  returned: success, without O(register)
  sample: {dc1-kafka1: [/usr/lib/jvm/java-17-openjdk-amd64/bin/java]}
exec_paths:
  description: >-
    By host of the play, the folders from which its JVMs load libraries, for the option C(exec_paths) of
    M(millrace.kafka.host_probe).
  type: dict
  returned: success, without O(register)
  sample: {dc1-kafka1: [/tmp, /var/lib/kafka]}
"""
