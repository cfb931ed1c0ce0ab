"""Reads, creates and deletes the ACLs of a cluster, with confluent-kafka."""

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
"""librdkafka's names of kinds of resources, where they differ from Kafka's names."""


def found(admin: Admin) -> set[Acl]:
    """Return all ACLs of the cluster; a kind of resource that the library does not know is returned as UNKNOWN.

    Raises AdminError if the request is rejected or not answered.
    """
    from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType
    from confluent_kafka.admin import ResourcePatternType as Pattern
    from confluent_kafka.admin import ResourceType as Kind

    anybody: Any = None
    everything = AclBindingFilter(
        Kind.ANY, anybody, Pattern.ANY, anybody, anybody, AclOperation.ANY, AclPermissionType.ANY
    )
    names = {theirs: ours for ours, theirs in RESOURCES.items()}
    return {
        Acl(
            one.principal,
            one.permission_type.name,
            one.operation.name,
            names.get(one.restype.name, one.restype.name),
            one.name,
            one.resource_pattern_type.name,
            one.host,
        )
        for one in answer(admin.client.describe_acls(everything, request_timeout=ASK), ASK)
    }


def create(admin: Admin, acls: Sequence[Acl]) -> dict[str, str]:
    """Create ACLs in one request; return {text of an ACL that was not created: reason}."""
    asked = {binding(acl): acl for acl in acls}
    futures = admin.client.create_acls(list(asked), request_timeout=admin.patience) if asked else {}
    return failures([(str(asked[one]), future) for one, future in futures.items()], admin.patience)


def delete(admin: Admin, acls: Sequence[Acl]) -> dict[str, str]:
    """Delete ACLs in one request; return {text of an ACL that was not deleted: reason}."""
    asked = {binding(acl, True): acl for acl in acls}
    futures = admin.client.delete_acls(list(asked), request_timeout=admin.patience) if asked else {}
    return failures([(str(asked[one]), future) for one, future in futures.items()], admin.patience)


def binding(acl: Acl, as_filter: bool = False) -> Any:
    """Return an ACL as the library's AclBinding; with `as_filter`, as an AclBindingFilter for exactly this ACL."""
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
