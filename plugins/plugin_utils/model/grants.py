"""Rules on users and what they are granted: whole, meant for somebody, about something that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import active, end
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.permissions import covers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.principals import admin_principals
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topics import KEPT, NAME
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import slip
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import inside
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole as whole_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import (
    VERBS,
    acls_of_grant,
    grants_of,
    listed,
    principal_of,
    verbs_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

# What stands beside a verb, and beside which.
BESIDE = {
    "group": ("consume",),
    "topics": ("connect", "mirror_maker"),
    "groups": ("mirror_maker",),
    "source": ("mirror_maker",),
}
# What names topics, or what their names begin with; those of the first are declared.
DECLARED = ("produce", "consume", "topics")
OF_TOPICS = (*DECLARED, "streams", "source")
# One name each, of which others are made.
PLAIN = ("streams", "connect", "source")
LISTS = (*DECLARED, "groups")
CONFIGS = re.compile(r"(?<![a-z])configs?(?![a-z])", re.IGNORECASE)  # how the first of them is called
DECLARE = "declare it (manage: false if others make it)"
CONNECT = 3  # topics of a group of workers: configurations, offsets, status
Found = tuple[str, Mapping[str, Any]]


def _grants(model: Model) -> Iterator[Found]:
    """Yield every grant of users that are there, with its place."""
    for user in model.present("kafka_users"):
        for number, grant in enumerate(grants_of(user)):
            verb = next(iter(verbs_of(grant)), number)
            yield f"kafka_users[{user.get('name')}].grants[{verb}]", grant


def users(model: Model) -> Iterator[Problem]:
    """A user's name is that of one principal, and a credential is there or not."""
    where = names(model.brokers)
    for user in model.told("kafka_users"):
        name = str(user.get("name"))
        place = f"kafka_users[{name}]"
        if name == "ANONYMOUS" and user.get("state") != "absent":
            wrong = "who logs in to nothing is called so: what is granted here everybody has who can connect"
            advice = "name the users who are meant; kafka_acls can name User:ANONYMOUS"
            yield Problem(where, f"{place}.name", "USER_PREFIX", name, wrong, advice)
        if name.startswith("User:") or "*" in name:
            wrong = f"ACLs would speak of {principal_of(user)}"
            advice = "leave User: out" if name.startswith("User:") else "name one user; kafka_acls can name User:*"
            yield Problem(where, f"{place}.name", "USER_PREFIX", name, wrong, advice)
        if user.get("state") == "absent" and (why := _needed(model, principal_of(user))):
            wrong, advice = (
                f"{why}, and would be taken away",
                "take the entry out, and the name out of kafka_super_users first if the user is to go",
            )
            yield Problem(where, f"{place}.state", "USER_NEEDED", "absent", wrong, advice)
        if switch(user.get("credential")) is False:
            given = next(
                (key for key in ("password", "mechanism", "iterations", "generation") if user.get(key) is not None),
                None,
            )
            if given:
                wrong = "credential: false says that there is no password"
                yield Problem(where, f"{place}.{given}", "USER_CREDENTIAL", None, wrong, "keep one of the two")


def _needed(model: Model, principal: str) -> str | None:
    """Return why the cluster cannot do without a user; None where it can."""
    for broker in model.brokers:
        if principal in {*broker.super_users} | {name for name, _ in super_users(broker)}:
            return "a super user"
        if principal in admin_principals(model, broker):
            return "the control node's own user"
    return None


def whole(model: Model) -> Iterator[Problem]:
    """Every grant says one thing, and all that belongs to it."""
    where = names(model.brokers)
    for place, grant in _grants(model):
        verbs, beside = verbs_of(grant), [key for key in BESIDE if grant.get(key) is not None]
        lost = next((key for key in beside if not set(BESIDE[key]) & set(verbs)), None)
        if len(verbs) != 1:
            wrong = f"says {' and '.join(verbs)}" if verbs else "says nothing that is granted"
            advice = f"one of {', '.join(VERBS)} in each grant"
            yield Problem(where, place, "GRANT_VERBS", None, wrong, advice)
        elif lost:
            advice = f"it stands beside {' or '.join(BESIDE[lost])}"
            beside_it = [key for key, others in BESIDE.items() if verbs[0] in others and grant.get(key) is None]
            if near := nearest(lost, beside_it):
                advice = f"did you mean {near}: {', '.join(listed(grant[lost]))}?"
            yield Problem(where, place, "GRANT_BESIDE", lost, f"does nothing beside {verbs[0]}", advice)
        elif lacking := _lacking(grant, verbs[0]):
            key, wrong = lacking
            yield Problem(where, place, "GRANT_LACKS", None, wrong, f"add {key}")
        elif grant.get("mirror_maker") and str(grant.get("source")) in _own(model):
            alias, wrong = grant["source"], "the datacenter of this cluster itself: a mirror names the other one"
            advice = "write the alias of the other cluster, or leave it if that is called so"
            yield Problem(where, f"{place}.source", "GRANT_OWN_ALIAS", alias, wrong, advice, warning=True)
        elif not any(True for _ in acls_of_grant(grant)):
            wrong = "comes to no ACL"
            yield Problem(where, place, "GRANT_EMPTY", None, wrong, "name something, or take it out")
        yield from _starred(where, place, grant)


