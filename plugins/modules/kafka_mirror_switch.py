#!/usr/bin/python
"""Moves consumer groups to the cluster to which MirrorMaker copies their topics."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirror_switch, mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import milliseconds
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

DOCUMENTATION = """
module: kafka_mirror_switch
short_description: Move consumer groups to the cluster to which MirrorMaker copies their topics
version_added: "1.0.0"
description:
  - Sets the offsets of the consumer groups of a flow at its target, so that their consumers continue there. Loses no
    record, and returns how many records are read again at most.
  - While the source answers, finds the first record that a group has not read at the source, and the same record at the
    target by its timestamp. Refuses while producers write to the source, records are not copied yet, or a group has
    members.
  - With O(lost), uses the offsets that MirrorMaker has translated. They are some seconds early, and earlier for a group
    that lags.
options:
  admin:
    description: "Client properties of a super user of the target, with librdkafka's names."
    type: dict
    required: true
  cluster_id:
    description: Id of the target. A cluster with another id is rejected. Empty accepts any.
    type: str
    default: ""
  flow:
    description: The flow.
    type: dict
    required: true
    suboptions:
      source: {type: str, required: true, description: Alias of the source.}
      target: {type: str, required: true, description: Alias of the target.}
      client: {type: dict, required: true, description: "Client properties of the source, with librdkafka's names."}
      topics: {type: list, elements: str, required: true, description: Regular expressions of topics that are copied.}
      topics_exclude: {type: list, elements: str, default: [], description: Regular expressions of other topics.}
      groups: {type: list, elements: str, default: [".*"], description: Regular expressions of groups that move.}
      groups_exclude: {type: list, elements: str, default: [], description: Regular expressions of other groups.}
      policy:
        description: Whether names of copied topics begin with the alias of the source.
        type: str
        choices: [default, identity]
        default: default
      interval: {description: Seconds between two heartbeats of the workers., type: int, default: 5}
  lost: {type: bool, default: false, description: Whether the source is lost; it is then not asked.}
  since:
    description: >-
      With O(lost), a time before which all groups had read everything, as C(2026-01-31T08:00:00Z). Groups whose
      translated offsets are earlier continue there.
    type: str
  settle:
    description: Seconds during which no record may arrive at the source.
    type: int
    default: 5
  returned:
    description:
      - Groups that have read copies of the target's own topics at the source, and return. Their offsets in these topics
        are set forward to what they have read there. Without this option, they read these records again.
      - Name only groups that have consumed at the source. MirrorMaker also translates offsets of groups that have not.
    type: list
    elements: str
    default: []
attributes:
  check_mode: {description: Returns the positions and sets no offset., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_mirrors}
  - {module: millrace.kafka.kafka_groups}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Show where the groups of west would continue
  millrace.kafka.kafka_mirror_switch:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    flow: {source: west, target: east, client: {bootstrap.servers: "198.18.57.21:9092"}, topics: [orders]}
  check_mode: true
  delegate_to: localhost

- name: Move the groups of a lost cluster
  millrace.kafka.kafka_mirror_switch:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    flow: {source: west, target: east, client: {}, topics: [orders]}
    lost: true
  delegate_to: localhost
"""

RETURN = """
positions:
  description: >-
    Where each C(group) continues in each C(partition) of a C(topic) of the target. C(offset) is the new and C(now) the
    present offset. C(how) is V(end) if the group had read everything, V(start) if it had read nothing of the partition,
    V(time) if the offset was found by a timestamp, V(translated) if MirrorMaker translated it. C(again) is how many
    records are read again at most, null if unknown, and C(skipped) how many are skipped because of O(since) or
    O(returned).
  type: list
  elements: dict
  returned: success
  sample:
    - {group: billing, topic: west.orders, partition: 0, offset: 120, how: end, again: 0, now: 118}
cluster_id: {description: Id of the target., type: str, returned: success, sample: "abc"}
"""

FLOW: dict[str, Any] = {
    **mirrors.FLOW,
    "groups": {"type": "list", "elements": "str", "default": [".*"]},
    "groups_exclude": {"type": "list", "elements": "str", "default": []},
}


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **OPTIONS,
            "flow": {"type": "dict", "required": True, "options": FLOW},
            "lost": {"type": "bool", "default": False},
            "since": {"type": "str"},
            "settle": {"type": "int", "default": 5},
            "returned": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    options, flow = module.params, module.params["flow"]

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        if options["lost"] and options["returned"]:
            raise Refused("returned: a lost source cannot be asked what groups have read there; leave one of them out")
        if options["since"] is not None and not options["lost"]:
            raise Refused("since: only for a lost source, because one that answers shows each position; leave it out")
        if options["lost"]:
            try:
                since = None if options["since"] is None else milliseconds(options["since"])
            except ValueError as error:
                raise Refused(f"since {options['since']}: {error}") from error
            positions = mirror_switch.lost(admin, metadata, flow, since)
        else:
            positions = mirror_switch.planned(admin, metadata, flow, Admin, options["settle"], options["returned"])
        result = {"changed": bool(mirror_switch.changes(positions)), "positions": mirror_switch.as_dicts(positions)}
        failed = {} if module.check_mode else mirror_switch.apply(admin, positions)
        if failed:
            reasons = "; ".join(f"group {name}: {why}" for name, why in failed.items())
            raise Unfinished(f"offsets of these groups were not set, run this again: {reasons}", result)
        return result

    ask(module, f"switch from {flow['source']} to {flow['target']}", answered)


if __name__ == "__main__":
    main()
