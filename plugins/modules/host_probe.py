#!/usr/bin/python
"""Reads the facts about a host that preflight and check.yml need, in one call."""

from __future__ import annotations

import subprocess

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.host.probe import probe

DOCUMENTATION = """
module: host_probe
short_description: Read the facts of a host that preflight and check need, in one call
version_added: "1.0.0"
description:
  - Reads addresses, mounts, disks, clock, limits, firewall and units of a host, and tries to connect to peers. Changes
    nothing.
  - A disk that fails, or a peer that does not answer, is part of the result. The task fails only if a command of the
    system cannot be run.
options:
  mounts: {type: list, elements: str, default: [], description: Paths that should be mount points.}
  kafka_log_dirs:
    description: >-
      Log directories of the broker. The module reads their meta.properties, and finds those that a running broker has
      taken offline.
    type: list
    elements: str
    default: []
  zookeeper_data_dir: {type: str, description: Data directory of the ZooKeeper server. Its myid and zoo.cfg are read.}
  java_executables: {type: list, elements: str, default: [], description: Paths of the java that the units run.}
  exec_paths: {type: list, elements: str, default: [], description: Folders from which services load libraries.}
  units: {type: list, elements: str, default: [], description: systemd units whose state is read.}
  jobs: {type: bool, default: false, description: Whether the status of the host's Spark jobs is read.}
  peers:
    description: >-
      Addresses that this host has to reach. All are tried at once, for 2 s each. No process has to listen there.
    type: list
    elements: dict
    default: []
    suboptions:
      address: {type: str, required: true, description: IPv4 or IPv6 address.}
      port: {type: int, required: true, description: TCP port.}
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.preflight}
  - {module: millrace.kafka.health_page}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Probe a broker's host
  millrace.kafka.host_probe:
    mounts: [/data/kafka1]
    kafka_log_dirs: [/data/kafka1]
    units: [kafka.service]
    peers: [{address: 198.18.2.22, port: 9093}]
  register: preflight_probe

- name: Probe a ZooKeeper server's host
  millrace.kafka.host_probe:
    mounts: [/data/zookeeper]
    zookeeper_data_dir: /data/zookeeper
    java_executables: [/usr/lib/jvm/java-17-openjdk-amd64/bin/java]
    units: [zookeeper.service]
  register: preflight_probe
"""

