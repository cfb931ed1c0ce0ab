"""Compares the declared SCRAM users (kafka_users) with the cluster's, and returns changes and refusals.

A refusal is a reason why nothing may be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, Verb, in_scope, too_many

MECHANISM, ITERATIONS = "SCRAM-SHA-512", 8192
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
"""The least and the largest number of iterations that brokers accept."""
LOGIN, GENERATION, ALWAYS = "login", "generation", "always"
"""The ways to find out whether a password is unchanged (option verify); with `always`, it counts as changed."""
STEP = 1024
"""Declared iterations are a multiple of STEP; the generation is added to them, so each pair has another sum."""
Kept = Mapping[str, Mapping[str, int]]
"""{user: {mechanism: iterations}} of the cluster."""


class Credential(NamedTuple):
    """A password to write for a user and a mechanism; without a password, the mechanism is deleted for the user."""

    user: str
    mechanism: str
    iterations: int = 0
    password: str | None = None
    verify: str = LOGIN


def as_declared(user: Mapping[str, Any]) -> Credential:
    """Return the credential that an entry of kafka_users declares.

    With `verify: generation` or `always`, the generation of the password is added to the iterations, because iterations
    can be read from Kafka and passwords cannot.
    """
    mechanism, iterations = user.get("mechanism") or MECHANISM, user.get("iterations") or ITERATIONS
    verify = user.get("verify") or LOGIN
    counted = 0 if verify == LOGIN else generation(user)
    return Credential(user["name"], mechanism, iterations + counted, user.get("password"), verify)


def generation(user: Mapping[str, Any]) -> int:
    """Return the generation of a user's password: the declared number, which rises with each new password, or 1."""
    declared = user.get("generation")
    return 1 if declared is None else int(declared)


def invalid_iterations(user: Mapping[str, Any], wanted: Credential) -> str:
    """Return the message if the iterations or the generation of a user are invalid, else ''.

    `wanted` is the credential of the entry `user`; its iterations include the generation.
    """
    name, counted = user["name"], user.get("generation") is not None
    if wanted.verify == LOGIN and counted:
        return f"user {name}: generation is not used with verify: login; set verify: generation, or remove generation"
    if wanted.verify != LOGIN and generation(user) < 1:
        return f"user {name}: generation {generation(user)}: is below 1; set 1, and add 1 for each new password"
    if wanted.verify != LOGIN and generation(user) >= STEP:
        return (
            f"user {name}: generation {generation(user)}: is above {STEP - 1}; set other iterations, and generation: 1"
        )
    if wanted.verify != LOGIN and (wanted.iterations - generation(user)) % STEP:
        why = "another pair of both numbers would have the same sum, and a new password would not be detected"
        return f"user {name}: iterations with a generation: {why}; set a multiple of {STEP}, for example {ITERATIONS}"
    if not LEAST_ITERATIONS <= wanted.iterations <= MOST_ITERATIONS:
        more = "" if wanted.verify == LOGIN else ", the generation included"
        limits = f"brokers accept {LEAST_ITERATIONS} to {MOST_ITERATIONS}"
        return f"user {name}: {wanted.iterations} iterations{more}: {limits}; set another number"
    return ""


