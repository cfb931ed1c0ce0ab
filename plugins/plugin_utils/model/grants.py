"""Checks the grants in kafka_users: each is complete, is for a single principal, and names declared topics only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.bootstrap import uses_another_cluster
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import active
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.permissions import ACL_TOPIC, covers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.principals import admin_principals
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topics import STATE_TOPIC, TOPIC_STATE, VALID_NAME
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import typo_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import inside, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import (
    VERBS,
    acls_of_grant,
    grants_of,
    listed,
    principal_of,
    verbs_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

# Keys that accompany a verb in a grant, each with the verbs that use it.
BESIDE = {
    "group": ("consume",),
    "topics": ("connect", "exporter", "mirror_maker"),
    "groups": ("mirror_maker",),
    "source": ("mirror_maker",),
    "canary": ("exporter",),
}
# Keys whose values are topics that kafka_topics has to declare, and all keys whose values are topics or prefixes.
DECLARED = ("produce", "consume", "topics", "canary")
OF_TOPICS = (*DECLARED, "streams", "source")
# Keys that take one name: other names are derived from it, or the canary writes to it.
PLAIN = ("streams", "connect", "source", "canary")
LISTS = ("produce", "consume", "topics", "groups")
# The name of the topic in which workers of Connect keep their configurations.
CONFIGS = re.compile(r"(?<![a-z])configs?(?![a-z])", re.IGNORECASE)
CONNECT = 3  # topics of a group of Connect workers: configurations, offsets, status
PlacedGrant = tuple[str, Mapping[str, Any]]
"""(place of a grant in the inventory, the grant)."""


def _grants(model: Model) -> Iterator[PlacedGrant]:
    """Yield (place, grant) for every grant of present users; a place is kafka_users[alice].grants[produce]."""
    for user in model.present("kafka_users"):
        for number, grant in enumerate(grants_of(user)):
            verb = next(iter(verbs_of(grant)), number)
            yield f"kafka_users[{user.get('name')}].grants[{verb}]", grant


USER_PREFIX = ProblemKind(
    "USER_PREFIX",
    "the principal in ACLs would be {principal}",
    "remove the type from the name, for example orders",
)
USER_PREFIX_STAR = USER_PREFIX.variant(advice="set the name of one user (for all users: kafka_acls with User:*)")
USER_PREFIX_ANONYMOUS = USER_PREFIX.variant(
    message="Kafka gives this name to clients that do not log in: every client that can connect has these grants",
    advice="name the users (for clients without a login: kafka_acls with User:ANONYMOUS)",
)
USER_NEEDED = ProblemKind(
    "USER_NEEDED",
    "this super user would be deleted",
    "remove the entry, or remove the name from kafka_super_users first to delete the user",
)
USER_NEEDED_ADMIN = USER_NEEDED.variant(message="the user of the control node would be deleted")
USER_CREDENTIAL = ProblemKind(
    "USER_CREDENTIAL",
    "set for a user with credential: false, which means that the user has no password",
    "remove it, or remove credential",
)


def users(model: Model) -> Iterator[Problem]:
    """Yield a problem for each user in kafka_users whose name does not represent exactly one principal.

    Examples are ANONYMOUS, names with a star, and names that begin with "User:".
    Also yield a problem for a user with state absent that the cluster needs, or with credential: false and a password.
    """
    hosts = names(model.brokers)
    for user in model.cluster_entries("kafka_users"):
        name = str(user.get("name"))
        variable = f"kafka_users[{name}]"
        if name == "ANONYMOUS" and user.get("state") != "absent":
            yield USER_PREFIX_ANONYMOUS.problem(hosts, f"{variable}.name", name)
        prefixed = name.lower().startswith("user:")
        if prefixed or "*" in name:
            kind = USER_PREFIX if prefixed else USER_PREFIX_STAR
            yield kind.problem(hosts, f"{variable}.name", name, principal=principal_of(user))
        if user.get("state") == "absent" and (needed := _needed(model, principal_of(user))):
            yield needed.problem(hosts, f"{variable}.state", "absent")
        if switch(user.get("credential")) is False:
            key = next(
                (key for key in ("password", "mechanism", "iterations", "generation") if user.get(key) is not None),
                None,
            )
            if key:
                yield USER_CREDENTIAL.problem(hosts, f"{variable}.{key}")


def _needed(model: Model, principal: str) -> ProblemKind | None:
    """Return the kind of problem if `principal` is a super user or that of the control node, else None."""
    for broker in model.brokers:
        if principal in {*broker.super_users} | {name for name, _ in super_users(broker)}:
            return USER_NEEDED
        if principal in admin_principals(model, broker):
            return USER_NEEDED_ADMIN
    return None


GRANT_VERBS = ProblemKind(
    "GRANT_VERBS",
    "the grant has several verbs: {verbs}",
    "use one of {known_verbs} in each grant",
)
GRANT_VERBS_NONE = GRANT_VERBS.variant(message="the grant has no verb")
GRANT_BESIDE = ProblemKind(
    "GRANT_BESIDE",
    "has no effect in a grant of {verb}",
    "use it in a grant of {verbs}",
)
GRANT_BESIDE_TYPO = GRANT_BESIDE.variant(advice="did you mean {near}: {values}?")
GRANT_BESIDE_EACH = GRANT_BESIDE.variant(advice="write one grant of {verb} for each of {values}: {near} takes one name")
GRANT_LACKS = ProblemKind(
    "GRANT_LACKS",
    "the grant has no group, but consumers join a consumer group: Kafka would reject them",
    "add group, for example group: orders-reader",
)
GRANT_LACKS_TOPICS = GRANT_LACKS.variant(
    message="the grant has no topics, but Connect workers keep configurations, offsets and status in three topics",
    advice="add topics with the names of these three topics",
)
GRANT_LACKS_SOURCE = GRANT_LACKS.variant(
    message="the grant has no source, but mirrored topics start with the alias of the other cluster",
    advice="add source with this alias, for example source: dc2",
)
GRANT_OWN_ALIAS = ProblemKind(
    "GRANT_OWN_ALIAS",
    "the datacenter of this cluster, but source must be the alias of the cluster from which topics are mirrored",
    "write the alias of the other cluster, or keep it if that alias is the same",
    warning=True,
)
GRANT_EMPTY = ProblemKind(
    "GRANT_EMPTY",
    "the grant names no resource, so that no ACL results",
    "name at least one, for example {{produce: [orders]}}, or remove the grant",
)


def complete(model: Model) -> Iterator[Problem]:
    """Yield a problem for each grant that is incomplete.

    A grant has exactly one verb (such as `produce`), and the keys that this verb requires. Also yield a problem for
    each key that has no effect with the verb.
    """
    hosts = names(model.brokers)
    for place, grant in _grants(model):
        verbs, beside = verbs_of(grant), [key for key in BESIDE if grant.get(key) is not None]
        useless = next((key for key in beside if not set(BESIDE[key]) & set(verbs)), None)
        if len(verbs) != 1:
            kind = GRANT_VERBS if verbs else GRANT_VERBS_NONE
            yield kind.problem(hosts, place, verbs=verbs, known_verbs=list(VERBS))
        elif useless:
            usable = [key for key, others in BESIDE.items() if verbs[0] in others and grant.get(key) is None]
            near, given = nearest(useless, usable), listed(grant[useless])
            values = f"[{', '.join(given)}]" if near in LISTS else ", ".join(given)
            several = near is not None and near not in LISTS and len(given) != 1
            kind = GRANT_BESIDE_EACH if several else GRANT_BESIDE_TYPO if near else GRANT_BESIDE
            yield kind.problem(
                hosts, place, useless, verb=verbs[0], verbs=" or ".join(BESIDE[useless]), near=near, values=values
            )
        elif missing := _missing(grant, verbs[0]):
            yield missing.problem(hosts, place)
        elif grant.get("mirror_maker") and str(grant.get("source")) in _own_datacenter(model):
            yield GRANT_OWN_ALIAS.problem(hosts, f"{place}.source", grant["source"])
        elif not any(True for _ in acls_of_grant(grant)):
            yield GRANT_EMPTY.problem(hosts, place)
        yield from _names(hosts, place, grant)


def _own_datacenter(model: Model) -> set[str]:
    """Return {datacenter of the brokers}; an empty set if the brokers are in several datacenters."""
    datacenters = {str(broker.datacenter) for broker in model.brokers}
    return datacenters if len(datacenters) == 1 else set()


def _missing(grant: Mapping[str, Any], verb: str) -> ProblemKind | None:
    """Return the kind of problem if a grant has no key that its verb requires, as group for consume; else None."""
    if verb == "consume" and not grant.get("group"):
        return GRANT_LACKS
    if verb == "connect" and not listed(grant.get("topics")):
        return GRANT_LACKS_TOPICS
    if grant.get("mirror_maker") == "target" and not grant.get("source"):
        return GRANT_LACKS_SOURCE
    return None


GRANT_STAR = ProblemKind(
    "GRANT_STAR",
    "a star is a wildcard only at the end of a name",
    "write the prefix of the names and a star, for example orders-*",
)
GRANT_STAR_PLAIN = GRANT_STAR.variant(
    message="must be one name without a star: other names are derived from this name",
    advice="write one name",
)

GRANT_STAR_CANARY = GRANT_STAR_PLAIN.variant(message="must be one name without a star: a canary writes to one topic")


def _names(hosts: tuple[str, ...], place: str, grant: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each name in a grant with a star in the wrong place, or with which no topic can exist.

    `place` is the grant's place in the inventory, for the message.
    """
    for key in (*VERBS, *BESIDE):
        plain = key in PLAIN
        for name in listed(grant.get(key)) if key != "exporter" else ():
            if not name.strip() or "*" in (name if plain else name[:-1]):
                kind = GRANT_STAR_CANARY if key == "canary" else GRANT_STAR_PLAIN if plain else GRANT_STAR
                yield kind.problem(hosts, f"{place}.{key}", name)
            elif key in OF_TOPICS and name != "*" and not VALID_NAME.fullmatch(name.removesuffix("*")):
                yield ACL_TOPIC.problem(hosts, f"{place}.{key}", name)


