"""ACLs: what is wanted and what is found become changes and refusals. Pure; who reads and writes is the facade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, in_scope, too_many

CLUSTER = "kafka-cluster"
KINDS = ("TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER")
"""What is declared of; ACLs of other kinds (tokens, users) are others' business."""

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
"""What Kafka's authorizer knows of each kind of resource (org.apache.kafka.security.authorizer.AclEntry of 3.9)."""


class Acl(NamedTuple):
    """One permission for one operation, in the words of the broker."""

    principal: str
    permission: str
    operation: str
    resource: str
    name: str
    pattern: str
    host: str

    def __str__(self) -> str:
        """Return it as a person says it: `User:a from * may READ topic b (literal)`."""
        who = f"{self.principal} from {self.host}"
        what = (
            self.resource.lower()
            if self.resource == "CLUSTER"
            else f"{self.resource.lower()} {self.name} ({self.pattern.lower()})"
        )
        return f"{who} {'may' if self.permission == 'ALLOW' else 'may not'} {self.operation} {what}"


def acls(declared: Iterable[Mapping[str, Any]]) -> tuple[set[Acl], set[Acl]]:
    """Return the ACLs that are to be there and those that are not, one for each operation."""
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
    """Yield principals that are no users, entries without a name, and operations that a kind of resource has not."""
    for item in declared:
        kind, who = item["resource"], f"ACL of {item['principal']}"
        if not item["principal"].startswith("User:"):
            yield f"{who}: Kafka knows users alone, and compares the whole text; write User:{item['principal']}"
        yield from (f"{who}: {why}" for why in entries.acl(item))
        if kind != "cluster" and not item.get("name"):
            yield f"{who}: a {kind} has a name; say it, * is all"
        for operation in item["operations"]:
            if operation.upper() not in OPERATIONS[kind] | {"ALL"}:
                there = ", ".join(["ALL", *sorted(OPERATIONS[kind])])
                yield f"{who}: {operation} is no operation on a {kind}; there are {there}"


def both(declared: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield ACLs that are to be there, and not."""
    present, _ = acls(declared)
    absent, _ = acls([{**item, "state": "present"} for item in declared if item.get("state") == "absent"])
    yield from (
        f"ACL {acl}: declared present and absent; keep the one that is meant" for acl in sorted(present & absent)
    )


def of_cluster(found: Iterable[Acl]) -> list[Acl]:
    """Return the ACLs on the cluster."""
    return [acl for acl in found if acl.resource == "CLUSTER"]


def may_alter(principal: str, found: Iterable[Acl], unsaid: bool = True) -> bool:
    """Tell whether ACLs let a principal alter the cluster: without that it can give nobody rights, itself neither.

    `unsaid` is what holds where nothing is said of the cluster: it may be no ACL that lets it.
    """
    said = of_cluster(found)
    mine = [acl for acl in said if acl.principal in (principal, "User:*") and acl.operation in ("ALTER", "ALL")]
    denied = any(acl.permission == "DENY" for acl in mine)
    return not denied and any(acl.permission == "ALLOW" for acl in mine) if said else unsaid


def diff(
    declared: Sequence[Mapping[str, Any]],
    found: set[Acl],
    prune: Mapping[str, Any] | None = None,
    principal: str = "User:admin",
    super_users: Sequence[str] = (),
    absent_users: Sequence[str] = (),
) -> Plan:
    """Return what is to be done that ACLs are as declared, and everything that is refused.

    `principal` is who asks; super users need no ACL. Of absent users all goes that is not declared present.
    """
    present, absent = acls([] if (wrong := list(dict.fromkeys(faults(declared)))) else declared)
    if wrong := [*wrong, *both(declared if not wrong else []), *entries.scope(prune, "acls")]:
        return Plan(refusals=wrong)
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
    still = may_alter(principal, after, unsaid=not of_cluster(found))
    if principal not in super_users and may_alter(principal, found) and not still:
        refusals.append(
            f"ACLs: {principal}, who asks, could no longer alter the cluster, and nobody could take that back; "
            f"keep ALTER on the cluster for {principal}, or name it in kafka_super_users"
        )
    changes = [Change("ACL", str(acl), "create", work=acl) for acl in sorted(missing)]
    changes += [Change("ACL", str(acl), "delete", work=acl) for acl in sorted(gone)]
    left = [str(acl) for acl in others if acl not in gone]
    return Plan(changes, [str(acl) for acl in sorted(present & found)], left, refusals)
