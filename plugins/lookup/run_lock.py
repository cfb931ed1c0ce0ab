"""Opens the sockets that keep the locks of a run, in the main process of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ansible_collections.millrace.kafka.plugins.plugin_utils import run_lock

DOCUMENTATION = """
name: run_lock
author: Millrace developers
version_added: "1.0.0"
short_description: Prepare a run for locks of hosts, and return its host pattern
description:
  - Opens the sockets that keep the locks of a run until the run ends, and returns its terms. It locks no host; the
    module M(millrace.kafka.preflight) does that.
  - Use it in C(hosts) of a play, because Ansible evaluates this keyword in the main process of a run. Each task has a
    process of its own, which ends with the task.
  - >-
    Internal: used by C(playbooks/preflight.yml).
options:
  _terms: {description: The host pattern of the play., type: list, elements: str, required: true}
seealso:
  - {module: millrace.kafka.preflight}
"""

EXAMPLES = """
- name: Preflight
  hosts: "{{ lookup('millrace.kafka.run_lock', groups | millrace.kafka.function_pattern) }}"
"""

RETURN = """
_raw: {description: The terms., type: list, elements: str, sample: ["zookeeper:kafka:spark"]}
"""


class LookupModule(LookupBase):  # type: ignore[misc]
    """Prepares the locks of a run."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """Return the terms, after the sockets were opened; `variables` is {name: value}, and is not used."""
        run_lock.prepare()
        return list(terms)
