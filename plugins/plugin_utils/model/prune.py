"""Checks kafka_prune, which lets a run delete topics and other resources that the inventory does not declare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import in_scope
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.application_topics import (
    any_declared,
    topics_of_applications,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import listed

SCOPES = ("topics", "acls", "users", "quotas")

PRUNE_LIMIT = ProblemKind(
    "PRUNE_LIMIT",
    "without a limit, a run with an incomplete inventory could delete everything that matches and is not declared",
    "set the largest number of deletions in one run, for example 20",
)
PRUNE_SCOPE = ProblemKind(
    "PRUNE_SCOPE",
    "a star is a wildcard only at the end of a name",
    "write the prefix of the names, for example orders-*",
)
PRUNE_SCOPE_ACLS = PRUNE_SCOPE.variant(advice="write the prefix of the principals, for example User:orders-*")
PRUNE_SCOPE_ALL = PRUNE_SCOPE.variant(message="matches everything")
PRUNE_SCOPE_ALL_ACLS = PRUNE_SCOPE_ACLS.variant(message="matches everything")
PRUNE_SCOPE_NONE = PRUNE_SCOPE.variant(
    message="no pattern is set, so nothing would be deleted", advice="set patterns in {scopes}, or remove kafka_prune"
)
PRUNE_SCOPE_TOPICS = PRUNE_SCOPE.variant(
    message="kafka_topics declares no topics, so all matching topics would be deleted",
    advice="declare topics, or remove it",
)
PRUNE_SCOPE_PRINCIPAL = PRUNE_SCOPE.variant(
    message="Kafka knows users only, and compares the whole text", advice="write it as User:{user}"
)
PRUNE_SCOPE_USER = PRUNE_SCOPE.variant(
    message="users are named without a type here, so nothing would be deleted", advice="write it as {user}"
)
PRUNE_PROTECTED = ProblemKind(
    "PRUNE_PROTECTED",
    "matches {principal}, a super user, which is never deleted",
    "use a longer prefix that does not match this user",
)
PRUNE_PROTECTED_INTERNAL = PRUNE_PROTECTED.variant(
    message="matches topics of Kafka and of products, which are never deleted", advice="remove it"
)
PRUNE_PROTECTED_APPLICATION = PRUNE_PROTECTED.variant(
    message="matches {topics}: the inventory does not declare them, so every run would delete them",
    advice="use a longer prefix, or declare the topics to keep (manage: false)",
)


def prune(model: Model) -> Iterator[Problem]:
    """Yield a problem if kafka_prune names nothing that may be deleted, has no limit, or names too much.

    It must not name super users, topics of Kafka itself, or topics that applications create.
    """
    hosts = names(model.brokers)
    for broker in model.brokers[:1]:
        entry = broker.inputs.mapping("kafka_prune")
        scopes = {key: listed(entry.get(key)) for key in SCOPES if entry.get(key) is not None}
        limit = entry.get("max_deletes")
        if not any(scopes.values()):
            if entry:
                yield PRUNE_SCOPE_NONE.problem(hosts, "kafka_prune", scopes=SCOPES)
            continue
        if limit is None or (isinstance(limit, int) and limit < 1):
            yield PRUNE_LIMIT.problem(hosts, "kafka_prune.max_deletes", limit)
        if scopes.get("topics") and not model.cluster_entries("kafka_topics"):
            yield PRUNE_SCOPE_TOPICS.problem(hosts, "kafka_prune.topics")
        protected = {name for name, _ in super_users(broker)}
        yield from _scopes(hosts, scopes, protected)
        yield from _application_topics(model, scopes.get("topics", []))


def _application_topics(model: Model, scope: list[str]) -> Iterator[Problem]:
    """Yield a problem for each name in `scope` (kafka_prune.topics) that includes topics of an application.

    Applications create such topics, and the inventory does not declare them, so that every run would delete them.
    """
    known = [topic.name for topic in topics_of(model) if topic.entry.get("state") != "absent"]
    for name in (name for name in scope if not name.startswith("_") and name != "*"):
        descriptions = dict.fromkeys(
            topics[1]
            for topics in topics_of_applications(model)
            if _contains(name, topics[0]) and not any_declared(topics, known)
        )
        if descriptions:
            hosts, text = names(model.brokers), ", and ".join(descriptions)
            yield PRUNE_PROTECTED_APPLICATION.problem(hosts, "kafka_prune.topics", name, topics=text)


def _contains(scope: str, name: str) -> bool:
    """Tell whether a name in kafka_prune.topics includes all topics of an application.

    Both `scope` and `name` may end with a star. If only some of the topics are included, this may be intended.
    """
    return scope == name or (scope.endswith("*") and name.removesuffix("*").startswith(scope[:-1]))


def _scopes(hosts: tuple[str, ...], scopes: Mapping[str, list[str]], protected: set[str]) -> Iterator[Problem]:
    for key, scope in scopes.items():
        for name in scope:
            place, prefix = f"kafka_prune.{key}", name.rstrip("*")
            principal = name if key == "acls" else f"User:{name}"
            kind, _, user = name.rpartition(":") if re.match("[A-Za-z]+:", name) else ("", "", name)
            user = user if user.strip("*") else "orders-*"
            if key in ("users", "quotas") and kind.lower() in ("user", "group"):
                yield PRUNE_SCOPE_USER.problem(hosts, place, name, user=user)
            elif prefix in ("", "User:"):
                is_principal = key == "acls"
                yield (PRUNE_SCOPE_ALL_ACLS if is_principal else PRUNE_SCOPE_ALL).problem(hosts, place, name)
            elif any(character in name[:-1] + prefix for character in "*?["):
                yield (PRUNE_SCOPE_ACLS if key == "acls" else PRUNE_SCOPE).problem(hosts, place, name)
            elif key == "topics" and name.startswith("_"):
                yield PRUNE_PROTECTED_INTERNAL.problem(hosts, place, name)
            elif key == "acls" and not name.startswith("User:"):
                yield PRUNE_SCOPE_PRINCIPAL.problem(hosts, place, name, user=user)
            elif key != "topics" and (matches := [user for user in sorted(protected) if in_scope(user, [principal])]):
                yield PRUNE_PROTECTED.problem(hosts, place, name, principal=matches[0])
