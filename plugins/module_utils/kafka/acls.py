"""Compares the declared ACLs (kafka_acls) with the cluster's, and returns changes and refusals. No I/O.

A refusal is a reason why nothing may be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, in_scope, too_many

CLUSTER = "kafka-cluster"
KINDS = ("TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER")
"""The kinds of resources whose ACLs can be declared; ACLs of other kinds (tokens, users) are never changed."""

OPERATIONS = {
    "topic": {"READ", "WRITE", "CREATE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"},
    "group": {"READ", "DESCRIBE", "DELETE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"},
    "transactional_id": {"DESCRIBE", "WRITE"},
    "cluster": {
        "CREATE",
        "CLUSTER_ACTION",
        "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
        "IDEMPOTENT_WRITE",
        "ALTER",
        "DESCRIBE",
    },
}
"""The operations of each kind of resource (org.apache.kafka.security.authorizer.AclEntry of Kafka 3.9)."""


class Acl(NamedTuple):
    """One ACL: a permission of a principal for an operation on a resource, with Kafka's names in upper case."""

    principal: str
    permission: str
    operation: str
    resource: str
    name: str
    pattern: str
    host: str

    def __str__(self) -> str:
        """Return the ACL as a sentence: `User:a from * may READ topic b (literal)`."""
        who = f"{self.principal} from {self.host}"
        what = (
            self.resource.lower()
            if self.resource == "CLUSTER"
            else f"{self.resource.lower()} {self.name} ({self.pattern.lower()})"
        )
        return f"{who} {'may' if self.permission == 'ALLOW' else 'may not'} {self.operation} {what}"


def acls(declared: Iterable[Mapping[str, Any]]) -> tuple[set[Acl], set[Acl]]:
    """Return (ACLs to create if missing, ACLs to delete if present) of entries of kafka_acls.

    An entry with several operations becomes one ACL for each of them.
    """
    present: set[Acl] = set()
    absent: set[Acl] = set()
    for item in declared:
        for operation in item["operations"]:
            acl = Acl(
                item["principal"],
                (item.get("permission") or "allow").upper(),
                operation.upper(),
                item["resource"].upper(),
                CLUSTER if item["resource"] == "cluster" else item["name"],
                (item.get("pattern") or "literal").upper(),
                item.get("host") or "*",
            )
            (absent if item.get("state") == "absent" else present).add(acl)
    return present, absent - present


def faults(declared: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the mistakes of entries of kafka_acls, as messages.

    Mistakes are a principal without `User:`, a missing name, and an operation that this kind of resource does not have.
    """
    for item in declared:
        kind, who = item["resource"], f"ACL of {item['principal']}"
        if not item["principal"].startswith("User:"):
            yield f"{who}: Kafka has only principals that begin with User:; write User:{item['principal']}"
        yield from (f"{who}: {why}" for why in entries.acl(item))
        if kind != "cluster" and not item.get("name"):
            yield f"{who}: the {kind} has no name; set name, * is all"
        for operation in item["operations"]:
            if operation.upper() not in OPERATIONS[kind] | {"ALL"}:
                operations = ", ".join(["ALL", *sorted(OPERATIONS[kind])])
                yield f"{who}: a {kind} has no operation {operation}; use one of {operations}"


def contradictions(declared: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a message for each ACL that an entry declares present and another entry declares absent."""
    present, _ = acls(declared)
    absent, _ = acls([{**item, "state": "present"} for item in declared if item.get("state") == "absent"])
    yield from (f"ACL {acl}: declared present and absent; remove one of the two" for acl in sorted(present & absent))


def of_cluster(found: Iterable[Acl]) -> list[Acl]:
    """Return the ACLs whose resource is the cluster itself, not a topic or a group."""
    return [acl for acl in found if acl.resource == "CLUSTER"]


def may_alter(principal: str, found: Iterable[Acl], default: bool = True) -> bool:
    """Tell whether the ACLs in `found` allow `principal` to alter the cluster, which is needed to create any ACL.

    If no ACL in `found` is for the cluster, return `default`: the right may then have another source than an ACL.
    """
    on_cluster = of_cluster(found)
    mine = [acl for acl in on_cluster if acl.principal in (principal, "User:*") and acl.operation in ("ALTER", "ALL")]
    denied = any(acl.permission == "DENY" for acl in mine)
    return not denied and any(acl.permission == "ALLOW" for acl in mine) if on_cluster else default


def diff(
    declared: Sequence[Mapping[str, Any]],
    found: set[Acl],
    prune: Mapping[str, Any] | None = None,
    principal: str = "User:admin",
    super_users: Sequence[str] = (),
    absent_users: Sequence[str] = (),
) -> Plan:
    """Return the plan that makes the cluster's ACLs (`found`) match the declared ones; a refusal blocks all writes.

    `principal` is the user of this run; `super_users` (principals) need no ACL. Users in `absent_users` (names without
    `User:`) lose all ACLs that are not declared. `prune` is kafka_prune. A plan that takes the right to alter the
    cluster from `principal` is refused.
    """
    present, absent = acls([] if (mistakes := list(dict.fromkeys(faults(declared)))) else declared)
    if mistakes := [
        *mistakes,
        *contradictions(declared if not mistakes else []),
        *entries.scope(prune, "acls"),
    ]:
        return Plan(refusals=mistakes)
    refusals: list[str] = []
    without = {f"User:{name}" for name in absent_users}
    absent |= {acl for acl in found - present if acl.principal in without and acl.resource in KINDS}
    missing, superfluous = present - found, absent & found
    scope = (prune or {}).get("acls") or []
    others = sorted(found - present - absent)
    safe = {principal, *super_users}
    pruned = [
        acl for acl in others if acl.resource in KINDS and acl.principal not in safe and in_scope(acl.principal, scope)
    ]
    refusals += too_many("ACLs", [str(acl) for acl in pruned], (prune or {}).get("max_deletes") or 0)
    gone = superfluous | set(pruned)
    after = (found | missing) - gone
    still = may_alter(principal, after, default=not of_cluster(found))
    if principal not in super_users and may_alter(principal, found) and not still:
        refusals.append(
            f"ACLs: {principal}, the user of this run, could no longer alter the cluster, nor revert that; "
            f"keep ALTER on the cluster for {principal}, or add it to kafka_super_users"
        )
    changes = [Change("ACL", str(acl), "create", work=acl) for acl in sorted(missing)]
    changes += [Change("ACL", str(acl), "delete", work=acl) for acl in sorted(gone)]
    left = [str(acl) for acl in others if acl not in gone]
    return Plan(changes, [str(acl) for acl in sorted(present & found)], left, refusals)
