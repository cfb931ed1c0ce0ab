#!/usr/bin/python
"""Read what preflight and check need to know of a host, in one call."""

from __future__ import annotations

import subprocess

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.host.probe import probe

DOCUMENTATION = """
module: host_probe
short_description: Read in one call what preflight and check need to know of a host; changes nothing
description:
  - Reads addresses, mounts, disks, clock, limits, firewall and units, and tries to reach peers.
  - A disk that fails, or a peer that does not answer, is part of the answer. Fails where a command of the system
    cannot be run.
options:
  mounts: {type: list, elements: str, default: [], description: Paths that should be mount points.}
  kafka_log_dirs:
    description: Log directories. Read are their meta.properties, and which of them a running broker has given up.
    type: list
    elements: str
    default: []
  zookeeper_data_dir: {type: str, description: Directory whose myid is read; zoo.cfg is as well.}
  java_executables: {type: list, elements: str, default: [], description: Paths of the java that units run.}
  units: {type: list, elements: str, default: [], description: systemd units whose state is read.}
  peers:
    description: What this host has to reach. All are tried at once, for 2 s each; nothing need listen there.
    type: list
    elements: dict
    default: []
    suboptions:
      address: {type: str, required: true, description: IPv4 or IPv6 address.}
      port: {type: int, required: true, description: TCP port.}
attributes:
  check_mode: {description: The same as without., support: full}
  diff_mode: {description: There is none., support: none}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Probe
  millrace.kafka.host_probe:
    mounts: [/data/kafka1]
    kafka_log_dirs: [/data/kafka1]
    units: [kafka.service]
    peers: [{address: 198.18.2.22, port: 9093}]
  register: preflight_probe
"""

RETURN = """
probe:
  description: The facts.
  type: dict
  returned: success
  contains:
    addresses: {description: "IPv4 and IPv6 addresses, loopback left out.", type: list, elements: str}
    asked:
      description: "Time of the control node before and after, in seconds since 1970."
      type: list
      elements: float
    control_node:
      description: "By address of the host, the control node's own address towards it; empty where no way leads there."
      type: dict
    clock:
      description: "C(synchronized), whether the kernel knows who keeps the time, and C(time) in seconds since 1970."
      type: dict
    memory: {description: Memory in bytes., type: int}
    limits: {description: "C(nr_open) and C(nofile), open files; C(capabilities) of systemd as a number.", type: dict}
    mounts:
      description: >-
        By path, C(mounted); where it exists, C(size) and C(free) in bytes, C(device), C(inode), C(type) and C(names) of
        what is in it; C(error) where the file system fails or takes no writes.
      type: dict
    serves: {description: Log directories in which the running broker holds its lock., type: list, elements: str}
    given_up: {description: Those of a running broker in which it holds none any more., type: list, elements: str}
    log_dirs: {description: "C(log.dirs) of the broker that is installed.", type: list, elements: str}
    dropped:
      description: "Of these, those that are not in I(kafka_log_dirs), each as in C(mounts)."
      type: dict
    listeners: {description: "By listener of the broker that is installed, its port.", type: dict}
    zookeeper_connect:
      description: "C(zookeeper.connect) of the broker that is installed, empty where there is none."
      type: str
    client_ports:
      description: Ports for clients of the ZooKeeper server that is installed.
      type: list
      elements: int
    meta_properties:
      description: "By log directory, what its meta.properties holds; empty where there is none."
      type: dict
    myid: {description: "First line of the file, empty where there is none.", type: str}
    archives:
      description: >-
        By directory, the SHA-512 of the archive that install_archives unpacked there; C(complete) where a release of
        Spark jobs was made of several.
      type: dict
    releases:
      description: >-
        By product (C(kafka), C(zookeeper)) that this host is to have and has, the version that is C(installed), the
        one that is C(running), and of Kafka the C(protocol) that its broker speaks to the others; empty for none.
      type: dict
    java:
      description: >-
        By path of those of java_executables that can be run, the version from the file C(release) beside it; empty
        where there is none.
      type: dict
    postgresql:
      description: "C(release) of the system, as C(debian 12), and the versions of PostgreSQL that are C(installed)."
      type: dict
    converged: {description: Whether this project has written its part of /etc/hosts., type: bool}
    nft: {description: "Why nft cannot be used, empty where it can.", type: str}
    firewall: {description: "The rules that the role base wrote, empty where there are none.", type: str}
    ssh_port: {description: "Port at which this connection came in, 0 where it is not known.", type: int}
    peers:
      description: "By address:port, C(open), C(refused), C(timeout) or the name of the error. Any answer shows a way."
      type: dict
    units: {description: "By unit, systemd's ActiveState.", type: dict}
    to_restart: {description: Units that restart.yml has marked and not restarted yet., type: list, elements: str}
    restarted: {description: "Units that it has, and has not ended.", type: list, elements: str}
    restart_hosts: {description: "By unit of these two, the hosts of the run that has marked it.", type: dict}
    behind:
      description: Running units whose process was started with another configuration than is on the disk.
      type: list
      elements: str
    untold:
      description: Those of the others that are still to be told settings that are on the disk, which takes no restart.
      type: list
      elements: str
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
            "units": texts,
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