def with_credential(users: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the entries of users that log in with a password; other users log in with certificates."""
    return [user for user in users if user.get("credential", True)]


def gone(users: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of users that are declared absent as a whole.

    All entries of such a user are absent, and none names a mechanism: an entry with a mechanism deletes only the
    password for that mechanism.
    """
    there = {user["name"] for user in users if user.get("state") != "absent" or user.get("mechanism")}
    return list(dict.fromkeys(user["name"] for user in users if user["name"] not in there))


def without_credential(users: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of users that have no password in any entry; existing passwords of these users are deleted."""
    having = {user["name"] for user in with_credential(users)}
    return list(dict.fromkeys(user["name"] for user in users if user["name"] not in having))


def to_try(users: Sequence[Mapping[str, Any]], found: Kept) -> list[Credential]:
    """Return the credentials whose password has to be tried by a login, because everything else is as declared.

    `users` are entries of kafka_users, `found` is {user: {mechanism: iterations}} of the cluster.
    """
    wanted = [as_declared(user) for user in with_credential(users) if user.get("state") != "absent"]
    return [
        one
        for one in wanted
        if one.password and one.verify == LOGIN and found.get(one.user, {}).get(one.mechanism) == one.iterations
    ]


def unasked(users: Sequence[Mapping[str, Any]], protocol: str) -> list[str]:
    """Return [] or a list with one refusal: passwords cannot be tried at a listener that asks for no password.

    At such a listener any password would seem correct. `protocol` is the listener's security.protocol.
    """
    if protocol.startswith("SASL_"):
        return []
    wanted = [as_declared(user) for user in with_credential(users) if user.get("state") != "absent"]
    tried = list(dict.fromkeys(one.user for one in wanted if one.verify == LOGIN))
    names = f"user{'s' * (len(tried) > 1)} {', '.join(tried)}"
    why = "which asks for no password, so that every password would seem correct"
    advice = "use a listener with SASL_SSL (kafka_client), or set verify: generation"
    return [f"{names}: verify: login, but login has security.protocol: {protocol}, {why}; {advice}"] if tried else []


def line(mechanism: str, iterations: int, password: str = "") -> str:
    """Return a credential as a line, as `SCRAM-SHA-512: 8192 iterations`; the text `password` is appended to it."""
    return f"{mechanism}: {iterations} iterations{password}"


def diff(
    users: Sequence[Mapping[str, Any]],
    found: Kept,
    working: Mapping[tuple[str, str], bool],
    prune: Mapping[str, Any] | None = None,
    safe: Sequence[str] = (),
) -> Plan:
    """Return the plan that makes the cluster's users match `users` (kafka_users); a refusal blocks all writes.

    `found` is {user: {mechanism: iterations}} of the cluster, `working` is {(user, mechanism): whether the declared
    password logs in}, `prune` is kafka_prune. Users in `safe` (principals with `User:`) are never deleted.
    """
    changes, unchanged, refusals = [], [], [*entries.users(users), *entries.scope(prune, "users")]
    for user in with_credential(users):
        name, wanted, kept = user["name"], as_declared(user), found.get(user["name"], {})
        if user.get("state") == "absent":
            gone = [one for one in kept if user.get("mechanism") in (None, one)]
            if gone and f"User:{name}" in safe:
                refusals.append(f"user {name}: is a super user, or the user of this run; remove state: absent")
                continue
            changes += removed(name, kept, gone)
            continue
        if not wanted.password:
            refusals.append(f"user {name}: has no password; set vault.passwords.{name}, or credential: false")
            continue
        if why := invalid_iterations(user, wanted):
            refusals.append(why)
            continue
        after = line(wanted.mechanism, wanted.iterations)
        if wanted.mechanism not in kept:
            changes.append(Change("user", name, "update" if kept else "create", (), (after,), [wanted]))
        elif kept[wanted.mechanism] != wanted.iterations:
            before = line(wanted.mechanism, kept[wanted.mechanism])
            changes.append(Change("user", name, "update", (before,), (after,), [wanted]))
        elif wanted.verify == ALWAYS:
            before = f"{after}, a password that is not compared"
            changes.append(Change("user", name, "update", (before,), (f"{after}, the declared password",), [wanted]))
        elif wanted.verify == LOGIN and not working.get((name, wanted.mechanism)):
            before = f"{after}, another password"
            changes.append(Change("user", name, "update", (before,), (f"{after}, the declared password",), [wanted]))
        else:
            unchanged.append(name)
    for name in without_credential(users):
        if found.get(name) and f"User:{name}" in safe:
            refusals.append(
                f"user {name}: credential: false, but it has a password, and is a super user or the user of this run; "
                "set its password, or delete it by hand"
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
    """Return a list with the change that deletes the mechanisms `gone` of a user; [] if `gone` is empty.

    `kept` is {mechanism: iterations} of the user on the cluster.
    """
    if not gone:
        return []
    before = tuple(line(mechanism, kept[mechanism]) for mechanism in gone)
    verb: Verb = "delete" if len(gone) == len(kept) else "update"
    return [Change("user", name, verb, before, (), [Credential(name, mechanism) for mechanism in gone])]
