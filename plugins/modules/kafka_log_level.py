#!/usr/bin/python
"""Sets the level of a logger of running brokers."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import OPTIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import log_levels
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.question import ask
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished

DOCUMENTATION = """
module: kafka_log_level
short_description: Set the level of a logger of running brokers, without a restart
version_added: "1.0.0"
description:
  - Sets the level of a logger of brokers that run. A restarted broker has the levels of its file again.
  - Rejects a logger that one of the brokers does not have, before any level is set. A broker has a logger once it has
    used it.
options:
  logger: {type: str, required: true, description: "Name of the logger, as C(kafka.request.logger), or C(root)."}
  levels:
    description: >-
      Level by broker id: C(FATAL), C(ERROR), C(WARN), C(INFO), C(DEBUG) or C(TRACE). Null removes the level of the
      logger, which then has that of the logger above it.
    type: dict
    required: true
extends_documentation_fragment: [millrace.kafka.kafka_cluster]
attributes:
  check_mode: {description: "Reports which levels would change, and sets none.", support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka, kafka-python]
seealso:
  - {module: millrace.kafka.kafka_broker_config}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Log each request of broker 1
  millrace.kafka.kafka_log_level:
    admin: "{{ kafka_admin_listeners.REPLICATION }}"
    logger: kafka.request.logger
    levels: {1: DEBUG}
  delegate_to: localhost
"""

RETURN = """
changes:
  description: One line for each broker whose level changed.
  type: list
  elements: str
  returned: success
  sample: ["broker 1: kafka.request.logger: WARN -> DEBUG"]
cluster_id: {description: Id of the cluster., type: str, returned: success, sample: 7wHBT0XWQfCNPKHxMJFAsA}
"""


def present(admin: Admin, logger: str, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
    """Return {broker: {logger: level}} of all loggers of brokers.

    Raises Refused if a broker does not have `logger`, AdminError if a broker does not answer.
    """
    found = {broker: log_levels.read(admin, broker) for broker in brokers}
    missing = {broker: loggers for broker, loggers in found.items() if logger not in loggers}
    if missing:
        names = sorted({name for loggers in missing.values() for name in loggers})
        near = get_close_matches(logger, names, n=3, cutoff=0.5)
        advice = f"did you mean {', '.join(near)}?" if near else "a broker has a logger once it has used it."
        raise Refused(f"broker {', '.join(map(str, sorted(missing)))} has no logger {logger}; {advice} Nothing changed")
    return found


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            **OPTIONS,
            "logger": {"type": "str", "required": True},
            "levels": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    logger = module.params["logger"]
    levels = {str(broker): level for broker, level in module.params["levels"].items()}
    wrong = [f"{broker}: {level}" for broker, level in levels.items() if level not in (None, *log_levels.LEVELS)]
    wrong += ["root: it has no logger above it, so set a level"] if logger == "root" and None in levels.values() else []
    wrong += [f"{broker}: no broker id" for broker in levels if not broker.isdecimal()]
    if wrong:
        module.fail_json(msg=f"levels: {', '.join(wrong)}; use one of {', '.join(log_levels.LEVELS)} by broker id")

    def answered(admin: Admin, metadata: Metadata) -> dict[str, Any]:
        wanted = {int(broker): level for broker, level in levels.items()}
        if unknown := sorted(wanted.keys() - metadata.brokers.keys()):
            raise Refused(f"broker {', '.join(map(str, unknown))} is not registered; leave it out, or start it first")
        found = present(admin, logger, wanted)
        lines = list[str]()
        for broker, level in sorted(wanted.items()):
            before = found[broker][logger]
            after = log_levels.without_own(found[broker], logger) if level is None else level
            same = level is not None and before == level
            if not same and not module.check_mode and (rejected := log_levels.write(admin, broker, logger, level)):
                raise Unfinished(f"broker {broker}: {rejected}", {"changes": lines})
            lines += [f"broker {broker}: {logger}: {before} -> {after}"] if before != after else []
        return {"changed": bool(lines), "changes": lines}

    ask(module, "log levels", answered)


if __name__ == "__main__":
    main()