UNDECLARED, DECLARE = "kafka_topics does not declare this topic", "declare it (manage: false if others create it)"
TYPO = f"did you mean {{near}}? Otherwise {DECLARE}"
GRANT_TOPIC = ProblemKind("GRANT_TOPIC", UNDECLARED, f"{DECLARE}, or correct the name")
GRANT_TOPIC_TYPO = GRANT_TOPIC.variant(advice=TYPO)
ACL_UNKNOWN_TOPIC = ProblemKind("ACL_UNKNOWN_TOPIC", UNDECLARED, f"{DECLARE}, or correct the name")
ACL_UNKNOWN_TOPIC_TYPO = ACL_UNKNOWN_TOPIC.variant(advice=TYPO)
JOB_TOPIC = ProblemKind("JOB_TOPIC", UNDECLARED, f"{DECLARE}, or correct the name")
JOB_TOPIC_TYPO = JOB_TOPIC.variant(advice=TYPO)
JOB_TOPIC_DEFAULT = JOB_TOPIC.variant(
    message="this is the job's default topic, and kafka_topics does not declare it",
    advice=f"{DECLARE}, or set {{key}} of the job to a declared topic",
)
TOPIC_NEEDED = ProblemKind(
    "TOPIC_NEEDED",
    "used by job {jobs}, but a run would delete this topic",
    "stop the job, or keep the topic",
)


