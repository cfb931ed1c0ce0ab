"""Rules on users and ACLs, as the playbook resources.yml brings them to the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import OPERATIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import STEP
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import slip
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import granted
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256")  # another is refused by the spec
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
CLUSTER = "kafka-cluster"  # Resource.CLUSTER_NAME of org.apache.kafka.common.resource
DEFAULTS = {"pattern": "literal", "host": "*"}


def _known(model: Model) -> set[str]:
    """Return the names of the users; none where they are not declared, or could not be computed."""
    return {str(user.get("name")) for user in model.present("kafka_users")}


def users(model: Model) -> Iterator[Problem]:
    """Every user has a password, hashed often enough, and a listener where it is taken."""
    hosts, seen = names(model.brokers), set[tuple[str, str]]()
    enabled = {name for broker in model.brokers[:1] for listener in broker.listeners for name in listener.mechanisms}
    cases: dict[str, str] = {}
    for number, user in enumerate(model.told("kafka_users")):
        if not _named(user.get("name")):
            wrong = "no name, or one with a blank at an end or a line break: nobody would log in with it"
            place, advice = f"kafka_users[{number}].name", "write the name that the client logs in with"
            yield Problem(hosts, place, "USER_NAME", repr(user.get("name")), wrong, advice)
            continue
        other = cases.setdefault(str(user["name"]).lower(), str(user["name"]))
        if other != str(user["name"]) and user.get("state") != "absent":
            wrong = f"Kafka takes it for another than {other}, and people take the two for one"
            advice = "keep one of the two, or give one another name"
            place = f"kafka_users[{user['name']}]"
            yield Problem(hosts, place, "USER_CASE", None, wrong, advice, warning=True)
        name, mechanism = str(user.get("name")), str(user.get("mechanism") or "SCRAM-SHA-512")
        variable, iterations = f"kafka_users[{name}]", whole(user.get("iterations", 8192))
        # Who is absent without a mechanism loses the passwords of all.
        every = user.get("state") == "absent" and user.get("mechanism") is None
        meant = {(name, one) for one in (MECHANISMS if every else (mechanism,))}
        if meant & seen:
            yield Problem(hosts, variable, "USER_DUPLICATE", mechanism, "declared twice", "keep one of the two")
        seen |= meant
        if user.get("state") == "absent":
            continue
        if switch(user.get("credential")) is False:
            continue  # judged in grants
        if not user.get("password"):
            yield Problem(
                hosts,
                f"{variable}.password",
                "USER_PASSWORD",
                None,
                "no password",
                f"name vault.passwords.{name}, from the vaulted file",
            )
        yield from _generation(hosts, variable, user)
        if iterations is not None and not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            wrong = f"not from {LEAST_ITERATIONS} to {MOST_ITERATIONS}, and Kafka refuses that"
            yield Problem(hosts, f"{variable}.iterations", "USER_ITERATIONS", iterations, wrong, "leave it out: 8192")
        if enabled and mechanism not in enabled and mechanism in MECHANISMS:
            wrong = f"no listener takes logins of this kind (they take {', '.join(sorted(enabled))})"
            yield Problem(
                hosts,
                f"{variable}.mechanism",
                "USER_MECHANISM",
                mechanism,
                wrong,
                "add it to sasl_mechanisms of a listener, or use another",
            )


def _generation(hosts: tuple[str, ...], variable: str, user: Mapping[str, Any]) -> Iterator[Problem]:
    """Judge the number of a password, which is kept as rounds of hashing besides those that are declared."""
    number, place = whole(user.get("generation")), f"{variable}.generation"
    if user.get("verify") != "generation":
        if user.get("generation") is not None:
            wrong, advice = "nobody looks at it: the password is tried", "say verify: generation, or take it out"
            yield Problem(hosts, place, "USER_GENERATION", number, wrong, advice)
        return
    iterations = whole(user.get("iterations"))
    if number is not None and not 1 <= number < STEP:
        wrong = f"not from 1 to {STEP - 1}: it is kept as rounds of hashing, besides those of iterations"
        yield Problem(hosts, place, "USER_GENERATION", number, wrong, "begin with 1, and count passwords")
    if iterations is not None and (iterations % STEP or iterations > MOST_ITERATIONS - STEP):
        wrong = "other iterations with another generation would make the same sum, and a new password be missed"
        if not iterations % STEP:
            wrong = f"the generation is added to it, and Kafka refuses more than {MOST_ITERATIONS} in all"
        advice = f"say a multiple of {STEP} up to {MOST_ITERATIONS - STEP}, or leave it out: 8192"
        yield Problem(hosts, f"{variable}.iterations", "USER_GENERATION", iterations, wrong, advice)


def _named(name: Any) -> bool:
    text = "" if name is None else str(name)
    return bool(text) and text == text.strip() and text.isprintable()


def _who(acl: Mapping[str, Any]) -> str:
    return f"kafka_acls[{acl.get('principal')}]"


def acls(model: Model) -> Iterator[Problem]:
    """Every ACL is one that Kafka takes, for somebody who is there."""
    hosts = names(model.brokers)
    known = _known(model)
    somebody = {f"User:{name}" for name in known} | {name for first in model.brokers[:1] for name in first.super_users}
    for acl in model.told("kafka_acls"):
        who, kind, absent = str(acl.get("principal")), str(acl.get("resource")), acl.get("state") == "absent"
        if not who.startswith("User:") or who == "User:":
            kind_of_principal = re.match("[A-Za-z]+:", who)  # as user:a and Group:a
            advice = f"write it as User:{who[kind_of_principal.end() :] if kind_of_principal else who}"
            yield Problem(
                hosts, _who(acl), "ACL_PRINCIPAL", who, "Kafka knows users alone, and compares the whole text", advice
            )
        elif who == "User:*" and acl.get("permission") != "deny" and not absent:
            wrong = "everybody who can connect may do it"
            yield Problem(
                hosts,
                _who(acl),
                "ACL_EVERYBODY",
                None,
                wrong,
                "name the users, or leave it if that is meant",
                warning=True,
            )
        elif known and who != "User:*" and who not in somebody and not absent:
            wrong = "neither one of kafka_users nor a super user"
            near = slip(who, somebody)
            advice = "declare the user (credential: false if a certificate stands for it), or correct the name"
            advice = f"did you mean {near}? Else {advice.partition(',')[0]}" if near else advice
            yield Problem(hosts, _who(acl), "ACL_UNKNOWN_USER", None, wrong, advice, warning=not near)
        given = acl.get("operations")
        for operation in given if isinstance(given, (list, tuple)) else []:
            fit = OPERATIONS.get(kind)
            if fit is not None and str(operation).upper() not in {*fit, "ALL"}:
                wrong = f"no operation on a {kind}, and Kafka refuses it"
                yield Problem(
                    hosts,
                    f"{_who(acl)}.operations",
                    "ACL_OPERATION",
                    operation,
                    wrong,
                    f"one of ALL, {', '.join(sorted(fit))}",
                )
        if kind == "cluster" and (acl.get("name") not in (None, "", CLUSTER) or acl.get("pattern") == "prefixed"):
            key = "pattern" if acl.get("pattern") == "prefixed" else "name"
            wrong, advice = "there is one cluster, which has no name here", "take it out"
            yield Problem(hosts, f"{_who(acl)}.{key}", "ACL_NAME", acl.get(key), wrong, advice)
        if kind != "cluster" and not str(acl.get("name") or "").strip():
            wrong = f"no name of a {kind}"
            yield Problem(hosts, f"{_who(acl)}.name", "ACL_NAME", None, wrong, "name one; '*' is all of them")


def _places(acl: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what an ACL is about, once for each operation, which comes last."""
    given = acl.get("operations")
    place = [str(acl.get(key) or DEFAULTS.get(key, "")) for key in ("principal", "resource", "name", "pattern", "host")]
    operations = dict.fromkeys(str(item).upper() for item in given) if isinstance(given, (list, tuple)) else []
    return [(*place, operation) for operation in operations]


