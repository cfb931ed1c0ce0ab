#!/usr/bin/python
"""Tell running brokers what their files say."""

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
short_description: Tell running brokers what their server.properties say, in place of a restart
description:
  - A broker that was started with another value than its file has now gets the new one as its own dynamic setting. One
    that was started with the same is rid of what it was told before, for that would go before its file for ever.
  - Numbers of threads are brought to theirs in steps, for Kafka at most doubles or halves them at once.
  - What somebody else has set for a broker, or for all of them, stays as it is, goes before the file, and is warned of.
    Known as our own is a value of I(told), and one that is the same as the file's.
  - One broker is told after the other. Each has to have taken it, and to go on, before the next is told.
  - A broker that is not registered, or does not answer, is warned of. It reads its file when it starts.
options:
  brokers:
    description: Brokers whose process is not as its file, as M(millrace.kafka.host_state#module) answers in C(live).
    type: list
    elements: dict
    required: true
    suboptions:
      id: {type: int, required: true, description: C(broker.id).}
      settings:
        description: By name, what its file says as a text, a time in milliseconds; null is what Kafka itself says.
        type: dict
        required: true
      told: {type: dict, default: {}, description: "By name, a list of the values that we may have set earlier."}
      anew: {type: bool, default: false, description: "It was started with this file, or is owed that restart."}
extends_documentation_fragment: [millrace.kafka.kafka_resources, millrace.kafka.kafka_writes]
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Tell the first broker what its file says
  millrace.kafka.kafka_live_config:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    brokers:
      - {id: 1, settings: {num.io.threads: "16", log.retention.ms: null}}
  delegate_to: localhost
"""

RETURN = """
changes: {description: One line per broker., type: list, elements: str, returned: always}
cluster_id: {description: Id of the cluster that answered., type: str, returned: when it answered}
told:
  description: >-
    By id of each broker that runs with its file when this is done, the values by name that are our own then, as lists.
    One that gave no answer, or has a setting of somebody else in place of its file's, is not among them.
  type: dict
  returned: when it answered
plan:
  description: Brokers by what happens to them.
  type: dict
  returned: when it answered
  contains:
    create: {description: Always empty., type: list, elements: str}
    update: {description: Who is to be told something., type: list, elements: str}
    delete: {description: Always empty., type: list, elements: str}
    unchanged: {description: Who runs with what its file says., type: list, elements: str}
    unmanaged: {description: Always empty., type: list, elements: str}
outcome:
  description: What became of the changes, each as C(settings of broker 1).
  type: dict
  returned: where writing failed
  contains:
    done: {description: What was written., type: list, elements: str}
    failed: {description: "What was not, or ended a broker, and why.", type: dict}
    not_tried: {description: What was not begun., type: list, elements: str}
    unknown:
      description: What of C(failed) may have been done all the same, and could not be read back.
      type: list
      elements: str
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
