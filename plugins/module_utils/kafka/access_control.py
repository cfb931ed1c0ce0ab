"""Plans and writes users, ACLs and quotas: reads the cluster through the facade and calls the pure functions."""

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
    """Return the changes of users; passwords are tried by logging in. Raises AdminError, ClientError."""
    if not declared and not (prune or {}).get("users"):
        return Plan()
    found, refusals = credentials.credentials(admin), users.unasked(declared, logins.protocol)
    tried = users.to_try(declared, found)
    answers = [True for _ in tried] if refusals else logins.all_work(tried)
    working = {(credential.user, credential.mechanism): works for credential, works in zip(tried, answers, strict=True)}
    plan = users.diff(declared, found, working, prune, safe)
    return replace(plan, refusals=[*refusals, *plan.refusals])


def write_users(admin: Admin, logins: Logins, changes: Sequence[Change], look: Look) -> Done:
    """Write credentials in one request, and wait until each new password that can be tried logs in."""

    def write(batch: Sequence[Change]) -> dict[str, str]:
        written = [credential for change in batch for credential in change.work]
        failed = credentials.write(admin, written)
        tried = [one for one in written if one.password is not None and one.verify == users.LOGIN]
        return failed | logins.wait([one for one in tried if one.user not in failed])

    def read_again(batch: Sequence[Change], why: Outcome) -> Outcome:
        always = {change.name for change in batch for one in change.work if one.verify == users.ALWAYS}
        missing = look([change for change in batch if change.name not in always], why)
        unknown = {name: Unsure(f"{why[name]}; unknown whether it was written (verify: always)") for name in always}
        return {**missing, **unknown}

    return carry_out([(changes, write)], read_again)


def plan_acls(
    admin: Admin, declared: Declared, prune: Prune, principal: str, super_users: Sequence[str], gone: Sequence[str] = ()
) -> Plan:
    """Return the changes of ACLs; users that are `gone` lose all of theirs. Raises AdminError."""
    if not declared and not gone and not (prune or {}).get("acls"):
        return Plan()
    return acls.diff(declared, rights.found(admin), prune, principal, super_users, gone)


def write_acls(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Create ACLs first, then delete others, each in one request."""
    created = [change for change in changes if change.verb == "create"]
    deleted = [change for change in changes if change.verb == "delete"]
    return carry_out(
        [
            (created, lambda batch: rights.create(admin, [change.work for change in batch])),
            (deleted, lambda batch: rights.delete(admin, [change.work for change in batch])),
        ],
        look,
    )


def plan_quotas(admin: Admin, declared: Declared, prune: Prune = None) -> Plan:
    """Return the changes of quotas, with those that brokers reject. Raises AdminError."""
    plan = quotas.diff(declared, limits.found(admin), prune)
    rejected = {} if plan.refusals else limits.write(admin, [one.work for one in plan.changes], validate_only=True)
    refusals = [*plan.refusals, *(f"quota of {who}: {why}" for who, why in rejected.items())]
    return Plan(plan.changes, plan.unchanged, plan.unmanaged, refusals)


def write_quotas(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Write quotas in one request."""
    return carry_out([(changes, lambda batch: limits.write(admin, [change.work for change in batch]))], look)
