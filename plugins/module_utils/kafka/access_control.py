"""Plans and writes users, ACLs and quotas: reads the cluster, compares it with declared entries, writes the changes.

The comparisons are in users.py, acls.py and quotas.py, the requests in the package facade.
"""

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
    """Return the changes of SCRAM users, with refusals.

    `declared` are entries of kafka_users, `prune` is kafka_prune. Users in `safe` (as `User:admin`) are never deleted.
    To find out whether a password is unchanged, `logins` tries to log in, unless the listener asks for no password.
    Raises AdminError or ClientError if a request or a login gets no answer.
    """
    if not declared and not (prune or {}).get("users"):
        return Plan()
    found, refusals = credentials.credentials(admin), users.unasked(declared, logins.protocol)
    tried = users.to_try(declared, found)
    answers = [True for _ in tried] if refusals else logins.all_work(tried)
    working = {(credential.user, credential.mechanism): works for credential, works in zip(tried, answers, strict=True)}
    plan = users.diff(declared, found, working, prune, safe)
    return replace(plan, refusals=[*refusals, *plan.refusals])


def write_users(admin: Admin, logins: Logins, changes: Sequence[Change], look: Look) -> Done:
    """Write credentials in one request, and wait until users can log in with the new passwords.

    Return which changes were done and which failed. A password with `verify: generation` or `always` is not tried.
    For changes whose write got no answer, `look` reads from the cluster whether they were made.
    """

    def write(batch: Sequence[Change]) -> dict[str, str]:
        written = [credential for change in batch for credential in change.work]
        failed = credentials.write(admin, written)
        tried = [one for one in written if one.password is not None and one.verify == users.LOGIN]
        return failed | logins.wait([one for one in tried if one.user not in failed])

    def read_again(batch: Sequence[Change], why: Outcome) -> Outcome:
        """Return {change not known to be made: reason}; the cluster cannot show changes with verify: always."""
        always = {change.name for change in batch for one in change.work if one.verify == users.ALWAYS}
        missing = look([change for change in batch if change.name not in always], why)
        unknown = {name: Unsure(f"{why[name]}; unknown whether it was written (verify: always)") for name in always}
        return {**missing, **unknown}

    return carry_out([(changes, write)], read_again)


def plan_acls(
    admin: Admin, declared: Declared, prune: Prune, principal: str, super_users: Sequence[str], gone: Sequence[str] = ()
) -> Plan:
    """Return the changes of ACLs, with refusals.

    `declared` are entries of kafka_acls, `prune` is kafka_prune, `principal` is the user of this run, and users in
    `gone` lose all ACLs that are not declared. Raises AdminError if the cluster does not answer.
    """
    if not declared and not gone and not (prune or {}).get("acls"):
        return Plan()
    return acls.diff(declared, rights.found(admin), prune, principal, super_users, gone)


def write_acls(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Create the new ACLs in one request, then delete the superfluous ones in another.

    Return which changes were done and which failed. For changes whose write got no answer, `look` reads from the
    cluster whether they were made.
    """
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
    """Return the changes of quotas, with refusals, among them the errors of brokers that validate the changes.

    `declared` are entries of kafka_quotas, `prune` is kafka_prune. Raises AdminError if the cluster does not answer.
    """
    plan = quotas.diff(declared, limits.found(admin), prune)
    rejected = {} if plan.refusals else limits.write(admin, [one.work for one in plan.changes], validate_only=True)
    refusals = [*plan.refusals, *(f"quota of {who}: {why}" for who, why in rejected.items())]
    return Plan(plan.changes, plan.unchanged, plan.unmanaged, refusals)


def write_quotas(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Write quotas in one request; return which changes were done and which failed.

    For changes whose write got no answer, `look` reads from the cluster whether they were made.
    """
    return carry_out([(changes, lambda batch: limits.write(admin, [change.work for change in batch]))], look)
