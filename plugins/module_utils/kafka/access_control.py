"""Users, ACLs and quotas of a cluster read and written: the verbs between what is pure and the facade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import acls, quotas, users
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Done,
    Look,
    Outcome,
    Plan,
    Unsure,
    carry_out,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import acls as rights
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import quotas as limits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import users as credentials
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins

Declared = Sequence[Mapping[str, Any]]
Prune = Mapping[str, Any] | None


def plan_users(admin: Admin, logins: Logins, declared: Declared, prune: Prune, safe: Sequence[str]) -> Plan:
    """Return what is to be done that users are as declared; passwords are tried. Raises AdminError, ClientError."""
    if not declared and not (prune or {}).get("users"):
        return Plan()
    found, wrong = credentials.credentials(admin), users.unasked(declared, logins.protocol)
    tried = users.to_try(declared, found)
    answers = [True for _ in tried] if wrong else logins.all_work(tried)
    working = {(one.user, one.mechanism): works for one, works in zip(tried, answers, strict=True)}
    plan = users.diff(declared, found, working, prune, safe)
    return replace(plan, refusals=[*wrong, *plan.refusals])


def write_users(admin: Admin, logins: Logins, changes: Sequence[Change], look: Look) -> Done:
    """Write credentials in one request, and wait until each new password that can be tried logs in."""

    def write(batch: Sequence[Change]) -> dict[str, str]:
        wanted = [one for change in batch for one in change.work]
        failed = credentials.write(admin, wanted)
        tried = [one for one in wanted if one.password is not None and one.verify == users.LOGIN]
        return failed | logins.wait([one for one in tried if one.user not in failed])

    def seen(batch: Sequence[Change], why: Outcome) -> Outcome:
        blind = {change.name for change in batch for one in change.work if one.verify == users.ALWAYS}
        found = look([change for change in batch if change.name not in blind], why)
        return {**found, **{name: Unsure(f"{why[name]}; nobody compares it, so nobody knows") for name in blind}}

    return carry_out([(changes, write)], seen)


def plan_acls(
    admin: Admin, declared: Declared, prune: Prune, principal: str, super_users: Sequence[str], gone: Sequence[str] = ()
) -> Plan:
    """Return what is to be done that ACLs are as declared, and users who are `gone` have none. Raises AdminError."""
    if not declared and not gone and not (prune or {}).get("acls"):
        return Plan()
    return acls.diff(declared, rights.found(admin), prune, principal, super_users, gone)


def write_acls(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Grant first, then take away, each in one request."""
    granted = [change for change in changes if change.verb == "create"]
    taken = [change for change in changes if change.verb == "delete"]
    return carry_out(
        [
            (granted, lambda batch: rights.create(admin, [change.work for change in batch])),
            (taken, lambda batch: rights.delete(admin, [change.work for change in batch])),
        ],
        look,
    )


def plan_quotas(admin: Admin, declared: Declared, prune: Prune = None) -> Plan:
    """Return what is to be done that quotas are as declared, with what brokers refuse. Raises AdminError."""
    found = quotas.diff(declared, limits.found(admin), prune)
    said = {} if found.refusals else limits.write(admin, [change.work for change in found.changes], validate_only=True)
    refusals = [*found.refusals, *(f"quota of {who}: {why}" for who, why in said.items())]
    return Plan(found.changes, found.unchanged, found.unmanaged, refusals)


def write_quotas(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Write quotas in one request."""
    return carry_out([(changes, lambda batch: limits.write(admin, [change.work for change in batch]))], look)
