"""SCRAM users: what is wanted and what is found become changes and refusals. Pure; the facade reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, Verb, in_scope, too_many

MECHANISM, ITERATIONS = "SCRAM-SHA-512", 8192
Kept = Mapping[str, Mapping[str, int]]
"""{user: {mechanism: iterations}}, as the cluster says."""


class Credential(NamedTuple):
    """A password that is to be, or with none the mechanism that is to go."""

    user: str
    mechanism: str
    iterations: int = 0
    password: str | None = None


def as_declared(user: Mapping[str, Any]) -> Credential:
    """Return what a declared user is to have."""
    mechanism, iterations = user.get("mechanism") or MECHANISM, user.get("iterations") or ITERATIONS
    return Credential(user["name"], mechanism, iterations, user.get("password"))


def with_credential(users: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the users that log in with a password; others are principals of certificates."""
    return [user for user in users if user.get("credential", True)]


def gone(users: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of users who are absent whole: not only a mechanism, and no entry has them present."""
    there = {user["name"] for user in users if user.get("state") != "absent" or user.get("mechanism")}
    return list(dict.fromkeys(user["name"] for user in users if user["name"] not in there))


def without_credential(users: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of which no entry has a password; one that the cluster keeps for them would go on working."""
    having = {user["name"] for user in with_credential(users)}
    return list(dict.fromkeys(user["name"] for user in users if user["name"] not in having))


def to_try(users: Sequence[Mapping[str, Any]], found: Kept) -> list[Credential]:
    """Return the passwords that only a login can tell: all else is as declared."""
    wanted = [as_declared(user) for user in with_credential(users) if user.get("state") != "absent"]
    return [one for one in wanted if one.password and found.get(one.user, {}).get(one.mechanism) == one.iterations]


def line(mechanism: str, iterations: int, password: str = "") -> str:
    """Return a credential as it is shown."""
    return f"{mechanism}: {iterations} iterations{password}"


def diff(
    users: Sequence[Mapping[str, Any]],
    found: Kept,
    working: Mapping[tuple[str, str], bool],
    prune: Mapping[str, Any] | None = None,
    safe: Sequence[str] = (),
) -> Plan:
    """Return what is to be done that users are as declared, and everything that is refused.

    `working` says of {(user, mechanism)} whether the declared password logs in; principals that are `safe` are never
    pruned.
    """
    changes, unchanged, refusals = [], [], []
    for user in with_credential(users):
        name, wanted, kept = user["name"], as_declared(user), found.get(user["name"], {})
        if user.get("state") == "absent":
            gone = [one for one in kept if user.get("mechanism") in (None, one)]
            changes += removed(name, kept, gone)
            continue
        if not wanted.password:
            refusals.append(f"user {name}: no password; name vault.passwords.{name}, or say credential: false")
            continue
        after = line(wanted.mechanism, wanted.iterations)
        if wanted.mechanism not in kept:
            changes.append(Change("user", name, "update" if kept else "create", (), (after,), [wanted]))
        elif kept[wanted.mechanism] != wanted.iterations:
            before = line(wanted.mechanism, kept[wanted.mechanism])
            changes.append(Change("user", name, "update", (before,), (after,), [wanted]))
        elif not working.get((name, wanted.mechanism)):
            before = f"{after}, another password than is declared"
            changes.append(Change("user", name, "update", (before,), (f"{after}, the declared password",), [wanted]))
        else:
            unchanged.append(name)
    for name in without_credential(users):
        if found.get(name) and f"User:{name}" in safe:
            refusals.append(
                f"user {name}: credential: false, and it has a password, with which a super user or who asks may log "
                "in; say its password, or take it away by hand"
            )
        else:
            changes += removed(name, found.get(name, {}), list(found.get(name, ())))
    declared = {user["name"] for user in users}
    others = sorted(found.keys() - declared)
    scope = (prune or {}).get("users") or []
    pruned = [name for name in others if in_scope(name, scope) and f"User:{name}" not in safe]
    refusals += too_many("users", pruned, (prune or {}).get("max_deletes") or 0)
    for name in pruned:
        changes += removed(name, found[name], list(found[name]))
    return Plan(changes, unchanged, [name for name in others if name not in pruned], refusals)


def removed(name: str, kept: Mapping[str, int], gone: Sequence[str]) -> list[Change]:
    """Return the change that takes credentials from a user; none where there is nothing to take."""
    if not gone:
        return []
    before = tuple(line(mechanism, kept[mechanism]) for mechanism in gone)
    verb: Verb = "delete" if len(gone) == len(kept) else "update"
    return [Change("user", name, verb, before, (), [Credential(name, mechanism) for mechanism in gone])]