def topics(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic in a grant, an ACL or a Spark job that kafka_topics does not declare.

    If kafka_topics declares no topic at all, yield nothing.
    """
    known = [topic.name for topic in topics_of(model) if topic.entry.get("state") != "absent"]
    hosts = names(model.brokers)
    if not known:
        return
    mirrors = [grant for _, grant in _grants(model) if grant.get("mirror_maker") == "target"]
    mirrored = tuple(f"{alias}." for grant in mirrors for alias in listed(grant.get("source")) if alias)
    for place, grant in _grants(model):
        for key in DECLARED:
            valid = (
                name for name in listed(grant.get(key)) if name == "*" or VALID_NAME.fullmatch(name.removesuffix("*"))
            )
            unknown = (name for name in valid if not _declared(name, known) and not name.startswith(mirrored))
            for name in unknown:
                alias = next((alias for alias in mirrored if re.match(rf"{re.escape(alias[:-1])}[-_]", name)), None)
                if alias and not typo_of(name, known):
                    near = f"{alias}{name[len(alias) :]}"
                    yield GRANT_TOPIC_TYPO.problem(hosts, f"{place}.{key}", name, warning=True, near=near)
                else:
                    yield _undeclared(hosts, f"{place}.{key}", (GRANT_TOPIC, GRANT_TOPIC_TYPO), name, known)
    for entry in model.present("kafka_acls"):
        name, prefixed = str(entry.get("name") or ""), entry.get("pattern") == "prefixed"
        exists = not VALID_NAME.fullmatch(name) or any(
            topic.startswith(name) if prefixed else topic == name for topic in known
        )
        if entry.get("resource") == "topic" and entry.get("permission") != "deny" and not exists:
            kinds = (ACL_UNKNOWN_TOPIC, ACL_UNKNOWN_TOPIC_TYPO)
            yield _undeclared(hosts, f"kafka_acls[{entry.get('principal')}].name", kinds, name, known)
    yield from _topics_of_jobs(model, known)


def _topics_of_jobs(model: Model, known: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each topic of a Spark job that is not declared, or is to be deleted.

    Jobs whose bootstrap.servers are of another cluster are skipped.

    `known` has the names of all declared topics that are not absent.
    """
    absent = {topic.name for topic in topics_of(model) if topic.managed} - set(known)
    needed: dict[str, dict[str, None]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            if uses_another_cluster(model, node, job):
                continue
            for name, key in {**job.uses.dead_letters, **job.uses.writes, **job.uses.reads}.items():
                if name in absent:
                    needed.setdefault(name, {})[job.name] = None
                elif name not in known:
                    variable = f"{job.variable}.config.{key}"
                    kinds = (JOB_TOPIC, JOB_TOPIC_TYPO) if key in job.config else (JOB_TOPIC_DEFAULT,) * 2
                    yield _undeclared((node.name,), variable, kinds, name, known, key=key)
    for name, jobs in needed.items():
        yield TOPIC_NEEDED.problem(names(model.brokers), f"kafka_topics[{name}]", "absent", jobs=list(jobs))


def _declared(name: str, known: Sequence[str]) -> bool:
    return any(topic.startswith(name[:-1]) if name.endswith("*") else topic == name for topic in known)


def _undeclared(
    hosts: tuple[str, ...],
    variable: str,
    kinds: tuple[ProblemKind, ProblemKind],
    name: str,
    known: Sequence[str],
    **details: Any,
) -> Problem:
    """Return the problem of a topic that is not declared: an error if `name` is a typo of a declared topic.

    Otherwise the problem is a warning. `kinds` are (kind for an unknown name, kind for a typo): twice the same if the
    job has the name by default. `details` fill further placeholders of their messages.
    """
    unknown, typo = kinds
    near = typo_of(name, known) if typo is not unknown else ""
    return (typo if near else unknown).problem(hosts, variable, name, warning=not near, near=near, **details)


TOPIC_STATE_CONNECT_POLICY = TOPIC_STATE.variant(
    message="cleanup.policy is {policy}, but Connect workers do not start with it ({grant})",
    advice="declare it with profile: compacted_state",
)
TOPIC_STATE_CONNECT_CONFIGS = TOPIC_STATE.variant(
    message="Connect keeps its configurations in this topic ({grant}): its workers do not start if the topic has "
    "more than one partition",
    advice="declare it with partitions: 1",
)
TOPIC_STATE_CONNECT_DEFAULT = TOPIC_STATE.variant(
    message="Connect keeps its configurations in this topic ({grant}): its workers do not start if the topic has "
    "more than one partition, but {default} sets {partitions}",
    advice="declare partitions: 1 for this topic",
)
TOPIC_STATE_CONNECT_PARTITIONS = TOPIC_STATE.variant(
    message="none of these topics has one partition: Connect workers do not start unless the topic of their "
    "configurations has one",
    advice="declare the topic of configurations with partitions: 1",
)


def states(model: Model) -> Iterator[Problem]:
    """Yield a problem for each wrongly declared topic in which Kafka Connect workers keep their state.

    Each such topic must have `cleanup.policy: compact`. The topic of the connector configurations must have one
    partition.
    """
    declared, hosts = {topic.name: topic for topic in topics_of(model) if topic.present}, names(model.brokers)
    for place, grant in _grants(model):
        if not grant.get("connect"):
            continue
        states = [declared[name] for name in listed(grant.get("topics")) if name in declared]
        known = [topic for topic in states if STATE_TOPIC.fullmatch(topic.name)]  # judged by topics.topic_names
        for topic in states:
            if topic.policy != {"compact"} and topic not in known:
                policy = sorted(topic.policy)
                yield TOPIC_STATE_CONNECT_POLICY.problem(hosts, topic.variable, policy=policy, grant=place)
        many = [topic for topic in states if topic.get("partitions") is not None]
        many = [topic for topic in many if whole(topic.get("partitions")) != 1]
        configs = [topic for topic in states if CONFIGS.search(topic.name)]
        if known or len(states) != CONNECT:
            continue
        if len(configs) == 1 and configs[0] in many:
            source, number = configs[0].place("partitions"), configs[0].get("partitions")
            variable = configs[0].own_place(source)
            is_own = variable == source
            kind = TOPIC_STATE_CONNECT_CONFIGS if is_own else TOPIC_STATE_CONNECT_DEFAULT
            value = number if is_own else None
            yield kind.problem(hosts, variable, value, grant=place, default=source, partitions=number)
        elif len(many) == CONNECT:
            value = ", ".join(topic.name for topic in states)
            yield TOPIC_STATE_CONNECT_PARTITIONS.problem(hosts, f"{place}.topics", value)


def _from_admin(broker: Broker, host: Any) -> bool:
    """Tell whether an ACL with this `host` applies to connections from the control node.

    The control node's addresses are those in firewall_extra_sources.
    """
    sources = listed(broker.inputs.mapping("firewall_extra_sources").get("admin"))
    return host in (None, "*") or any(inside(host, source) for source in sources)


ADMIN_LOCKED_OUT = ProblemKind(
    "ADMIN_LOCKED_OUT",
    "{principal} is not allowed ALTER on the cluster and is no super user: the control node could change no ACL",
    "name {principal} in kafka_super_users",
)
ADMIN_LOCKED_OUT_DENIED = ADMIN_LOCKED_OUT.variant(
    message="{principal} is denied ALTER on the cluster and is no super user: the control node could change no ACL",
)


def administration(model: Model) -> Iterator[Problem]:
    """Yield a problem if the declared ACLs would prevent the control node from changing ACLs.

    The control node's user must be allowed ALTER on the cluster, or be a super user.
    """
    for broker in model.brokers[:1]:
        # A kafka_config that differs from the role's input is reported as PROPERTY_TWICE.
        admins = {*broker.super_users} or {name for name, _ in super_users(broker)}
        for principal in sorted(admin_principals(model, broker) - admins) if admins else ():
            acls = [entry for entry in model.acls if entry.get("principal") in (principal, "User:*")]
            fitting = [
                entry
                for entry in acls
                if covers(entry, "ALTER", "cluster", "", "literal") and _from_admin(broker, entry.get("host"))
            ]
            allowed = [entry for entry in fitting if entry.get("permission") != "deny"]
            if len(allowed) == len(fitting) > 0:
                continue
            denied = len(allowed) < len(fitting)
            kind = ADMIN_LOCKED_OUT_DENIED if denied else ADMIN_LOCKED_OUT
            variable = "kafka_acls" if denied else "kafka_super_users"
            yield kind.problem(names(model.brokers), variable, principal=principal)
