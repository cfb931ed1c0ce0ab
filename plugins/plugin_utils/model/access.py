"""Checks kafka_users and kafka_acls, which the playbook resources.yml applies to the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import OPERATIONS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import STEP
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.bootstrap import uses_another_cluster
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed_values import PRINCIPALS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import typo_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import granted
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256")  # the argument spec rejects others
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
CLUSTER = "kafka-cluster"  # Resource.CLUSTER_NAME of org.apache.kafka.common.resource
DEFAULTS = {"pattern": "literal", "host": "*"}


def _known(model: Model) -> set[str]:
    """Return the names of all present users in kafka_users; an empty set if it is not set or could not be computed."""
    return {str(user.get("name")) for user in model.present("kafka_users")}


USER_NAME = ProblemKind(
    "USER_NAME",
    "empty: no client could log in with it",
    "set the name with which the client logs in, for example orders",
)
USER_NAME_BLANK = USER_NAME.variant(
    message="begins or ends with a blank: no client could log in with it", advice="write {name}"
)
USER_NAME_CHARACTERS = USER_NAME.variant(
    message="contains {characters}: no client could log in with it",
    advice="use printable characters in one line, for example {name}",
)
USER_CASE = ProblemKind(
    "USER_CASE",
    "differs from user {other} only in upper and lower case: Kafka treats them as two users, but people confuse them",
    "keep one of the two users, or rename one",
    warning=True,
)
USER_DUPLICATE = ProblemKind(
    "USER_DUPLICATE",
    "two entries of kafka_users declare this user with the same mechanism",
    "keep one of the two entries",
)
USER_PASSWORD = ProblemKind(
    "USER_PASSWORD",
    "the user has no password",
    "set password: \"{{{{ vault.passwords['{user}'] }}}}\", and the password itself in the vaulted file",
)
USER_ITERATIONS = ProblemKind(
    "USER_ITERATIONS", "not from {least} to {most}: Kafka would reject the user", "remove it (default: 8192)"
)
USER_MECHANISM = ProblemKind(
    "USER_MECHANISM",
    "no listener accepts this mechanism (listeners accept {accepted})",
    "set a mechanism that a listener accepts, or add this one to sasl_mechanisms of a listener",
)


def users(model: Model) -> Iterator[Problem]:
    """Yield a problem for each user in kafka_users that is declared wrongly.

    Examples: a name with which no client could log in, a duplicate, no password, too few or too many hash iterations,
    or a mechanism that no listener accepts.
    """
    hosts, seen = names(model.brokers), set[tuple[str, str]]()
    accepted = {name for broker in model.brokers[:1] for listener in broker.listeners for name in listener.mechanisms}
    cases: dict[str, str] = {}
    for number, user in enumerate(model.cluster_entries("kafka_users")):
        if not _is_usable(user.get("name")):
            yield _name_problem(hosts, f"kafka_users[{number}].name", user.get("name"))
            continue
        name, mechanism = str(user["name"]), str(user.get("mechanism") or "SCRAM-SHA-512")
        variable = f"kafka_users[{name}]"
        other = cases.setdefault(name.lower(), name)
        if other != name and user.get("state") != "absent":
            yield USER_CASE.problem(hosts, variable, other=other)
        # An absent user without a mechanism loses the passwords of all mechanisms.
        every = user.get("state") == "absent" and user.get("mechanism") is None
        credentials = {(name, each) for each in (MECHANISMS if every else (mechanism,))}
        if credentials & seen:
            yield USER_DUPLICATE.problem(hosts, variable, mechanism)
        seen |= credentials
        if user.get("state") != "absent" and switch(user.get("credential")) is not False:  # others: see grants.py
            yield from _password(hosts, variable, user, mechanism, accepted)


def _password(
    hosts: tuple[str, ...], variable: str, user: Mapping[str, Any], mechanism: str, accepted: set[str]
) -> Iterator[Problem]:
    """Yield problems of one user's password: none set, wrong hash iterations, or no listener accepts its mechanism.

    `variable` is the user's entry for messages, as kafka_users[alice]; `accepted` has the SASL mechanisms of all
    listeners.
    """
    iterations = whole(user.get("iterations", 8192))
    if not user.get("password"):
        yield USER_PASSWORD.problem(hosts, f"{variable}.password", user=user["name"])
    yield from _generation(hosts, variable, user)
    if iterations is not None and not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        yield USER_ITERATIONS.problem(
            hosts, f"{variable}.iterations", iterations, least=LEAST_ITERATIONS, most=MOST_ITERATIONS
        )
    if accepted and mechanism not in accepted and mechanism in MECHANISMS:
        yield USER_MECHANISM.problem(hosts, f"{variable}.mechanism", mechanism, accepted=sorted(accepted))


USER_GENERATION = ProblemKind(
    "USER_GENERATION",
    "not from 1 to {most}: the role adds the generation to the number of hash iterations, and so stores it in Kafka",
    "start with 1, and increase it by 1 for each new password",
)
USER_GENERATION_UNUSED = USER_GENERATION.variant(
    message="has no effect: each run checks the password of this user by a login",
    advice="set verify: generation for this user, or remove generation",
)
USER_GENERATION_MULTIPLE = USER_GENERATION.variant(
    message="the generation is added to it, and another generation could give the same sum: a run would "
    "miss a new password",
    advice="use a multiple of {step} from {least} to {most}, or remove it (default: 8192)",
)
USER_GENERATION_SUM = USER_GENERATION_MULTIPLE.variant(
    message="the generation is added to it, and Kafka rejects a sum above {most_iterations}"
)


def _generation(hosts: tuple[str, ...], variable: str, user: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems of `generation`, a number that a site increases with each new password of a user.

    Kafka does not store such a number, so the role adds it to the number of hash iterations.
    """
    number, place = whole(user.get("generation")), f"{variable}.generation"
    if user.get("verify") != "generation":
        if user.get("generation") is not None:
            yield USER_GENERATION_UNUSED.problem(hosts, place, number)
        return
    iterations = whole(user.get("iterations"))
    if number is not None and not 1 <= number < STEP:
        yield USER_GENERATION.problem(hosts, place, number, most=STEP - 1)
    is_possible = iterations is not None and LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS  # else USER_ITERATIONS
    if iterations is not None and is_possible and (iterations % STEP or iterations > MOST_ITERATIONS - STEP):
        kind = USER_GENERATION_MULTIPLE if iterations % STEP else USER_GENERATION_SUM
        most = MOST_ITERATIONS - STEP
        yield kind.problem(
            hosts,
            f"{variable}.iterations",
            iterations,
            step=STEP,
            least=LEAST_ITERATIONS,
            most=most,
            most_iterations=MOST_ITERATIONS,
        )


