#!/usr/bin/python
"""Applies the dynamic settings in the files of brokers to their running processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import live_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import WRITES, Work, converge
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import Owed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule

DOCUMENTATION = """
module: kafka_live_config
short_description: Apply changed settings of server.properties to running brokers, without a restart
version_added: "1.0.0"
description:
  - Applies settings that changed in C(server.properties) to the running broker, as dynamic settings of that broker. If
    the broker was started with the current value, dynamic settings that this module set before are removed, because
    they would override the file for ever.
  - Changes numbers of threads in steps, since Kafka at most doubles or halves them at once.
  - A setting that another program has set for a broker, or for all brokers, stays. It overrides the file, and the
    module warns. A setting counts as set by this module if its value is in O(brokers[].told) or equals that in the
    file.
  - Brokers are changed one after the other. Each has to apply its settings and still run before the next is changed.
  - Warns about a broker that is not registered or does not answer. That broker reads its file when it starts.
options:
  brokers:
    description: >-
      Brokers whose process differs from their file, as M(millrace.kafka.host_state) returns them in C(live).
    type: list
    elements: dict
    required: true
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      settings:
        description: By name, the value in the file as text, times in milliseconds; null for Kafka's default.
        type: dict
        required: true
      told:
        description: By name, the list of values that this module may have set earlier.
        type: dict
        default: {}
      anew:
        description: Whether the process was started with this file, or has a pending restart.
        type: bool
        default: false
extends_documentation_fragment:
  - millrace.kafka.kafka_cluster
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_broker_config}
  - {module: millrace.kafka.host_state}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Apply two settings of the file of the first broker
  millrace.kafka.kafka_live_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    brokers:
      - {id: 1, settings: {num.io.threads: "16", log.retention.ms: null}}
  delegate_to: localhost

- name: Apply the changed files of all brokers of the play
  millrace.kafka.kafka_live_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    brokers: "{{ ansible_play_hosts | millrace.kafka.settings_owed(hostvars, 'kafka_state', 'kafka.service') }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
changes:
  description: One line for each broker.
  type: list
  elements: str
  returned: always
  sample: ["update settings of broker 1: + num.io.threads: 16"]
cluster_id:
  description: Id of the cluster.
  type: str
  returned: when the cluster answered
  sample: 7wHBT0XWQfCNPKHxMJFAsA
told:
  description: >-
    By id of each broker whose process matches its file after this run, the values by name that this module has set, as
    lists. A broker that did not answer, or where another program's setting overrides the file, is not listed.
  type: dict
  returned: when the cluster answered
  sample: {"1": {num.io.threads: ["16"]}}
plan:
  description: Brokers by what happens to them.
  type: dict
  returned: when the cluster answered
  contains:
    create: {description: Always empty., type: list, elements: str, sample: []}
    update: {description: Brokers whose settings are changed., type: list, elements: str, sample: [broker 1]}
    delete: {description: Always empty., type: list, elements: str, sample: []}
    unchanged: {description: Brokers whose process matches their file., type: list, elements: str, sample: [broker 2]}
    unmanaged: {description: Always empty., type: list, elements: str, sample: []}
outcome:
  description: What was written before a write failed.
  type: dict
  returned: if a write failed
  contains:
    done: {description: Written., type: list, elements: str, sample: [settings of broker 1]}
    failed:
      description: "Not written, or written and the broker stopped, and why."
      type: dict
      sample: {settings of broker 2: no answer in time}
    not_tried: {description: Not started., type: list, elements: str, sample: [settings of broker 3]}
    unknown:
      description: Those of C(failed) that may have been written and could not be read back.
      type: list
      elements: str
      sample: [settings of broker 2]
"""

BROKER: dict[str, Any] = {
    "id": {"type": "int", "required": True},
    "settings": {"type": "dict", "required": True},
    "told": {"type": "dict", "default": {}},
    "anew": {"type": "bool", "default": False},
}


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={**WRITES, "brokers": {"type": "list", "elements": "dict", "required": True, "options": BROKER}},
        supports_check_mode=True,
    )
    owed = [Owed(one["id"], one["settings"], one["told"] or {}, one["anew"]) for one in module.params["brokers"]]
    told: dict[str, Mapping[str, Sequence[str]]] = {}

    def planned(admin: Admin, metadata: Metadata) -> Sequence[Work]:
        plan, ours = live_control.plan(admin, metadata, owed, module.warn)
        told.update(ours)
        return [(plan, lambda changes, look: live_control.apply(admin, changes, look))]

    converge(module, "settings of brokers' files", planned, lambda: {"told": told})


if __name__ == "__main__":
    main()
