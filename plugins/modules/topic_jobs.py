"""Documents the action topic_jobs, which does the work on the control node; no module is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: topic_jobs
short_description: Print the declared Spark jobs that read a topic
version_added: "1.0.0"
description:
  - Prints and returns the jobs in C(spark_job_jobs) that read a topic, also by default or as a second input. Use it
    before the records of the topic are deleted.
  - The wheel of the jobs answers which topics a job reads. A job whose wheel does not exist on the control node, or has
    no such job, is listed as unknown.
  - Runs on the control node and changes nothing; use C(run_once). No connection is needed.
options:
  topic: {type: str, required: true, description: Name of the topic.}
  form:
    description:
      - V(text) prints lines for people.
      - V(json) prints one line with the keys C(topic), C(do) (V(readers)), C(jobs) and C(unknown).
    type: str
    default: text
    choices: [text, json]
attributes:
  check_mode: {description: The same as without check mode., support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.kafka_topic}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Print the jobs that read a topic
  millrace.kafka.topic_jobs:
    topic: orders
  run_once: true
"""

RETURN = """
jobs:
  description: "The jobs that read the topic, each with C(host) and systemd C(unit)."
  type: list
  elements: dict
  returned: always
  sample: [{host: dc1-spark2, unit: spark-job@project_orders.service}]
unknown:
  description: Jobs of which it is not known whether they read the topic, each with the reason.
  type: list
  elements: str
  returned: always
  sample: []
"""
