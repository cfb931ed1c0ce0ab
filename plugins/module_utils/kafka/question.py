"""Connects a module to its cluster, compares the cluster's id, and ends the module with its result or its failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.connection import connected
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished


def ask(module: AnsibleModule, what: str, answered: Callable[[Admin, Metadata], dict[str, Any]]) -> None:
    """End the module with the result of `answered(admin, metadata)`, or fail it.

    The module fails if the cluster does not answer, or if `answered` raises Refused or Unfinished. The error message
    begins with `what`.
    """
    with connected(module, what) as (admin, metadata):
        try:
            result = answered(admin, metadata)
        except Refused as error:
            module.fail_json(msg=f"{what}: {error}")
        except Unfinished as error:
            module.fail_json(msg=f"{what}: {error}", **error.result, cluster_id=metadata.cluster_id)
        module.exit_json(**{"changed": False, **result}, cluster_id=metadata.cluster_id)