def _meant(acl: Mapping[str, Any]) -> tuple[str, str]:
    return str(acl.get("permission") or "allow"), str(acl.get("state") or "present")


def contradictions(model: Model) -> Iterator[Problem]:
    """Nothing is declared twice, nor both so and otherwise."""
    seen: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    grants: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for given in granted(model.told("kafka_users")):
        for place in _places(given):
            grants.setdefault(place, set()).add(_meant(given))
    for acl in model.told("kafka_acls"):
        meant = _meant(acl)
        for place in _places(acl):
            own = seen.setdefault(place, set())
            before = own | grants.get(place, set())
            what = f"{place[-1]} {' '.join(place[1:3])}".strip()
            if meant in own:
                yield Problem(
                    names(model.brokers), _who(acl), "ACL_DUPLICATE", what, "declared twice", "keep one of the two"
                )
            for permission, state in sorted(before - {meant}):
                if permission != meant[0] and not state == meant[1] == "present":
                    continue  # to allow no longer, and to deny, is one thing
                granted_so = " by a grant of kafka_users" if (permission, state) not in own else ""
                wrong = f"declared {permission}, {state}{granted_so} and {', '.join(meant)}"
                yield Problem(
                    names(model.brokers), _who(acl), "ACL_CONTRADICTION", what, wrong, "keep the one that is meant"
                )
            own.add(meant)


def logins(model: Model) -> Iterator[Problem]:
    """Jobs log in as users who are declared."""
    known = _known(model)
    for node in model.spark_nodes:
        for job in node.jobs:
            if job.user and known and job.user not in known:
                variable = f"{job.variable}.config.kafka[sasl.jaas.config]"
                wrong = f"logs in as {job.user}, who is none of kafka_users"
                near = slip(job.user, known)
                advice = f"did you mean {near}?" if near else "declare the user, or correct the name"
                yield node.problem(variable, "JOB_LOGIN", None, wrong, advice, warning=not near)