RETURN = """
probe:
  description: The facts.
  type: dict
  returned: success
  contains:
    addresses:
      description: "IPv4 and IPv6 addresses, without loopback."
      type: list
      elements: str
      sample: [198.18.1.21, 198.18.2.21]
    asked:
      description: "Time of the control node before and after the call, in seconds since 1970."
      type: list
      elements: float
      sample: [1790000000.1, 1790000000.9]
    control_node:
      description: By address of the host, the address from which the control node reaches it; empty without a route.
      type: dict
      sample: {198.18.1.21: 198.18.1.2}
    clock:
      description: "C(synchronized), whether the kernel's clock is synchronized, and C(time) in seconds since 1970."
      type: dict
      sample: {synchronized: true, time: 1790000000.5}
    memory: {description: Memory in bytes., type: int, sample: 8589934592}
    limits:
      description: "C(nr_open) and C(nofile), open files; C(capabilities) of systemd as a number."
      type: dict
      sample: {nr_open: 1048576, nofile: 524288, capabilities: 2199023255551}
    mounts:
      description: >-
        By path, C(mounted); C(link), the mount point to which the path is a link; C(below), the mount point around
        another path, and C(target), to which links lead; if the path exists, C(size) and C(free) in bytes,
        C(device), C(inode), C(type), and C(names) of its entries; C(error) if the file system returns errors or is
        read-only.
      type: dict
      sample: {/data/kafka1: {mounted: true, size: 107374182400, free: 53687091200, device: 2065, inode: 2, type: ext4}}
    noexec:
      description: Those of O(exec_paths) whose file system is mounted with noexec.
      type: list
      elements: str
      sample: [/tmp]
    serves:
      description: Log directories in which the running broker holds its lock.
      type: list
      elements: str
      sample: [/data/kafka1]
    given_up:
      description: Log directories of a running broker in which it no longer holds its lock.
      type: list
      elements: str
      sample: [/data/kafka2]
    log_dirs:
      description: "C(log.dirs) of the installed broker."
      type: list
      elements: str
      sample: [/data/kafka1, /data/kafka2]
    dropped:
      description: "Those of RV(probe.log_dirs) that are not in O(kafka_log_dirs), each as in RV(probe.mounts)."
      type: dict
      sample: {}
    listeners: {description: "Port of each listener of the installed broker.", type: dict, sample: {CLIENT: 9092}}
    listener_addresses:
      description: Advertised address of each listener of the installed broker.
      type: dict
      sample: {CLIENT: 198.18.1.21}
    zookeeper_connect:
      description: "C(zookeeper.connect) of the installed broker, empty without one."
      type: str
      sample: 198.18.1.11:2281,198.18.1.12:2281,198.18.1.13:2281/kafka
    client_ports:
      description: Client ports of the installed ZooKeeper server.
      type: list
      elements: int
      sample: [2281]
    ensemble:
      description:
        - By id, the addresses of each server in the configuration of the installed ZooKeeper server.
        - Empty if the server listens for other servers on all addresses (C(quorumListenOnAllIPs)), unless its process
          was started before the file changed.
      type: dict
      sample: {"1": [198.18.2.11, 198.18.1.11]}
    meta_properties:
      description: "By log directory, the properties in its meta.properties; empty without the file."
      type: dict
      sample: {/data/kafka1: {broker.id: "1", cluster.id: 7wHBT0XWQfCNPKHxMJFAsA}}
    myid: {description: "First line of the file, empty without the file.", type: str, sample: "1"}
    archives:
      description: >-
        By directory, the SHA-512 of the archive that M(millrace.kafka.install_archives) unpacked there; V(complete) for
        a release of Spark jobs, which consists of several archives.
      type: dict
      sample: {/opt/spark-job/1.0.0: complete}
    releases:
      description: >-
        By product (C(kafka), C(zookeeper)) of this host, the version that is C(installed), the version that is
        C(running), and of Kafka the C(protocol) between brokers; empty if there is none.
      type: dict
      sample: {kafka: {installed: 3.9.1, running: 3.9.1, protocol: "3.9"}}
    java:
      description: >-
        By path of those of O(java_executables) that can be run, the version from the file C(release) of its
        installation; empty without the file.
      type: dict
      sample: {/usr/lib/jvm/java-17-openjdk-amd64/bin/java: 17.0.12}
    postgresql:
      description: "C(release) of the system, and the C(installed) versions of PostgreSQL."
      type: dict
      sample: {release: debian 12, installed: ["15"]}
    converged: {description: Whether this project has written its part of /etc/hosts., type: bool, sample: true}
    nft: {description: "Why nft cannot be used, empty if it can be used.", type: str, sample: ""}
    firewall:
      description: "The rules that the role base wrote, empty if there are none."
      type: str
      sample: "table inet millrace {"
    ssh_port: {description: "Port of this SSH connection, 0 if it is not known.", type: int, sample: 22}
    peers:
      description: >-
        By address:port, V(open), V(refused), V(timeout) or the name of the error. V(open) and V(refused) both prove
        that the peer can be reached.
      type: dict
      sample: {"198.18.2.22:9093": open}
    units: {description: "By unit, systemd's ActiveState.", type: dict, sample: {kafka.service: active}}
    failing:
      description: >-
        Units that end again and again, while systemd restarts them: C(starts) in the last C(seconds), and the last
        C(line) that the process before the last start printed.
      type: dict
      sample: {spark-job@count_words.service: {starts: 7, seconds: 160, line: "topic orders: not found"}}
    jobs:
      description: >-
        With O(jobs), the Spark jobs of the host, as C(millrace-jobs status --json) prints them (docs/jobs/README.md).
      type: list
      elements: dict
      sample: [{job: count_words, runs_on: "local[2]", unit: active, state: running, problem: null, queries: []}]
    jobs_error: {description: "Why RV(probe.jobs) is not known, empty otherwise.", type: str, sample: ""}
    to_restart:
      description: Units that restart.yml has marked and not restarted yet.
      type: list
      elements: str
      sample: [kafka.service]
    restarted:
      description: "Units that a run of restart.yml that did not finish has restarted."
      type: list
      elements: str
      sample: []
    restart_hosts:
      description: "By unit of these two lists, the hosts of the run that marked it."
      type: dict
      sample: {kafka.service: [dc1-kafka1, dc1-kafka2]}
    behind:
      description: Running units whose process was started with an older configuration than is on the disk.
      type: list
      elements: str
      sample: [kafka.service]
    untold:
      description: Other running units whose process has not received all dynamic settings that are on the disk.
      type: list
      elements: str
      sample: []
"""


def main() -> None:
    """Run as an Ansible module."""
    texts = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "mounts": texts,
            "kafka_log_dirs": texts,
            "zookeeper_data_dir": {"type": "str"},
            "java_executables": texts,
            "exec_paths": texts,
            "units": texts,
            "jobs": {"type": "bool", "default": False},
            "peers": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, probe=probe(module.params))
    except (OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg=f"probe: {error}")


if __name__ == "__main__":
    main()