def _name_problem(hosts: tuple[str, ...], variable: str, declared: Any) -> Problem:
    """Return the problem of the name of a user with which no client could log in."""
    text = "" if declared is None else str(declared)
    invisible = list(dict.fromkeys(repr(sign) for sign in text if not sign.isprintable()))
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    name = "_".join(plain.split()) if invisible else plain.strip()
    kind = USER_NAME_CHARACTERS if invisible and name else USER_NAME_BLANK if name else USER_NAME
    return kind.problem(hosts, variable, repr(declared), characters=invisible, name=name)


def _is_usable(name: Any) -> bool:
    """Tell whether a client could log in with this user name: not empty, printable, no blank at either end."""
    text = "" if name is None else str(name)
    return bool(text) and text == text.strip() and text.isprintable()


def _variable(acl: Mapping[str, Any]) -> str:
    return f"kafka_acls[{acl.get('principal')}]"


ACL_PRINCIPAL = ProblemKind(
    "ACL_PRINCIPAL",
    "not a principal of a user: Kafka compares the whole text, with its prefix User:",
    "write it as User:{name}",
)
ACL_PRINCIPAL_EMPTY = ACL_PRINCIPAL.variant(
    message="no name of a user", advice="write it as User:orders with the name of the user, or User:* for every user"
)
ACL_PRINCIPAL_SEVERAL = ACL_PRINCIPAL.variant(
    message="several principals, but Kafka compares the whole text", advice="write one entry for each principal"
)
ACL_EVERYBODY = ProblemKind(
    "ACL_EVERYBODY",
    "every client that can connect has this permission",
    "name the users, or keep it if every client needs it",
    warning=True,
)
ACL_EVERYBODY_ANONYMOUS = ACL_EVERYBODY.variant(
    message="every client that connects without a login has this permission",
    advice="name the users, or keep it if such clients need it",
)
ACL_UNKNOWN_USER = ProblemKind(
    "ACL_UNKNOWN_USER",
    "neither a user of kafka_users nor a super user",
    "declare the user in kafka_users (credential: false if it uses a certificate), or correct the name",
)
ACL_UNKNOWN_USER_TYPO = ACL_UNKNOWN_USER.variant(
    advice="did you mean {near}? Otherwise declare the user in kafka_users (credential: false if it uses a certificate)"
)
ACL_OPERATION = ProblemKind(
    "ACL_OPERATION",
    "Kafka has no such operation on a resource of type {resource}, and would reject the ACL",
    "use one of {operations}",
)
ACL_NAME = ProblemKind(
    "ACL_NAME", "the ACL does not name a {resource}", "set name to the name of a {resource}, or to '*' for all"
)
ACL_NAME_CLUSTER = ACL_NAME.variant(
    message="an ACL on the cluster has no name and no pattern, since there is only one cluster", advice="remove it"
)


