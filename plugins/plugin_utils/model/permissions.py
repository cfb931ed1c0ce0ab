"""Checks what the declared ACLs allow.

The names in ACLs must be able to match a resource, and Spark jobs must have the permissions that they need.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import active
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import grants_of, listed

Acl = Mapping[str, Any]
# The prefix of the group names that Spark generates for its queries.
SPARK_GROUP = "spark-kafka-source"
Need = tuple[str, str, str, str]
"""A permission: (operation, resource type, resource name or its prefix, "literal" or "prefixed")."""

ACL_STAR = ProblemKind(
    "ACL_STAR",
    "a star is no wildcard inside a name: only the name '*' matches all",
    "write name: {prefix}, pattern: prefixed",
)
ACL_STAR_FIRST = ACL_STAR.variant(advice="write one entry for each name, or name: '*' without pattern for all names")
ACL_STAR_PREFIXED = ACL_STAR.variant(
    message="with pattern: prefixed, a star is an ordinary character, which no name has",
    advice="remove pattern: the name '*' matches all names",
)
ACL_TOPIC = ProblemKind(
    "ACL_TOPIC",
    "no topic can have this name",
    "use at most 249 characters: letters, digits, . _ and -",
)
ACL_OPERATIONS_NONE = ProblemKind(
    "ACL_OPERATIONS_NONE",
    "the ACL has no operation: it allows and denies nothing",
    "name at least one operation, for example [READ]",
)
ACL_HOST = ProblemKind(
    "ACL_HOST",
    "Kafka compares this text with the address of the client",
    "write one address or '*', and restrict subnets in the firewall",
)


def matching(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of kafka_acls whose name, operations or host can never match."""
    hosts = names(model.brokers)
    for acl in model.present("kafka_acls"):
        variable, name = f"kafka_acls[{acl.get('principal')}]", str(acl.get("name") or "")
        if "*" in name and (acl.get("pattern") == "prefixed" or name != "*"):
            prefix = name.partition("*")[0]
            kind = ACL_STAR if prefix else ACL_STAR_PREFIXED if name == "*" else ACL_STAR_FIRST
            yield kind.problem(hosts, f"{variable}.name", name, prefix=prefix)
        elif (
            str(acl.get("resource")) == "topic"
            and name not in ("", "*")
            and not re.fullmatch(r"[\w.-]{1,249}", name, re.ASCII)
        ):
            yield ACL_TOPIC.problem(hosts, f"{variable}.name", name)
        if acl.get("operations") in ([], ()):
            yield ACL_OPERATIONS_NONE.problem(hosts, f"{variable}.operations")
        host = acl.get("host")
        if host not in (None, "*") and not is_address(host):
            yield ACL_HOST.problem(hosts, f"{variable}.host", host)


JOB_ACL = ProblemKind(
    "JOB_ACL",
    "User:{user} needs {operation} on {resource} {name}, but no ACL allows it",
    "grant it to User:{user} in kafka_users, or stop the job",
)
JOB_ACL_GRANT_LITERAL = JOB_ACL.variant(
    message="matches only the group {name}, but the groups of job {jobs} begin with this name: reads would be denied",
    advice="write {name}*",
)
JOB_ACL_LITERAL = JOB_ACL_GRANT_LITERAL.variant(advice="add pattern: prefixed")
JOB_ACL_OTHER_USER = JOB_ACL.variant(
    message="the job logs in as {user}, but {other_user} has the permissions that the job needs ({missing})",
    advice="log in as {other_user}: kafka_login('{other_user}')",
)
ACL_JOB_DENIED = ProblemKind(
    "ACL_JOB_DENIED",
    "denies {denied}: a denial overrides every permission",
    "narrow the denial, or stop the job",
)


