"""Rules on what ACLs come to: names that match something, and jobs that may do their work."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import (
    READ_BACK,
    active,
    dead_letters,
    end,
    reads,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import grants_of, listed

Acl = Mapping[str, Any]
# What begins the groups that Spark makes up for its queries.
SPARK_GROUP = "spark-kafka-source"
Need = tuple[str, str, str, str]
"""Operation, kind of resource, its name, and `literal` or `prefixed`: names that begin so."""


def matching(model: Model) -> Iterator[Problem]:
    """Names of ACLs are such as something can have."""
    for acl in model.present("kafka_acls"):
        who, name, kind = f"kafka_acls[{acl.get('principal')}]", str(acl.get("name") or ""), str(acl.get("resource"))
        prefixed = acl.get("pattern") == "prefixed"
        where = names(model.brokers)
        if "*" in name and (prefixed or name != "*"):
            wrong = "a star is a star here: only a name of that one sign means all of them"
            begin = name.partition("*")[0]
            advice = f"write name: {begin}, pattern: prefixed" if begin else "write name: '*' without pattern"
            yield Problem(where, f"{who}.name", "ACL_STAR", name, wrong, advice)
        elif kind == "topic" and name not in ("", "*") and not re.fullmatch(r"[\w.-]{1,249}", name, re.ASCII):
            wrong, advice = "no topic has such a name", "use letters, figures, . _ and - alone"
            yield Problem(where, f"{who}.name", "ACL_TOPIC", name, wrong, advice)
        if acl.get("operations") in ([], ()):
            wrong = "no operation: it allows and denies nothing"
            yield Problem(where, f"{who}.operations", "ACL_OPERATIONS_NONE", None, wrong, "name some, as [READ]")
        host = acl.get("host")
        if host not in (None, "*") and not is_address(host):
            wrong = "Kafka compares the address that a client comes from, as a text"
            advice = "write one address, or '*': subnets are the firewall's"
            yield Problem(where, f"{who}.host", "ACL_HOST", host, wrong, advice)


def jobs(model: Model) -> Iterator[Problem]:
    """A job may do what it has to, where the cluster asks ACLs and the inventory says them."""
    acls = model.acls
    if not acls or not model.brokers:
        return
    denials: dict[int, dict[str, list[str]]] = {}
    starless: dict[tuple[str, str, str], dict[str, None]] = {}
    almighty = {name for name, _ in super_users(model.brokers[0])}
    users = {str(user.get("name")) for user in model.present("kafka_users")}
    for node in model.spark_nodes if almighty else ():
        for job in active(node):
            user = job.user
            if user and f"User:{user}" not in almighty and (user in users or not users):  # else said as JOB_LOGIN
                unmet = list(_unmet(node, job, f"User:{user}", acls))
                lacking = [_text(need) for need, denied in unmet if denied is None]
                if other := _meant(node, job, acls, users - {user}, lacking):
                    yield other
                    continue
                for need, denied in unmet:
                    if denied is not None:
                        told = denials.setdefault(acls.index(denied), {})
                        told.setdefault(f"job {job.name} {_text(need)}", []).append(node.name)
                    elif grant := _starless(model, user, need):
                        starless.setdefault(grant, {})[f"{job.name} ({node.name})"] = None
                    else:
                        yield _lacking(node, job, f"User:{user}", _text(need), acls)
    for (place, name, advice), readers in starless.items():
        wrong = f"one group of this name, and those of job {', '.join(readers)} only begin so: reading would be denied"
        yield Problem(names(model.brokers), place, "JOB_ACL", name, wrong, advice)
    for number, jobs_denied in denials.items():
        told_of = "; ".join(f"{what} ({', '.join(nodes)})" for what, nodes in jobs_denied.items())
        wrong, advice = f"denies {told_of}: it goes before any permission", "narrow the denial, or stop the job"
        variable = f"kafka_acls[{acls[number].get('principal')}]"
        yield Problem(names(model.brokers), variable, "ACL_JOB_DENIED", None, wrong, advice)


def _starless(model: Model, user: str, need: Need) -> tuple[str, str, str] | None:
    """Return the grant or ACL that lacks a star alone to be what a job needs, its name and what to write."""
    operation, kind, name, pattern = need
    if kind != "group" or pattern != "prefixed":
        return None
    for one in model.present("kafka_users"):
        for grant in grants_of(one) if str(one.get("name")) == user else ():
            if grant.get("consume") and (given := next((own for own in listed(grant.get("group")) if own == name), "")):
                return f"kafka_users[{user}].grants[consume].group", given, f"write {name}*"
    for acl in model.present("kafka_acls"):
        alike = covers(acl, operation, kind, name, "literal") and acl.get("name") == name
        if alike and acl.get("principal") == f"User:{user}" and acl.get("permission") != "deny":
            return f"kafka_acls[User:{user}].name", name, "write pattern: prefixed beside it"
    return None


def _text(need: Need) -> str:
    operation, kind, name, pattern = need
    return f"{operation} on {kind} {name}{'*' if pattern == 'prefixed' else ''}"


def _unmet(node: SparkNode, job: Job, principal: str, acls: Sequence[Acl]) -> Iterator[tuple[Need, Acl | None]]:
    """Yield what a job needs and may not do, each with what denies it: then the last, for the others follow from it."""
    addresses = [str(address) for address in node.addresses]
    own = [acl for acl in acls if acl.get("principal") in (principal, "User:*")]
    for operation, kind, name, pattern in needs(job):
        fitting = [
            acl
            for acl in own
            if covers(acl, operation, kind, name, pattern) and acl.get("host") in (None, "*", *addresses)
        ]
        denied = next((acl for acl in fitting if acl.get("permission") == "deny"), None)
        if denied is not None or not fitting:
            yield (operation, kind, name, pattern), denied
        if denied is not None:
            return


def _meant(
    node: SparkNode, job: Job, acls: Sequence[Acl], others: Collection[str], lacking: Sequence[str]
) -> Problem | None:
    """Return what is said of a job that logs in as somebody else than the user who has its rights.

    That is one of the job's name, or the only one who may all that it needs, where its own may nothing of it. Of whom
    nothing is said here may have his rights from elsewhere.
    """
    if not lacking or _elsewhere(f"User:{job.user}", acls):
        return None
    able = [user for user in sorted(others) if not any(_unmet(node, job, f"User:{user}", acls))]
    meant = [user for user in able if user in (job.name, job.kind)] or (
        able if len(able) == 1 and len(lacking) == len(list(needs(job))) else []
    )
    if not meant:
        return None
    wrong = f"it logs in as {job.user}, and what it needs ({', '.join(lacking)}) {meant[0]} may do"
    advice = f"log in as {meant[0]}, as by kafka_login('{meant[0]}')"
    return node.problem(f"{job.variable}.config.kafka", "JOB_ACL", None, wrong, advice)


def _lacking(node: SparkNode, job: Job, principal: str, what: str, acls: Sequence[Acl]) -> Problem:
    wrong = f"{principal} needs {what}, and no ACL allows it"
    advice = f"grant it to {principal} in kafka_users, or stop the job"
    return node.problem(job.variable, "JOB_ACL", None, wrong, advice, warning=_elsewhere(principal, acls))


def _elsewhere(principal: str, acls: Sequence[Acl]) -> bool:
    return not any(acl.get("principal") == principal for acl in acls)  # nothing of it is said here


def needs(job: Job) -> Iterator[Need]:
    """Yield what a job has to be allowed."""
    topics, sink = reads(job), end(job, "output")
    for topic in topics:
        yield "READ", "topic", topic, "literal"
    if topics and job.kind not in READ_BACK:
        group = job.kafka.get("group.id")
        yield "READ", "group", str(group or SPARK_GROUP), "literal" if group else "prefixed"
        if job.config.get("group"):  # to which it commits, for lag tools
            yield "READ", "group", str(job.config["group"]), "literal"
        for name in dead_letters(job):
            yield "WRITE", "topic", name, "literal"
    if sink and sink[0] == "topic":
        yield "WRITE", "topic", sink[1], "literal"


def covers(acl: Acl, operation: str, kind: str, name: str, pattern: str) -> bool:
    """Tell whether an ACL is about an operation on names of a kind; a denial also where it is about some of them."""
    given = acl.get("operations")
    said = {str(item).upper() for item in given} if isinstance(given, (list, tuple)) else set()
    if acl.get("resource") != kind or not said & {operation, "ALL"}:
        return False
    own = str(acl.get("name") or "")
    if acl.get("pattern") == "prefixed":
        return name.startswith(own) or (
            pattern == "prefixed" and acl.get("permission") == "deny" and own.startswith(name)
        )
    return own == "*" or (own == name and pattern == "literal")