def _own(model: Model) -> set[str]:
    """Return the datacenter of a cluster that has one."""
    found = {str(broker.datacenter) for broker in model.brokers}
    return found if len(found) == 1 else set()


def _lacking(grant: Mapping[str, Any], verb: str) -> tuple[str, str] | None:
    """Return what a grant lacks, and why that matters."""
    if verb == "consume" and not grant.get("group"):
        return "group", "consumers join a group, and would be refused"
    if verb == "connect" and not listed(grant.get("topics")):
        return "topics", "workers keep configurations, offsets and status in three topics"
    if grant.get("mirror_maker") == "target" and not grant.get("source"):
        return "source", "mirrored topics begin with the alias of the other cluster"
    return None


def _starred(where: tuple[str, ...], place: str, grant: Mapping[str, Any]) -> Iterator[Problem]:
    """A star stands at the end, and applications have plain names."""
    for key in (*VERBS, *BESIDE):
        plain = key in PLAIN
        for name in listed(grant.get(key)) if key != "exporter" else ():
            if not name.strip() or "*" in (name if plain else name[:-1]):
                wrong = "one name, of which others are made" if plain else "only a star at the end stands for more"
                advice = "name one" if plain else "write the beginning of the names and a star, as orders-*"
                yield Problem(where, f"{place}.{key}", "GRANT_STAR", name, wrong, advice)
            elif key in OF_TOPICS and name != "*" and not NAME.fullmatch(name.removesuffix("*")):
                wrong, advice = "no topic has such a name", "use up to 249 letters, figures, . _ and - alone"
                yield Problem(where, f"{place}.{key}", "ACL_TOPIC", name, wrong, advice)


