"""Documents the action health_page, which does the work on the control node; no module is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: health_page
short_description: Print one page on the health of a site, and fail if something is wrong
version_added: "1.0.0"
description:
  - "Compares the results of other modules of this run with the inventory, and prints one page: modes of the ZooKeeper
    servers, registered brokers with racks and endpoints, partitions, disks, units, Spark jobs, certificates."
  - A host that did not answer, or a missing result, is a problem or an empty part of the page, not an error.
  - A disk that is more than 85 % full, and a broker that leads more than 1.5 times its share, are problems.
  - A Spark job that waits for brokers, topics, its database or cores for more than 30 s, or that makes no progress for
    two minutes longer than its trigger interval, is a problem.
  - Replicas in a log dir that do not belong to the broker, and throttles that remain although nothing is moved or
    copied, are problems.
  - Shows what each log dir and each rack holds. An imbalance is not a problem; the page prints it with the run of
    reassign.yml that corrects it. Bytes of a broker, or of a log dir among the log dirs of its broker on separate file
    systems of the same size, are unbalanced from 1.5 times the share and 1 GiB above it; leaders of a rack, from 1.25
    times the share.
  - Fails, like M(millrace.kafka.preflight), if several inventories are given, or if the inventory does not use the
    plugin P(millrace.kafka.site#inventory).
  - Runs on the control node and changes nothing; use C(run_once). No connection is needed. Hosts of the play that have
    no function (C(functions/*.yml)) are ignored.
  - "If the variable C(check_output) is V(json), prints one line of JSON in place of the page. Unknown values are null.
    The keys are:"
  - C(healthy); C(problems), as on the page; C(not_checked), the number of hosts by function that C(--limit) excluded.
  - C(zookeeper), the mode by host.
  - C(kafka), with C(controller), C(partitions), C(offline) and C(under_replicated); by host C(leaders) and
    C(registered); C(undeclared), the number of replicas by id of a broker that is not in the inventory; C(racks), by
    rack C(brokers), C(leaders), C(replicas) and C(bytes); C(log_dirs) and C(strays), with the keys that
    M(millrace.kafka.kafka_cluster) returns, and C(host).
  - C(disks), each with C(host), C(path), C(size) and C(free) in bytes, and C(error).
  - C(units), each with C(host), C(unit), C(state), and C(starts), how often systemd started a unit that ends again and
    again; 0 for other units.
  - C(jobs), the Spark jobs as RV(millrace.kafka.host_probe#module:probe.jobs), each with C(host).
  - C(certificates), each with C(host), C(name), C(subject) and C(until).
options:
  registers:
    description: Names of the variables that hold the results of other modules.
    type: dict
    required: true
    suboptions:
      probe: {type: str, required: true, description: Of M(millrace.kafka.host_probe) on each host.}
      ensemble:
        description: Of M(millrace.kafka.zookeeper_ensemble) with C(fail=false), on one of the hosts.
        type: str
      cluster: {type: str, required: true, description: "Of M(millrace.kafka.kafka_cluster), on one of the hosts."}
      certificates: {type: str, description: Of M(millrace.kafka.certificates) with C(hosts) and C(fail=false).}
      served: {type: str, description: Of M(millrace.kafka.tls_served).}
      mirrors: {type: str, description: "Of M(millrace.kafka.kafka_mirrors), on one of the hosts."}
      timer:
        description: >-
          Of M(millrace.kafka.host_probe) on the first host of the group admin, for its timer and the timer's service.
        type: str
  certificate_days:
    description: A certificate that expires in fewer days is a problem.
    type: int
    default: 14
  file:
    description: >-
      File of the control node to which the page is written as HTML, with a drawing of the site and with what the site
      survives in its present state. An earlier page is replaced, and the problems that are new or gone since are
      listed. No other file is replaced. With an empty O(registers), only the file is checked.
    type: str
  display:
    description: Print the page, and fail if it lists a problem. V(false) only returns the page, as text and as JSON.
    type: bool
    default: true
  admin_host:
    description: Host that ran the other modules. The default is the first of the group admin, or else the control node.
    type: str
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.host_probe}
  - {module: millrace.kafka.kafka_cluster}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Print the page
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

- name: Print one line of JSON, with brokers and hosts only
  millrace.kafka.health_page:
    registers: {probe: check_probe, cluster: check_cluster}
  run_once: true
  vars:
    check_output: json
"""

RETURN = """
msg:
  description: "V(no problem found), or the problems."
  type: str
  returned: with O(display)
  sample: "the site is not healthy: dc1-kafka2: kafka.service is failed"
page: {description: The page as text., type: str, returned: without O(display), sample: "problems: none"}
json: {description: The page as one line of JSON., type: str, returned: without O(display), sample: '{"healthy": true}'}
"""
