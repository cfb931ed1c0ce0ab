"""The page of the action of the same name; nothing is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: health_page
short_description: Print one page on the health of a datacenter; fail where something is wrong
description:
  - "Compares what other modules answered in this run with the inventory: ZooKeeper's modes, registered brokers with
    racks and endpoints, partitions, disks, units, certificates."
  - A host that did not answer, or a register that is not there, is a problem or an empty part of the page, not an
    error.
  - A disk that is more than 85 % full, and a broker that leads more than 1.5 times its share, are problems.
  - "Shows what each log dir and each rack holds. Skew is no problem, and said with the run of reassign.yml that mends
    it: bytes of a broker, or of a log dir among those of its broker that are on file systems of their own and of one
    size, from 1.5 times the share and 1 GiB too much; leaders of a rack, from 1.25 times its share."
  - Replicas in a log dir that are not their broker's, and limits that are left though nothing is moved or copied, are
    problems.
  - Fails, as preflight does, where the inventory is several, or does not name the plugin C(millrace.kafka.site).
  - Runs on the control node, and changes nothing; use C(run_once). No connection is needed. Hosts of the play
    that have no function (C(groups/*.yml)) are left out.
  - "The variable C(check_output=json) has it print one line of JSON in place of the page: C(healthy), C(problems) as on
    the page, C(not_looked_at) (number of hosts by function, with C(--limit)), C(zookeeper) (mode by host), C(kafka)
    (C(controller), C(partitions), C(offline), C(under_replicated), by host C(leaders) and C(registered),
    C(undeclared), by id the replicas of brokers that are not in the inventory, C(racks), by rack C(brokers),
    C(leaders), C(replicas) and C(bytes), C(log_dirs) and C(strays), each entry as that of
    M(millrace.kafka.kafka_cluster) and its C(host)), C(disks) (C(host), C(path), C(size), C(free) in bytes, C(error)),
    C(units) (C(host), C(unit), C(state)) and C(certificates) (C(host), C(name), C(subject), C(until)). What is not
    known is null."
options:
  registers:
    description: Names of the variables in which the answers are.
    type: dict
    required: true
    suboptions:
      probe: {type: str, required: true, description: Of host_probe on each host.}
      ensemble: {type: str, description: "Of zookeeper_ensemble with I(fail=false), on one of the hosts."}
      cluster: {type: str, required: true, description: "Of kafka_cluster, on one of the hosts."}
      certificates: {type: str, description: "Of certificates with I(hosts) and I(fail=false)."}
      served: {type: str, description: Of tls_served.}
      timer: {type: str, description: "Of host_probe on the admin host, of its timer and the service of that."}
  certificate_days:
    description: A certificate with fewer days left is a problem.
    type: int
    default: 14
attributes:
  check_mode: {description: The same as without., support: full}
  diff_mode: {description: There is none., support: none}
author: [Millrace developers]
"""

EXAMPLES = """
- name: The page
  millrace.kafka.health_page:
    registers:
      probe: check_probe
      ensemble: check_ensemble
      cluster: check_cluster
      certificates: check_certificates
      served: check_served
      timer: check_timer
    certificate_days: 30
  run_once: true
"""

RETURN = """
msg: {description: "C(healthy), or what is not.", type: str, returned: always}
"""
