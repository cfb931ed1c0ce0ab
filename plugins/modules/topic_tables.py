"""Documents the action topic_tables, which does the work on the control node; no module is sent to a host."""

from __future__ import annotations

DOCUMENTATION = """
module: topic_tables
short_description: Print the result of kafka_topic as tables or as JSON
version_added: "1.0.0"
description:
  - Prints the result of M(millrace.kafka.kafka_topic) as tables, or as one line of JSON. The playbook C(topic.yml) uses
    it.
  - Characters of records that would control a terminal are printed as escapes such as C(\\\\n).
  - Runs on the control node and changes nothing; use C(run_once). No connection is needed.
options:
  topic: {type: str, required: true, description: Name of the topic.}
  answer: {type: dict, description: "Result of M(millrace.kafka.kafka_topic). Without it, only O(form) is checked."}
  do: {type: str, default: describe, description: "What M(millrace.kafka.kafka_topic) did, for the JSON."}
  form:
    description:
      - V(text) prints tables.
      - V(json) prints one line with the keys C(topic), C(do), C(changed), and the keys of the result.
    type: str
    default: text
    choices: [text, json]
attributes:
  check_mode: {description: "The same as without check mode; the text tells what would be done.", support: full}
  diff_mode: {description: Returns no diff., support: none}
seealso:
  - {module: millrace.kafka.kafka_topic}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Describe a topic
  millrace.kafka.kafka_topic:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    topic: orders
    do: describe
  delegate_to: localhost
  register: described

- name: Print the description
  millrace.kafka.topic_tables:
    topic: orders
    answer: "{{ described }}"
"""

RETURN = """
msg: {description: Whether something was printed., type: str, returned: always, sample: printed as text}
"""
