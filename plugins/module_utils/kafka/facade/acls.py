"""ACLs of a cluster, through confluent-kafka; no Ansible import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    Admin,
    answer,
    failures,
)

RESOURCES = {"CLUSTER": "BROKER"}
"""librdkafka's words where they are not Kafka's."""


def found(admin: Admin) -> set[Acl]:
    """Return every ACL of the cluster; the resource is UNKNOWN where the library knows no word. Raises AdminError."""
    from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType
    from confluent_kafka.admin import ResourcePatternType as Pattern
    from confluent_kafka.admin import ResourceType as Kind

    anybody: Any = None
    everything = AclBindingFilter(
        Kind.ANY, anybody, Pattern.ANY, anybody, anybody, AclOperation.ANY, AclPermissionType.ANY
    )
    words = {theirs: ours for ours, theirs in RESOURCES.items()}
    return {
        Acl(
            one.principal,
            one.permission_type.name,
            one.operation.name,
            words.get(one.restype.name, one.restype.name),
            one.name,
            one.resource_pattern_type.name,
            one.host,
        )
        for one in answer(admin.client.describe_acls(everything, request_timeout=ASK), ASK)
    }


def create(admin: Admin, acls: Sequence[Acl]) -> dict[str, str]:
    """Make ACLs in one request; return why some failed, by the ACL in words."""
    asked = {binding(acl): acl for acl in acls}
    futures = admin.client.create_acls(list(asked), request_timeout=admin.patience) if asked else {}
    return failures([(str(asked[one]), future) for one, future in futures.items()], admin.patience)


def delete(admin: Admin, acls: Sequence[Acl]) -> dict[str, str]:
    """Remove ACLs in one request; return why some failed, by the ACL in words."""
    asked = {binding(acl, True): acl for acl in acls}
    futures = admin.client.delete_acls(list(asked), request_timeout=admin.patience) if asked else {}
    return failures([(str(asked[one]), future) for one, future in futures.items()], admin.patience)


def binding(acl: Acl, as_filter: bool = False) -> Any:
    """Return an ACL as the library wants it."""
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    kind = ResourceType[RESOURCES.get(acl.resource, acl.resource)]
    place = (kind, acl.name, ResourcePatternType[acl.pattern], acl.principal, acl.host)
    what = (AclOperation[acl.operation], AclPermissionType[acl.permission])
    return AclBindingFilter(*place, *what) if as_filter else AclBinding(*place, *what)
