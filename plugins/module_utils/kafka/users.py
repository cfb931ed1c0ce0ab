"""SCRAM users: what is wanted and what is found become changes and refusals. Pure; the facade reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, Verb, in_scope, too_many

MECHANISM, ITERATIONS = "SCRAM-SHA-512", 8192
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
"""What brokers take."""
LOGIN, GENERATION, ALWAYS = "login", "generation", "always"
"""How it is known whether a password is unchanged; the last takes none for unchanged."""
STEP = 1024
"""Rounds of hashing that hold a generation are a multiple of this besides it, so that two numbers make one sum once."""
Kept = Mapping[str, Mapping[str, int]]
"""{user: {mechanism: iterations}}, as the cluster says."""


class Credential(NamedTuple):
    """A password that is to be, or with none the mechanism that is to go."""

    user: str
    mechanism: str
    iterations: int = 0
    password: str | None = None
    verify: str = LOGIN


def as_declared(user: Mapping[str, Any]) -> Credential:
    """Return what a declared user is to have.

    Nobody can read a password back, but everybody who may how often it was hashed: a generation is counted there.
    """
    mechanism, iterations = user.get("mechanism") or MECHANISM, user.get("iterations") or ITERATIONS
    verify = user.get("verify") or LOGIN
    counted = 0 if verify == LOGIN else generation(user)
    return Credential(user["name"], mechanism, iterations + counted, user.get("password"), verify)


def generation(user: Mapping[str, Any]) -> int:
    """Return the number of a user's password, 1 for the first."""
    said = user.get("generation")
    return 1 if said is None else int(said)


def uncounted(user: Mapping[str, Any], wanted: Credential) -> str:
    """Return why a password cannot be written so, '' where it can."""
    name, counted = user["name"], user.get("generation") is not None
    if wanted.verify == LOGIN and counted:
        return f"user {name}: a generation is not looked at; say verify: generation, or take it out"
    if wanted.verify != LOGIN and generation(user) < 1:
        return f"user {name}: generation {generation(user)}: the first password is 1, and each new one is one more"
    if wanted.verify != LOGIN and generation(user) >= STEP:
        return (
            f"user {name}: generation {generation(user)}: there are {STEP - 1}; say other iterations, and begin with 1"
        )
    if wanted.verify != LOGIN and (wanted.iterations - generation(user)) % STEP:
        why = "other iterations with another generation would make the same sum, and a new password be missed"
        return f"user {name}: iterations with a generation: {why}; say a multiple of {STEP}, as {ITERATIONS}"
    if not LEAST_ITERATIONS <= wanted.iterations <= MOST_ITERATIONS:
        more = "" if wanted.verify == LOGIN else ", the generation among them"
        limits = f"brokers take {LEAST_ITERATIONS} to {MOST_ITERATIONS}"
        return f"user {name}: {wanted.iterations} iterations{more}: {limits}; say others"
    return ""


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
    return [
        one
        for one in wanted
        if one.password and one.verify == LOGIN and found.get(one.user, {}).get(one.mechanism) == one.iterations
    ]


def unasked(users: Sequence[Mapping[str, Any]], protocol: str) -> list[str]:
    """Return the refusal of passwords that would be tried where nobody is asked for one: all would seem to be right."""
    if protocol.startswith("SASL_"):
        return []
    wanted = [as_declared(user) for user in with_credential(users) if user.get("state") != "absent"]
    tried = list(dict.fromkeys(one.user for one in wanted if one.verify == LOGIN))
    names = f"user{'s' * (len(tried) > 1)} {', '.join(tried)}"
    why = "where no password is asked for, so that every one would seem to be right"
    advice = "name a listener of SASL_SSL (kafka_client), or say verify: generation"
    return [f"{names}: verify: login, and login says security.protocol: {protocol}, {why}; {advice}"] if tried else []


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
    changes, unchanged, refusals = [], [], [*entries.users(users), *entries.scope(prune, "users")]
    for user in with_credential(users):
        name, wanted, kept = user["name"], as_declared(user), found.get(user["name"], {})
        if user.get("state") == "absent":
            gone = [one for one in kept if user.get("mechanism") in (None, one)]
            if gone and f"User:{name}" in safe:
                refusals.append(f"user {name}: asks itself here, or is a super user; take state: absent out")
                continue
            changes += removed(name, kept, gone)
            continue
        if not wanted.password:
            refusals.append(f"user {name}: no password; name vault.passwords.{name}, or say credential: false")
            continue
        if why := uncounted(user, wanted):
            refusals.append(why)
            continue
        after = line(wanted.mechanism, wanted.iterations)
        if wanted.mechanism not in kept:
            changes.append(Change("user", name, "update" if kept else "create", (), (after,), [wanted]))
        elif kept[wanted.mechanism] != wanted.iterations:
            before = line(wanted.mechanism, kept[wanted.mechanism])
            changes.append(Change("user", name, "update", (before,), (after,), [wanted]))
        elif wanted.verify == ALWAYS:
            before = f"{after}, a password that nobody compares"
            changes.append(Change("user", name, "update", (before,), (f"{after}, the declared password",), [wanted]))
        elif wanted.verify == LOGIN and not working.get((name, wanted.mechanism)):
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
