#!/usr/bin/python
"""Lowers min.insync.replicas of a whole cluster, and restores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import ALL
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import broker_config, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.min_isr import (
    KEY,
    Values,
    fewest_replicas,
    lowered,
    of_dict,
    restoring,
    saving,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

DOCUMENTATION = """
module: kafka_min_isr
short_description: Lower min.insync.replicas of all brokers and topics after the loss of a datacenter, and restore it
version_added: "1.0.0"
description:
  - Lowers C(min.insync.replicas) of the brokers' default and of every topic with a higher value of its own, so that
    partitions accept writes with the replicas of one datacenter.
  - Returns the values that it replaced in RV(saved). Call it with O(restore=RV(saved)) to restore them.
  - While the value is lowered, the loss of more replicas can lose acknowledged records. For playbooks/failover.yml and
    playbooks/failback.yml.
options:
  to: {type: int, default: 1, description: The highest value that remains while it is lowered.}
  survivors:
    description: >-
      Ids of the brokers that remain. A topic with fewer than O(to) replicas on them gets their number, also if it has
      no value of its own. Empty for O(to) without this exception.
    type: list
    elements: int
    default: []
  restore:
    description: >-
      RV(saved) of an earlier call, to restore the values. Topics that have a higher value now keep it.
    type: dict
  saved:
    description: >-
      RV(saved) of an interrupted call. It is returned with what this call replaces in addition. Of two values of a
      topic, the higher one is returned.
    type: dict
  only_saved:
    description: Lowers only topics in O(saved). Topics that appeared later keep their values until the next call.
    type: bool
    default: false
extends_documentation_fragment: [millrace.kafka.kafka_cluster]
attributes:
  check_mode: {description: "Reports what a run would change, and writes nothing.", support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_broker_config}
  - {module: millrace.kafka.kafka_topics}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Lower min.insync.replicas to 2
  millrace.kafka.kafka_min_isr:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    to: 2
  delegate_to: localhost
  run_once: true
  register: lowered

- name: Restore min.insync.replicas
  millrace.kafka.kafka_min_isr:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    restore: "{{ lowered.saved }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = """
saved:
  description: >-
    The replaced values. C(default) is the dynamic setting of all brokers, empty if there was none. C(topics) are values
    by name of the topic, empty for a topic that had no value of its own.
  type: dict
  returned: success
  sample: {default: "", topics: {__transaction_state: "3"}}
changes:
  description: One line for each change.
  type: list
  elements: str
  returned: success
  sample: ["all brokers: min.insync.replicas: 2"]
cluster_id: {description: Id of the cluster., type: str, returned: success, sample: 7wHBT0XWQfCNPKHxMJFAsA}
"""


def read(admin: Admin, metadata: Metadata) -> Values:
    """Return the present values: the dynamic default, and the own values of topics. Raises AdminError."""
    default = broker_config.found(admin, metadata.brokers).settings[ALL].get(KEY) or ""
    settings = topics.describe(admin, "TOPIC", metadata.topics)
    own = {name: found[KEY] for name, found in settings.items() if KEY in found and found[KEY].dynamic}
    return Values(default, {name: setting.value for name, setting in own.items() if setting.value})


def write(admin: Admin, metadata: Metadata, default: str | None, values: Mapping[str, str | None]) -> None:
    """Write the values of topics, then the default (None: remove it).

    The default is last, because restoring a topic's value compares it with the default. Raises Refused if the cluster
    rejects a value, AdminError if it does not answer.
    """
    broker = metadata.controller if metadata.controller in metadata.brokers else min(metadata.brokers)
    failed = topics.configure(
        admin,
        [
            topics.Settings(name, {} if value is None else {KEY: value}, [KEY] if value is None else [])
            for name, value in values.items()
        ],
    )
    refused = [f"{KEY} of topic {name}: {why}" for name, why in failed.items()]
    if rejected := broker_config.write(admin, ALL, {KEY: default}, broker):
        refused.append(f"{KEY} of all brokers: {rejected}")
    if refused:
        raise Refused("; ".join(refused))


def lines_of(default: str | None, values: Mapping[str, str | None]) -> list[str]:
    """Return one line for the default and one for each topic; None removes a value."""
    return [f"all brokers: {KEY}: {default or 'as in their files'}"] + [
        f"topic {name}: {KEY}: {value or 'as all brokers'}" for name, value in values.items()
    ]


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **OPTIONS,
            "to": {"type": "int", "default": 1},
            "survivors": {"type": "list", "elements": "int", "default": []},
            "restore": {"type": "dict"},
            "saved": {"type": "dict"},
            "only_saved": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options: dict[str, Any] = module.params
    try:
        restored = of_dict(options["restore"]) if options["restore"] else None
        earlier = of_dict(options["saved"]) if options["saved"] else None
    except ValueError as error:
        module.fail_json(msg=f"restore, saved: {error}")

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        there = read(admin, metadata)
        values: dict[str, str | None]
        if restored is not None:
            default, values = restoring(restored, there)
            needed = (there.default or None) != default
            saved = restored
        else:
            placed = [(one.topic, one.replicas) for one in metadata.partitions]
            replicas = fewest_replicas(placed, options["survivors"])
            target = lowered(there, options["to"], replicas)
            default, values, needed = target.default, {**target.topics}, there.default != target.default
            if options["only_saved"] and earlier:
                values = {name: value for name, value in values.items() if name in earlier.topics}
            saved = saving(there, earlier, values, replicas)
        if not needed and not values:
            return {"changes": [], "saved": saved.as_dict()}
        lines = lines_of(default, values)[not needed :]
        if not module.check_mode:
            write(admin, metadata, default, values)
        return {"changed": True, "changes": lines, "saved": saved.as_dict()}

    ask(module, KEY, answered)


if __name__ == "__main__":
    main()