# Principals that are not users of kafka_users, with the kind of problem of a permission for them.
EVERYBODY = {"User:*": ACL_EVERYBODY, "User:ANONYMOUS": ACL_EVERYBODY_ANONYMOUS}


def acls(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of kafka_acls that Kafka would reject, or whose user is not declared."""
    hosts, known = names(model.brokers), _known(model)
    principals = {f"User:{name}" for name in known} | {
        name for first in model.brokers[:1] for name in first.super_users
    }
    for acl in model.cluster_entries("kafka_acls"):
        principal, absent = str(acl.get("principal")), acl.get("state") == "absent"
        if sum(part.lower().startswith("user:") for part in PRINCIPALS.split(principal.strip())) > 1:
            yield ACL_PRINCIPAL_SEVERAL.problem(hosts, _variable(acl), principal)
        elif not principal.startswith("User:") or principal == "User:":
            prefix = re.match(r"\s*[A-Za-z]+\s*:", principal)  # as user:a and Group:a
            name = (principal[prefix.end() :] if prefix else principal).strip()
            kind = ACL_PRINCIPAL if name else ACL_PRINCIPAL_EMPTY
            given = name if acl.get("principal") is not None else ""
            yield kind.problem(hosts, _variable(acl), principal, name=given)
        elif principal in EVERYBODY:
            if acl.get("permission") != "deny" and not absent:
                yield EVERYBODY[principal].problem(hosts, _variable(acl))
        elif known and principal not in principals and not absent:
            near = typo_of(principal, principals)
            kind = ACL_UNKNOWN_USER_TYPO if near else ACL_UNKNOWN_USER
            yield kind.problem(hosts, _variable(acl), warning=not near, near=near)
        yield from _resource(hosts, acl)


def _resource(hosts: tuple[str, ...], acl: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems of one ACL: an operation that its resource type does not have, or a wrong resource name."""
    resource, operations = str(acl.get("resource")), acl.get("operations")
    for operation in operations if isinstance(operations, (list, tuple)) else []:
        valid = OPERATIONS.get(resource) or {name for known in OPERATIONS.values() for name in known}
        if str(operation).upper() not in {*valid, "ALL"}:
            known = ["ALL", *sorted(valid)]
            yield ACL_OPERATION.problem(
                hosts, f"{_variable(acl)}.operations", operation, resource=resource, operations=known
            )
    if resource == "cluster" and (acl.get("name") not in (None, "", CLUSTER) or acl.get("pattern") == "prefixed"):
        key = "pattern" if acl.get("pattern") == "prefixed" else "name"
        yield ACL_NAME_CLUSTER.problem(hosts, f"{_variable(acl)}.{key}", acl.get(key))
    named = resource in OPERATIONS and resource != "cluster"  # another resource is reported by the argument spec
    if named and not str(acl.get("name") or "").strip():
        yield ACL_NAME.problem(hosts, f"{_variable(acl)}.name", resource=resource)


def _permissions(acl: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return one tuple for each operation of an ACL: (principal, resource, name, pattern, host, operation).

    Two ACLs with an equal tuple are about the same permission; whether it is allowed or denied is not part of the
    tuple.
    """
    given = acl.get("operations")
    target = [
        str(acl.get(key) or DEFAULTS.get(key, "")) for key in ("principal", "resource", "name", "pattern", "host")
    ]
    operations = dict.fromkeys(str(item).upper() for item in given) if isinstance(given, (list, tuple)) else []
    return [(*target, operation) for operation in operations]


def _effect(acl: Mapping[str, Any]) -> tuple[str, str]:
    """Return an ACL's (permission, state): 'allow' or 'deny', and 'present' or 'absent'."""
    return str(acl.get("permission") or "allow"), str(acl.get("state") or "present")


ACL_DUPLICATE = ProblemKind(
    "ACL_DUPLICATE", "two entries of kafka_acls declare this permission", "keep one of the two entries"
)
ACL_CONTRADICTION = ProblemKind(
    "ACL_CONTRADICTION",
    "two entries of kafka_acls declare this permission, one as ({effect}) and one as ({other_effect})",
    "keep one of the two entries",
)
ACL_CONTRADICTION_GRANT = ACL_CONTRADICTION.variant(
    message="declared as ({effect}), but a grant of kafka_users makes it ({other_effect})",
    advice="remove this entry or the grant",
)


def contradictions(model: Model) -> Iterator[Problem]:
    """Yield a problem for each permission that is declared twice, or with opposite effects.

    Opposite effects are allow and deny, or present and absent. Permissions come from kafka_acls and from the grants in
    kafka_users.
    """
    seen: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    grants: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for grant in granted(model.cluster_entries("kafka_users")):
        for permission in _permissions(grant):
            grants.setdefault(permission, set()).add(_effect(grant))
    for acl in model.cluster_entries("kafka_acls"):
        effect = _effect(acl)
        for permission in _permissions(acl):
            of_acls = seen.setdefault(permission, set())
            hosts, value = names(model.brokers), f"{permission[-1]} {' '.join(permission[1:3])}".strip()
            if effect in of_acls:
                yield ACL_DUPLICATE.problem(hosts, _variable(acl), value)
            for other in sorted((of_acls | grants.get(permission, set())) - {effect}):
                if other[0] != effect[0] and not other[1] == effect[1] == "present":
                    continue  # a permission that is absent and a denial do not contradict each other
                kind = ACL_CONTRADICTION if other in of_acls else ACL_CONTRADICTION_GRANT
                yield kind.problem(hosts, _variable(acl), value, effect=effect, other_effect=other)
            of_acls.add(effect)


JOB_LOGIN = ProblemKind(
    "JOB_LOGIN",
    "the job logs in as {user}, and kafka_users has no such user",
    "declare the user in kafka_users, or correct the name",
)
JOB_LOGIN_TYPO = JOB_LOGIN.variant(advice="did you mean {near}?")


def logins(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job that logs in to this cluster as a user who is not in kafka_users."""
    known = _known(model)
    for node in model.spark_nodes:
        for job in node.jobs:
            if job.user and known and job.user not in known and not uses_another_cluster(model, node, job):
                near = typo_of(job.user, known)
                kind, variable = JOB_LOGIN_TYPO if near else JOB_LOGIN, f"{job.variable}.config.kafka[sasl.jaas.config]"
                yield node.report(kind, variable, warning=not near, user=job.user, near=near)
