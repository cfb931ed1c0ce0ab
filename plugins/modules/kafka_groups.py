#!/usr/bin/python
"""Describes consumer groups of a Kafka cluster, and resets their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Done, Look, carry_out
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import WRITES, Work, converge
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups as asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import (
    Ends,
    Group,
    described,
    diff,
    milliseconds,
    places,
    targets,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask

DOCUMENTATION = """
module: kafka_groups
short_description: Describe consumer groups, or reset their offsets
version_added: "1.0.0"
description:
  - Resets the offsets of consumer groups, or describes the groups with their members, offsets and lag, if no group has
    an option that names new offsets.
  - The offsets of a group are reset only while the group has no members. C(--check --diff) shows the offsets before and
    after, and how many records are skipped or read again.
  - An offset that a partition no longer has becomes its first one; an offset after the last record becomes the next
    one to be written.
options:
  groups:
    description: Consumer groups. Without any, all groups of the cluster are described.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: The C(group.id).}
      topics:
        description: Topics whose offsets are reset. Without any, all topics that the group has read.
        type: list
        elements: str
        default: []
      to: {type: str, choices: [earliest, latest], description: Reset to the first record or after the last one.}
      timestamp:
        description: Reset to the first record at or after a time, as C(2026-01-31T08:00:00Z) or in milliseconds.
        type: str
      shift:
        description: Move by a number of records, back if it is negative. Each run moves again.
        type: int
      offsets:
        description: "Offsets by topic and partition, as C({orders: {0: 1200}})."
        type: dict
extends_documentation_fragment:
  - millrace.kafka.kafka_cluster
  - millrace.kafka.kafka_resources
  - millrace.kafka.kafka_writes
requirements: [confluent-kafka, kafka-python]
author: [Millrace developers]
"""

EXAMPLES = """
- name: Describe all consumer groups with their lag
  millrace.kafka.kafka_groups:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
  delegate_to: localhost
  register: found

- name: Read a topic again from a point in time
  millrace.kafka.kafka_groups:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    groups: [{name: billing, topics: [orders], timestamp: "2026-01-31T08:00:00+01:00"}]
  delegate_to: localhost

- name: Skip everything that was not read yet
  millrace.kafka.kafka_groups:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    groups: [{name: billing, to: latest}]
  delegate_to: localhost

- name: Set single offsets
  millrace.kafka.kafka_groups:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    groups: [{name: billing, offsets: {orders: {0: 1200, 1: 1180}}}]
  delegate_to: localhost
"""

RETURN = """
changes:
  description: One line for each group whose offsets are reset.
  type: list
  elements: str
  returned: if offsets are reset
  sample: [update group billing]
groups:
  description: The groups.
  type: list
  elements: dict
  returned: if no offsets are reset
  contains:
    name: {description: The C(group.id)., type: str, sample: billing}
    state: {description: "State, as V(STABLE) or V(EMPTY); V(DEAD) if it does not exist.", type: str, sample: STABLE}
    members:
      description: "Consumers, with C(client_id) and C(host)."
      type: list
      elements: dict
      sample: [{client_id: billing-1, host: 198.18.1.41}]
    partitions:
      description: "Committed offsets: C(topic), C(partition), C(offset), C(end), C(lag)."
      type: list
      elements: dict
      sample: [{topic: orders, partition: 0, offset: 1190, end: 1200, lag: 10}]
    lag: {description: Number of records that the group has not read yet., type: int, sample: 10}
"""

GROUP: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "topics": {"type": "list", "elements": "str", "default": []},
    "to": {"type": "str", "choices": ["earliest", "latest"]},
    "timestamp": {"type": "str"},
    "shift": {"type": "int"},
    "offsets": {"type": "dict"},
}


def ends_of(admin: Admin, group: dict[str, Any], found: Group, partitions: dict[str, int]) -> Ends:
    """Return the ends of the partitions that an entry of the option `groups` resets.

    Partitions that do not exist are left out here; the plan rejects them. `partitions` is {topic: number of
    partitions}.
    """
    existing = [place for place in places(group, found, partitions) if place[1] < partitions.get(place[0], 0)]
    at = group["timestamp"]
    return asked.ends(admin, existing, milliseconds(at) if at is not None else None)


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={**WRITES, "groups": {"type": "list", "elements": "dict", "default": [], "options": GROUP}},
        supports_check_mode=True,
    )
    wanted: list[dict[str, Any]] = module.params["groups"]
    names = [group["name"] for group in wanted]
    for name in sorted({name for name in names if not name or names.count(name) > 1}):
        wrong = f"{name} is declared twice; keep one entry" if name else "an entry has no name; set its name"
        module.fail_json(msg=f"groups: {wrong}")
    moving = [group for group in wanted if targets(group)]
    for group in moving:
        try:
            milliseconds(group["timestamp"] or 0)
        except ValueError as error:
            module.fail_json(msg=f"group {group['name']}: timestamp {group['timestamp']}: {error}")

    def listed(admin: Admin, _: Metadata) -> dict[str, Any]:
        found = asked.groups(admin, [group["name"] for group in wanted] or asked.names(admin))
        known = asked.ends(admin, sorted({place for group in found.values() for place in group.offsets}))
        return {"groups": [described(group, known) for group in found.values()]}

    def planned(admin: Admin, metadata: Metadata) -> Sequence[Work]:
        partitions = {name: len(replicas) for name, replicas in metadata.topics.items()}
        found = asked.groups(admin, [group["name"] for group in moving])
        ends = {group["name"]: ends_of(admin, group, found[group["name"]], partitions) for group in moving}
        plan = diff(moving, found, partitions, ends)

        def write(changes: Sequence[Change], _: Look) -> Done:
            # Not read again: a plan with `shift` would move the offsets once more.
            step = (changes, lambda batch: asked.commit(admin, {one.name: one.work for one in batch}))
            return carry_out([step], lambda _, why: why)

        return [(plan, write)]

    if moving:
        converge(module, "groups", planned)
    ask(module, "groups", listed)


if __name__ == "__main__":
    main()