def topics(model: Model) -> Iterator[Problem]:
    """Grants, ACLs and jobs are about topics that are declared, where topics are declared at all."""
    known = [topic.name for topic in topics_of(model) if topic.said.get("state") != "absent"]
    absent = {topic.name for topic in topics_of(model) if topic.managed} - set(known)
    where = names(model.brokers)
    if not known:
        return
    mirrors = [grant for _, grant in _grants(model) if grant.get("mirror_maker") == "target"]
    mirrored = tuple(f"{alias}." for grant in mirrors for alias in listed(grant.get("source")) if alias)
    for place, grant in _grants(model):
        for key in DECLARED:
            given = (name for name in listed(grant.get(key)) if name == "*" or NAME.fullmatch(name.removesuffix("*")))
            lost = (name for name in given if not _declared(name, known) and not name.startswith(mirrored))
            for name in lost:
                problem = _unknown(where, f"{place}.{key}", "GRANT_TOPIC", name, known)
                near = next((alias for alias in mirrored if re.match(rf"{re.escape(alias[:-1])}[-_]", name)), None)
                if near and problem.warning:
                    advice = f"did you mean {near}{name[len(near) :]}? Else {DECLARE}"
                    problem = replace(problem, advice=advice)
                yield problem
    for entry in model.present("kafka_acls"):
        name, prefixed = str(entry.get("name") or ""), entry.get("pattern") == "prefixed"
        there = not NAME.fullmatch(name) or any(one.startswith(name) if prefixed else one == name for one in known)
        if entry.get("resource") == "topic" and entry.get("permission") != "deny" and not there:
            yield _unknown(where, f"kafka_acls[{entry.get('principal')}].name", "ACL_UNKNOWN_TOPIC", name, known)
    needed: dict[str, dict[str, None]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            for side in ("input", "output"):
                kind, name = end(job, side) or ("", "")
                if kind == "topic" and name in absent:
                    needed.setdefault(name, {})[job.name] = None
                elif kind == "topic" and name not in known:
                    yield _unknown((node.name,), f"{job.variable}.config.{side}_topic", "JOB_TOPIC", name, known)
    for name, jobs in needed.items():
        wrong, place = f"needed by {', '.join(jobs)}", f"kafka_topics[{name}]"
        yield Problem(where, place, "TOPIC_NEEDED", "absent", wrong, "stop the job, or keep the topic")


def states(model: Model) -> Iterator[Problem]:
    """Workers of Connect keep their state in topics that are compacted alone, and one of those has one partition."""
    made, where = {topic.name: topic for topic in topics_of(model) if topic.made}, names(model.brokers)
    for place, grant in _grants(model):
        if not grant.get("connect"):
            continue
        kept = [made[name] for name in listed(grant.get("topics")) if name in made]
        known = [topic for topic in kept if KEPT.fullmatch(topic.name)]  # judged by their names
        for topic in kept:
            if topic.policy != {"compact"} and topic not in known:
                shown = ", ".join(sorted(topic.policy))
                wrong = f"cleanup.policy is {shown}, and workers of Connect do not start with it ({place})"
                advice = "declare it with profile: compacted_state"
                yield Problem(where, topic.variable, "TOPIC_STATE", None, wrong, advice)
        many = [topic for topic in kept if topic.get("partitions") is not None]
        many = [topic for topic in many if whole_of(topic.get("partitions")) != 1]
        configs = [topic for topic in kept if CONFIGS.search(topic.name)]
        if known or len(kept) != CONNECT:
            continue
        if len(configs) == 1 and configs[0] in many:
            wrong = (
                f"Connect keeps its configurations there ({place}), and its workers do not start where that is more "
            )
            wrong += "than one partition"
            said, number = configs[0].place("partitions"), configs[0].get("partitions")
            own = configs[0].own(said)
            told = number if own == said else None
            wrong += "" if own == said else f": {said} gives it {number}"
            advice = "declare it with partitions: 1" + ("" if own == said else " of its own")
            yield Problem(where, own, "TOPIC_STATE", told, wrong, advice)
        elif len(many) == CONNECT:
            wrong = "none of them has one partition, and workers of Connect do not start without that of the one with "
            wrong += "their configurations"
            shown = ", ".join(topic.name for topic in kept)
            yield Problem(where, f"{place}.topics", "TOPIC_STATE", shown, wrong, "declare that with partitions: 1")


def _declared(name: str, known: Sequence[str]) -> bool:
    return any(one.startswith(name[:-1]) if name.endswith("*") else one == name for one in known)


def _unknown(where: tuple[str, ...], place: str, code: str, name: str, known: Sequence[str]) -> Problem:
    """Return what is said of a topic that nobody declares: a mistake where it is almost one that is declared."""
    near = slip(name, known)
    advice = f"did you mean {near}? Else {DECLARE}" if near else f"{DECLARE}, or correct the name"
    return Problem(where, place, code, name, "no topic of kafka_topics", advice, warning=not near)


def _from_admin(broker: Broker, host: Any) -> bool:
    """Tell whether an ACL holds where the control node comes from, as far as firewall_extra_sources says that."""
    sources = listed(broker.inputs.mapping("firewall_extra_sources").get("admin"))
    return host in (None, "*") or any(inside(host, source) for source in sources)


def administration(model: Model) -> Iterator[Problem]:
    """The control node keeps the right to change ACLs; super users have it whatever ACLs say."""
    for broker in model.brokers[:1]:
        # Where kafka_config says otherwise than the input, that is said as PROPERTY_TWICE.
        almighty = {*broker.super_users} or {name for name, _ in super_users(broker)}
        for principal in sorted(admin_principals(model, broker) - almighty) if almighty else ():
            own = [entry for entry in model.acls if entry.get("principal") in (principal, "User:*")]
            fitting = [
                entry
                for entry in own
                if covers(entry, "ALTER", "cluster", "", "literal") and _from_admin(broker, entry.get("host"))
            ]
            allowed = [entry for entry in fitting if entry.get("permission") != "deny"]
            if len(allowed) == len(fitting) > 0:
                continue
            denied = len(allowed) < len(fitting)
            wrong = f"{principal} is {'denied' if denied else 'not allowed'} ALTER on the cluster, and is no super user"
            place = "kafka_acls" if denied else "kafka_super_users"
            why = f"{wrong}: the control node could change no ACL any more"
            advice = f"name {principal} in kafka_super_users"
            yield Problem(names(model.brokers), place, "ADMIN_LOCKED_OUT", None, why, advice)
