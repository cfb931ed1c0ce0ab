"""Documents the action support_bundle, which does the work on the control node; no module is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: support_bundle
short_description: Write one archive with what helps to find the cause of a failure, without secrets
version_added: "1.0.0"
description:
  - Writes the results of other modules of this run into one file, C(.tar.gz), on the control node, with mode 0600. An
    earlier file is replaced.
  - First searches all texts for the secrets that the inventory contains, and for the private keys of C(pki_directory).
    Plain text, Base64 and URL encoding are searched. A secret that is found is replaced by "(removed)", and the file
    C(MANIFEST) of the archive names its variable.
  - C(MANIFEST) also lists each file with its source, and what was left out with the reason. A host that did not answer
    is a line there, not an error.
  - Runs on the control node; use C(run_once). No connection is needed.
options:
  registers:
    description: Names of the variables that hold the results of other modules.
    type: dict
    required: true
    suboptions:
      host: {type: str, required: true, description: Of M(millrace.kafka.host_support) on each host.}
      page: {type: str, description: "Of M(millrace.kafka.health_page) with C(display=false)."}
      cluster: {type: str, description: "Of M(millrace.kafka.kafka_info), on one of the hosts."}
      groups: {type: str, description: "Of M(millrace.kafka.kafka_groups), on one of the hosts."}
  file: {type: path, required: true, description: File of the control node to write.}
attributes:
  check_mode: {description: "The same as without check mode: the file is written.", support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.host_support}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Write the archive
  millrace.kafka.support_bundle:
    registers: {host: support_host, page: support_page, cluster: support_cluster}
    file: /tmp/support.tar.gz
  run_once: true
"""

RETURN = """
file: {description: The file that was written., type: str, returned: success, sample: /tmp/support.tar.gz}
lines:
  description: What to print about the bundle.
  type: list
  elements: str
  returned: success
  sample: ["written: /tmp/support.tar.gz (48 files, 210 KiB)", "dc1-kafka2: does not answer"]
"""