def jobs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job whose user does not have a permission that the job needs.

    If the inventory has no ACLs, or brokers do not check them, yield nothing.
    """
    acls = model.acls
    if not acls or not model.brokers:
        return
    denials: dict[int, dict[str, list[str]]] = {}
    literal_groups: dict[tuple[ProblemKind, str, str], dict[str, None]] = {}
    admins = {name for name, _ in super_users(model.brokers[0])}
    users = {str(user.get("name")) for user in model.present("kafka_users")}
    for node in model.spark_nodes if admins else ():
        for job in active(node):
            user = job.user
            if user and f"User:{user}" not in admins and (user in users or not users):  # else reported as JOB_LOGIN
                unmet = list(_unmet(node, job, f"User:{user}", acls))
                missing = [_text(need) for need, denial in unmet if denial is None]
                others = {name for name in users - {user} if f"User:{name}" not in admins}
                if problem := _other_user(node, job, acls, others, missing):
                    yield problem
                    continue
                for need, denial in unmet:
                    if denial is not None:
                        denied_jobs = denials.setdefault(acls.index(denial), {})
                        denied_jobs.setdefault(f"job {job.name} {_text(need)}", []).append(node.name)
                    elif grant := _literal_group(model, user, need):
                        literal_groups.setdefault(grant, {})[f"{job.name} ({node.name})"] = None
                    else:
                        yield _missing(node, job, need, acls)
    for (kind, variable, name), readers in literal_groups.items():
        yield kind.problem(names(model.brokers), variable, name, name=name, jobs=list(readers))
    for number, jobs_denied in denials.items():
        denied = " and ".join(f"{need} ({', '.join(nodes)})" for need, nodes in jobs_denied.items())
        variable = f"kafka_acls[{acls[number].get('principal')}]"
        yield ACL_JOB_DENIED.problem(names(model.brokers), variable, denied=denied)


def _literal_group(model: Model, user: str, need: Need) -> tuple[ProblemKind, str, str] | None:
    """Return (kind of problem, place, name) of a grant or ACL that should be for a prefix of group names.

    A job may need a prefix, while the grant or ACL is for exactly this name. Return None if this is not the case.
    """
    operation, resource, name, pattern = need
    if resource != "group" or pattern != "prefixed":
        return None
    for entry in model.present("kafka_users"):
        for grant in grants_of(entry) if str(entry.get("name")) == user else ():
            if grant.get("consume") and name and name in listed(grant.get("group")):
                return JOB_ACL_GRANT_LITERAL, f"kafka_users[{user}].grants[consume].group", name
    for acl in model.present("kafka_acls"):
        same_name = covers(acl, operation, resource, name, "literal") and acl.get("name") == name
        if same_name and acl.get("principal") == f"User:{user}" and acl.get("permission") != "deny":
            return JOB_ACL_LITERAL, f"kafka_acls[User:{user}].name", name
    return None


def _text(need: Need) -> str:
    """Return a permission as text for a message, as "READ on group spark-kafka-source*"."""
    operation, resource, name, pattern = need
    return f"{operation} on {resource} {name}{'*' if pattern == 'prefixed' else ''}"


def _unmet(node: SparkNode, job: Job, principal: str, acls: Sequence[Acl]) -> Iterator[tuple[Need, Acl | None]]:
    """Yield (permission, ACL that denies it or None) for each permission that a job needs, but its user does not have.

    `principal` is that of the job's user. The first denial ends the list, because other permissions may be missing for
    the same reason.
    """
    addresses = [str(address) for address in node.addresses]
    acls_of_user = [acl for acl in acls if acl.get("principal") in (principal, "User:*")]
    for operation, resource, name, pattern in needs(job):
        fitting = [
            acl
            for acl in acls_of_user
            if covers(acl, operation, resource, name, pattern) and acl.get("host") in (None, "*", *addresses)
        ]
        denial = next((acl for acl in fitting if acl.get("permission") == "deny"), None)
        if denial is not None or not fitting:
            yield (operation, resource, name, pattern), denial
        if denial is not None:
            return


def _other_user(
    node: SparkNode, job: Job, acls: Sequence[Acl], others: Collection[str], missing: Sequence[str]
) -> Problem | None:
    """Return the problem of a job that logs in as the wrong user, while another user has its permissions; else None.

    The other user has the name of the job, or is the only one with all permissions while the job's user has none.
    Permissions for all topics or groups do not count: a job should not log in as such a user.
    Nothing is reported if the job's user has no ACL in the inventory: its ACLs may be managed elsewhere.
    """
    if not missing or _managed_elsewhere(f"User:{job.user}", acls):
        return None
    narrow = [acl for acl in acls if acl.get("permission") == "deny" or acl.get("name") != "*"]
    able = [user for user in sorted(others) if not any(_unmet(node, job, f"User:{user}", narrow))]
    candidates = [user for user in able if user in (job.name, job.kind)] or (
        able if len(able) == 1 and len(missing) == len(list(needs(job))) else []
    )
    if not candidates:
        return None
    variable = f"{job.variable}.config.kafka"
    return node.report(JOB_ACL_OTHER_USER, variable, user=job.user, other_user=candidates[0], missing=missing)


def _missing(node: SparkNode, job: Job, need: Need, acls: Sequence[Acl]) -> Problem:
    operation, resource, name, pattern = need
    return node.report(
        JOB_ACL,
        job.variable,
        warning=_managed_elsewhere(f"User:{job.user}", acls),
        user=job.user,
        operation=operation,
        resource=resource,
        name=f"{name}*" if pattern == "prefixed" else name,
    )


def _managed_elsewhere(principal: str, acls: Sequence[Acl]) -> bool:
    """Tell whether the inventory has no ACL of a principal, so that the principal's ACLs may be managed elsewhere."""
    return not any(acl.get("principal") == principal for acl in acls)


def needs(job: Job) -> Iterator[Need]:
    """Yield the permissions that a job needs, each as (operation, resource type, resource name, pattern).

    The pattern is "literal", or "prefixed" if the resource name is a prefix.
    """
    for topic in job.reads:
        yield "READ", "topic", topic, "literal"
    if job.reads and job.uses.spark:
        group = job.kafka.get("group.id")
        yield "READ", "group", str(group or SPARK_GROUP), "literal" if group else "prefixed"
        if job.config.get("group"):  # the group to which the job commits its offsets, for lag tools
            yield "READ", "group", str(job.config["group"]), "literal"
    for name in (*job.dead_letters, *job.writes):
        yield "WRITE", "topic", name, "literal"


def covers(acl: Acl, operation: str, resource: str, name: str, pattern: str) -> bool:
    """Tell whether an ACL, which allows or denies, applies to an operation on a resource.

    `resource` is its type, `name` its name. If `pattern` is "prefixed", `name` is a prefix, and the ACL must apply to
    all names with this prefix. An ACL that denies also applies if it covers only some of these names.
    """
    given = acl.get("operations")
    operations = {str(item).upper() for item in given} if isinstance(given, (list, tuple)) else set()
    if acl.get("resource") != resource or not operations & {operation, "ALL"}:
        return False
    acl_name = str(acl.get("name") or "")
    if acl.get("pattern") == "prefixed":
        return name.startswith(acl_name) or (
            pattern == "prefixed" and acl.get("permission") == "deny" and acl_name.startswith(name)
        )
    return acl_name == "*" or (acl_name == name and pattern == "literal")
