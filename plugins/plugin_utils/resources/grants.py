"""Converts the grants of users, such as `consume: orders`, to the ACLs that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

Acl = dict[str, Any]
Grant = Mapping[str, Any]
TOPIC, GROUP, TRANSACTION, CLUSTER = "topic", "group", "transactional_id", "cluster"
# Internal topics of a mirror: mm2-offset-syncs, -configs, -offsets, -status, and the heartbeats.
MIRROR_TOPICS = ("mm2-*", "heartbeats")


def listed(value: Any) -> list[str]:
    """Return a value as a list of texts: a single text becomes a list of one text, None or a dict becomes []."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(item) for item in value]
    return [] if value is None or isinstance(value, Mapping) else [str(value)]


def acl(kind: str, name: str, *operations: str) -> Acl:
    """Return an ACL without a principal, as a dict {operations, resource, name, pattern}.

    `kind` is the type of the resource, such as "topic". A `name` that ends with a star becomes a prefix. For the
    cluster, the dict has no name and pattern.
    """
    if kind == CLUSTER:
        return {"operations": [*operations], "resource": kind}
    if name.endswith("*") and name != "*":
        return {"operations": [*operations], "resource": kind, "name": name[:-1], "pattern": "prefixed"}
    return {"operations": [*operations], "resource": kind, "name": name, "pattern": "literal"}


def _produce(grant: Grant) -> Iterator[Acl]:
    # WRITE is enough for an idempotent producer, too (KIP-679).
    for topic in listed(grant["produce"]):
        yield acl(TOPIC, topic, "WRITE")


def _consume(grant: Grant) -> Iterator[Acl]:
    for topic in listed(grant["consume"]):
        yield acl(TOPIC, topic, "READ")
    for group in listed(grant.get("group")):
        yield acl(GROUP, group, "READ")


def _transactional_id(grant: Grant) -> Iterator[Acl]:
    for name in listed(grant["transactional_id"]):
        yield acl(TRANSACTION, name, "WRITE", "DESCRIBE")


def _streams(grant: Grant) -> Iterator[Acl]:
    for application in listed(grant["streams"]):
        yield acl(TOPIC, f"{application}-*", "ALL")  # changelogs and repartition topics
        yield acl(GROUP, application, "READ", "DELETE")
        yield acl(TRANSACTION, f"{application}-*", "WRITE", "DESCRIBE")  # exactly_once_v2


def _workers(group: str) -> Iterator[Acl]:
    """Yield the ACLs for the Kafka Connect workers of a group, including transactions for exactly once (KIP-618)."""
    yield acl(GROUP, group, "READ")
    yield acl(TRANSACTION, f"connect-cluster-{group}", "WRITE", "DESCRIBE")  # the leader's
    yield acl(TRANSACTION, f"{group}-*", "WRITE", "DESCRIBE")  # those of source tasks


def _connect(grant: Grant) -> Iterator[Acl]:
    for topic in listed(grant.get("topics")):
        yield acl(TOPIC, topic, "READ", "WRITE", "DESCRIBE_CONFIGS")
    for group in listed(grant["connect"]):
        yield from _workers(group)
    yield acl(GROUP, "connect-*", "READ", "DELETE")  # of sink connectors; DELETE resets their offsets (KIP-875)


def _mirror_maker(grant: Grant) -> Iterator[Acl]:
    topics, groups = listed(grant.get("topics")) or ["*"], listed(grant.get("groups")) or ["*"]
    if grant["mirror_maker"] == "source" and not grant.get("source"):
        # The user writes nothing. It can see whether this cluster also copies from the other one.
        yield acl(TOPIC, MIRROR_TOPICS[0], "DESCRIBE")
    else:
        for topic in MIRROR_TOPICS:
            yield acl(TOPIC, topic, "CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS")
    if grant["mirror_maker"] == "source":
        for topic in topics:
            yield acl(TOPIC, topic, "READ", "DESCRIBE_CONFIGS")
        for group in groups:
            yield acl(GROUP, group, "DESCRIBE")
    else:
        for source in listed(grant.get("source")):
            operations = ("CREATE", "READ", "WRITE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
            yield acl(TOPIC, f"{source}.*", *operations)
        for group in groups:
            yield acl(GROUP, group, "READ", "DESCRIBE")
    # A process has workers for both directions, although records have one: heartbeats return
    # (MirrorMakerConfig.clusterPairs).
    for source in listed(grant.get("source")):
        yield from _workers(f"{source}-mm2")
    yield acl(CLUSTER, "", "DESCRIBE")


def _exporter(grant: Grant) -> Iterator[Acl]:
    if switch(grant["exporter"]):
        yield acl(CLUSTER, "", "DESCRIBE")
        yield acl(TOPIC, "*", "DESCRIBE")
        yield acl(GROUP, "*", "DESCRIBE")
        for topic in listed(grant.get("topics")):
            yield acl(TOPIC, topic, "READ")  # the time of a record is known only when it is read
        for topic in listed(grant.get("canary")):
            yield acl(TOPIC, topic, "READ", "WRITE")


VERBS: dict[str, Callable[[Grant], Iterator[Acl]]] = {
    "produce": _produce,
    "consume": _consume,
    "transactional_id": _transactional_id,
    "streams": _streams,
    "connect": _connect,
    "mirror_maker": _mirror_maker,
    "exporter": _exporter,
}


def verbs_of(grant: Grant) -> list[str]:
    """Return the verbs that a grant (an entry in `grants` of a user) contains, such as ["consume"]."""
    return [verb for verb in VERBS if grant.get(verb) is not None]


def acls_of_grant(grant: Grant) -> Iterator[Acl]:
    """Yield the ACLs that a grant (an entry in `grants` of a user) needs, as dicts without a principal."""
    for verb in verbs_of(grant):
        yield from VERBS[verb](grant)


def principal_of(user: Mapping[str, Any]) -> str:
    """Return the Kafka principal of an entry of kafka_users, such as `User:alice`."""
    return f"User:{user.get('name')}"


def grants_of(user: Mapping[str, Any]) -> list[Grant]:
    """Return the grants in the key `grants` of an entry of kafka_users; grants that are not dicts are skipped."""
    given = user.get("grants")
    return [grant for grant in given if isinstance(grant, Mapping)] if isinstance(given, (list, tuple)) else []


def granted(users: Sequence[Mapping[str, Any]]) -> list[Acl]:
    """Return the ACLs of all grants of all users, each once, as entries of the variable kafka_acls.

    `users` are entries of kafka_users. The ACLs of a user with `state: absent` have this state too.
    """
    acls: dict[str, Acl] = {}
    for user in users:
        state = {"state": "absent"} if user.get("state") == "absent" else {}
        for grant in grants_of(user):
            for entry in acls_of_grant(grant):
                complete = {"principal": principal_of(user), **entry, **state}
                acls.setdefault(repr(complete), complete)
    return list(acls.values())
